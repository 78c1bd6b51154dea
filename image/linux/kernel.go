package linux

import (
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"slices"

	"kprobesim/image"
)

// Kernel is a distribution's kernel. It does not change after Read, so machines may share it.
type Kernel struct {
	Setup
	File   []byte       // the ELF file, unpacked
	Image  *image.Image // segments, sections, and the symbols of kallsyms
	Tables []Table      // that were found, in the order of their list
	// Sum is a hash of what the segments put into memory.
	Sum [sha256.Size]byte
}

// Keeper keeps what takes long to make by what it is made of, such as payloads of kernels in their unpacked form. It gives back
// the bytes that it was given for a key, or none.
type Keeper interface {
	Load(key []byte) (content []byte, ok bool)
	Save(key, content []byte)
}

// Read reads a kernel: a bzImage, or the ELF file in it. Errors name the file, what is wrong with it and what
// to do. A keeper spares to unpack a kernel again; nil for none.
func Read(name string, b []byte, kept Keeper) (k *Kernel, err error) {
	defer func() {
		// The libraries that unpack promise no panics, but they read files of any origin here.
		if r := recover(); r != nil {
			k, err = nil, fmt.Errorf("kernel %s: damaged file (%v): copy it again", name, r)
		}
	}()
	k = &Kernel{}
	if len(b) < 4 || string(b[:4]) != elf.ELFMAG {
		if isZImage(b) {
			b, err = readZImage(b, kept)
		} else if k.Setup, b, err = readSetup(b); err == nil {
			b, err = unpackKept(b, kept)
		}
		if err != nil {
			return nil, fmt.Errorf("kernel %s %w", name, err)
		}
	}
	k.File = b
	k.Image, err = image.LoadBare(name, b, symbols)
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]elf.Machine{elf.EM_X86_64, elf.EM_386, elf.EM_ARM}, k.Image.Machine) {
		return nil, fmt.Errorf("kernel %s is for %v: kernels of x86-64, i386 and ARM are booted", name, k.Image.Machine)
	}
	k.Tables, err = findTables(k.Image)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", name, err)
	}
	h := sha256.New()
	for _, s := range k.Image.Segments {
		fmt.Fprintf(h, "segment %d %d %d\n", s.PA, s.MemSize, len(s.Data))
		h.Write(s.Data)
	}
	k.Sum = [sha256.Size]byte(h.Sum(nil))
	return k, nil
}

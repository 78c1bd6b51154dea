package distro

import (
	"bytes"
	"debug/elf"
	"embed"
	"fmt"

	kernel "kprobesim/image/linux"
)

// File is a file of an initial file system.
type File struct {
	Name string // without a slash at the beginning
	Mode uint32 // as st_mode has it: type and permissions
	Data []byte
}

// Modes of files.
const (
	ModeProgram = 0o100755
	ModeFile    = 0o100644
	ModeFolder  = 0o040755
)

// The heads of a cpio archive of the kind that kernels unpack (Documentation/driver-api/early-userspace/
// buffer-format.rst): a magic, and 13 numbers of eight hexadecimal digits.
const (
	cpioMagic = "070701"
	cpioLast  = "TRAILER!!!"
	cpioHead  = 110
)

// Initrd makes an initial file system of files. Folders must come before what is in them. Numbers of files
// go by their place in the list and times are 0, so the same files give the same bytes.
func Initrd(files []File) []byte {
	var out bytes.Buffer
	for i, f := range files {
		addFile(&out, i+1, f)
	}
	addFile(&out, 0, File{Name: cpioLast})
	return out.Bytes()
}

// addFile adds a head, the name with a zero behind it, and the contents. Head and name, and the contents, are
// padded to four bytes.
func addFile(out *bytes.Buffer, number int, f File) {
	links := 1
	if f.Mode>>12 == ModeFolder>>12 {
		links = 2
	}
	fmt.Fprintf(out, "%s%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", cpioMagic,
		number, f.Mode, 0, 0, links, 0, len(f.Data), 0, 0, 0, 0, len(f.Name)+1, 0)
	out.WriteString(f.Name)
	out.Write(make([]byte, 1+(-(cpioHead+len(f.Name)+1)&3)))
	out.Write(f.Data)
	out.Write(make([]byte, -len(f.Data)&3))
}

//go:embed init/*.elf
var programs embed.FS

// First is the program of this package: it prints a line and switches the machine off.
func First(k *kernel.Kernel) (File, error) { return programOf("", k) }

// Ask is the program that asks a kernel for trace events at the addresses that the file sites has, one in a line. It
// prints what the kernel said of each and the kernel's list of probes, and switches the machine off.
func Ask(k *kernel.Kernel) (File, error) { return programOf("ask-", k) }

// Measure is the program that carries orders out in a kernel: package measuring gives them.
func Measure(k *kernel.Kernel) (File, error) { return programOf("measure-", k) }

// Attach is that program with room for system calls of package attaching.
func Attach(k *kernel.Kernel) (File, error) { return programOf("attach-", k) }

// Work is the program of Attach with room for commands, which it runs.
func Work(k *kernel.Kernel) (File, error) { return programOf("work-", k) }

// Runs fails for a program that a kernel does not run. One of x86-64 also runs programs of i386, and each says itself what is wrong with
// what is no ELF file.
func Runs(k *kernel.Kernel, f File) error {
	e, err := elf.NewFile(bytes.NewReader(f.Data))
	machine := k.Image.Machine
	switch {
	case err != nil, machine == elf.EM_X86_64 && e.Machine == elf.EM_386:
		return nil
	case e.Machine != machine:
		return fmt.Errorf("/%s is a program of %s, and the kernel is of %s: put another one into the root", f.Name, e.Machine, machine)
	case machine == elf.EM_ARM && e.Entry&1 != 0:
		return fmt.Errorf("/%s begins in Thumb state, which is not modelled: take one of Debian's armel, or compile with -marm -mfloat-abi=soft", f.Name)
	}
	return nil
}

// Mark is a program for shells that sets marks (distro/init/mark.h).
func Mark(k *kernel.Kernel) (File, error) {
	f, err := programOf("mark-", k)
	return File{"bin/kprobesim", f.Mode, f.Data}, err
}

// BackgroundPath is where Background lies in a root.
const BackgroundPath = "/bin/kprobesim-background"

// Background is a program that starts a command, which goes on when it has ended (distro/init/background.c).
func Background(k *kernel.Kernel) (File, error) {
	f, err := programOf("background-", k)
	return File{BackgroundPath[1:], f.Mode, f.Data}, err
}

//go:embed bpf/*.bpf.o
var objects embed.FS

// Object is an object file with programs of BPF, by its name without ending.
func Object(name string) ([]byte, error) {
	b, err := objects.ReadFile("bpf/" + name + ".bpf.o")
	if err != nil {
		return nil, fmt.Errorf("no object of this program is called %s: write a path with a slash", name)
	}
	return b, nil
}

// program is the first program of user mode.
func program(prefix string, bits int) (File, error) {
	if bits == 32 {
		return read(prefix + "i386.elf")
	}
	return read(prefix + "x86_64.elf")
}

// programOf is program for the instruction set of a kernel.
func programOf(prefix string, k *kernel.Kernel) (File, error) {
	if k.Image.Machine == elf.EM_ARM {
		return read(prefix + "arm.elf")
	}
	return program(prefix, k.Image.Bits)
}

func read(name string) (File, error) {
	b, err := programs.ReadFile("init/" + name)
	return File{"init", ModeProgram, b}, err
}

package distro

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"flag"
	"fmt"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/image/linux"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// firmware is a board that tells a kernel of its CPUs.
type firmware struct{ dated }

func (firmware) Firmware(c *cpus.Config, n int) ([]sim.Chunk, error) {
	return []sim.Chunk{{PA: 0xf0000, Data: make([]byte, n)}}, nil
}

// onVersatile is a board with a device tree.
type onVersatile struct {
	dated
	described
}

// TestLoads lays the memory out for kernels of each instruction set on machines of different sizes. The golden file has where they are
// entered and what lies where.
func TestLoads(t *testing.T) {
	kernel := func(machine elf.Machine, bits int, pa uint64, header []byte) *linux.Kernel {
		return &linux.Kernel{Setup: linux.Setup{Header: header}, Image: &image.Image{Machine: machine, Bits: bits, Entry: pa + 0x40, Segments: []image.Segment{
			{PA: pa, MemSize: 1 << 20, Exec: true}, {PA: pa + 2<<20, MemSize: 3 << 20},
		}}}
	}
	header := make([]byte, 0x100)
	binary.LittleEndian.PutUint32(header[fieldInitrdMax-fieldHeader:], 0x17ffffff)
	binary.LittleEndian.PutUint32(header[fieldCommandMax-fieldHeader:], 12)
	header[fieldLoadFlags-fieldHeader] = 0x80
	const mib = 1 << 20
	x64, x32, a32 := kernel(elf.EM_X86_64, 64, 16*mib, nil), kernel(elf.EM_386, 32, 16*mib, nil), kernel(elf.EM_ARM, 32, 0x8000, nil)
	of := func(k *linux.Kernel, ram, initrd, cpus int, command string) Config {
		return Config{Kernel: k, RAM: ram, Initrd: make([]byte, initrd), CPUs: cpus, Command: command, Board: firmware{}}
	}
	versatile := func(ram, initrd int) Config {
		c := of(a32, ram, initrd, 1, "arm")
		c.Board, c.Tree, c.CPU.Processor = onVersatile{}, flatten(madeTree()), map[string]uint64{"cluster": 1}
		return c
	}
	far, low, outside, data := kernel(elf.EM_X86_64, 64, 16*mib, header), kernel(elf.EM_X86_64, 64, highStart-1, nil), kernel(elf.EM_X86_64, 64, 16*mib, nil), kernel(elf.EM_X86_64, 64, 16*mib, nil)
	outside.Image.Entry += mib
	tiny := kernel(elf.EM_X86_64, 64, 16*mib, nil)
	tiny.Image.Segments = append(tiny.Image.Segments, image.Segment{PA: highStart - 1, MemSize: 1}, image.Segment{PA: highStart - 1})
	data.Image.Entry += 2 * mib
	bare := of(x64, 64*mib, 5000, 2, "quiet")
	bare.Board = dated{}
	disk := func(ram, n int) Config {
		c := of(x64, ram, 0, 1, "")
		c.Persistent = n
		return c
	}
	plain := versatile(64*mib, 5000)
	plain.Board = firmware{}
	var out strings.Builder
	for i, c := range []Config{
		of(x64, 64*mib, 5000, 1, "quiet"), of(x64, 2047*mib, 0, 2, ""), of(x32, 64*mib, 4096, 1, "quiet"), of(far, 1024*mib, 1, 1, "twelve bytes"), of(far, 1024*mib, 1, 1, "thirteen byte"),
		of(x64, 21*mib, 0, 1, ""), of(x64, 21*mib+4096, 4096, 1, ""), of(x64, 21*mib+4096, 4097, 1, ""), of(x64, 21*mib-1, 0, 1, ""), of(x64, 64*mib, 65*mib, 1, ""), of(low, 64*mib, 0, 1, ""), of(tiny, 64*mib, 0, 1, ""),
		of(outside, 64*mib, 0, 1, ""), of(data, 64*mib, 0, 1, ""), bare,
		versatile(64*mib, 5000), versatile(1024*mib, 0), versatile(1024*mib+1, 0), versatile(64*mib, 65*mib), versatile(64*mib, 63*mib), versatile(6*mib, 5000), plain,
		disk(64*mib, 1), disk(65*mib, 2*mib), disk(64*mib, 2*mib+1),
	} {
		b, err := c.load()
		if fmt.Fprintf(&out, "%d: %v\n", i, err); err != nil {
			continue
		}
		fmt.Fprintf(&out, "\tat %#x with %#x, stack %#x, tables %#x, root %#x, others %#x\n", b.PC, b.Args, b.SP, b.Tables, b.Root, b.Others)
		if c.Persistent > 0 {
			p := b.Chunks[0].Data
			fmt.Fprintf(&out, "\t%d bytes of memory, %d ranges, the third %x\n", c.ram(), p[fieldE820Entries], p[fieldE820+2*e820Bytes:][:e820Bytes])
		}
		for _, chunk := range b.Chunks {
			fmt.Fprintf(&out, "\t%#x: %d bytes, sha256 %.4x\n", chunk.PA, len(chunk.Data), sha256.Sum256(chunk.Data))
		}
	}
	for _, n := range []int{0, 1, 2, 3} {
		fmt.Fprintf(&out, "%d CPUs: %s; %s; %s\n", n, Command(n), CommandOf(ISA(x64), n), CommandOf(ISA(a32), n))
	}
	for _, k := range []*linux.Kernel{x64, x32, a32} {
		text, n := Instruction(k, []byte{0x48, 0x01, 0xd8, 0xe1}, 0x1000)
		fmt.Fprintf(&out, "%s: %s, %s of %d bytes\n", ISA(k).Name, Disassemble(k, []byte{0x90, 0, 0xa0, 0xe1}, 0x1000), text, n)
		for offset := range uint64(7) {
			fmt.Fprintf(&out, "\t%d: %v\n", offset, Begins(k, []byte{0x48, 0x01, 0xd8, 0xc3, 0x90}, offset))
		}
	}
	for _, name := range []string{EmptyModule, "nothing"} {
		for _, f := range require.Must(ModuleFiles(name))(t) {
			fmt.Fprintf(&out, "module %s: %s %o, %v\n", name, f.Name, f.Mode, len(f.Data) > 0)
		}
	}
	for _, name := range []string{"writes", "nothing"} {
		b, err := Object(name)
		fmt.Fprintf(&out, "object %s: %v, %v\n", name, len(b) > 0, err)
	}
	require.Golden(t, flag.Lookup("update").Value.String() == "true", "loads.txt", []byte(out.String()))
}

// TestCovers takes the addresses of segments alone.
func TestCovers(t *testing.T) {
	k := &linux.Kernel{Image: &image.Image{Segments: []image.Segment{{PA: 0x1000, MemSize: 0x100}, {PA: 0x2000, MemSize: 0x100, Exec: true}}}}
	for pa, want := range map[uint64]bool{0: false, 0xfff: false, 0x1000: true, 0x10ff: true, 0x1100: false, 0x1fff: false, 0x2000: true, 0x20ff: true, 0x2100: false} {
		require.Equal(t, covers(k, pa), want, "whether %#x is in the kernel", pa)
	}
}

// TestRuns wants a program of the kernel's instruction set, and of ARM one that does not begin in Thumb state.
func TestRuns(t *testing.T) {
	program := func(machine elf.Machine) []byte {
		return require.Must(First(&linux.Kernel{Image: &image.Image{Machine: machine, Bits: map[elf.Machine]int{elf.EM_386: 32}[machine]}}))(t).Data
	}
	thumb := bytes.Clone(program(elf.EM_ARM))
	thumb[0x18] |= 1 // the entry
	for _, x := range []struct {
		file    []byte
		machine elf.Machine
		want    string
	}{
		{program(elf.EM_ARM), elf.EM_ARM, ""},
		{program(elf.EM_386), elf.EM_X86_64, ""},
		{program(elf.EM_X86_64), elf.EM_X86_64, ""},
		{[]byte("#!/bin/sh\n"), elf.EM_ARM, ""},
		{program(elf.EM_ARM), elf.EM_X86_64, "is a program of EM_ARM, and the kernel is of EM_X86_64"},
		{program(elf.EM_386), elf.EM_ARM, "is a program of EM_386, and"},
		{thumb, elf.EM_ARM, "begins in Thumb state, which is not modelled"},
	} {
		err := Runs(&linux.Kernel{Image: &image.Image{Machine: x.machine}}, File{Name: "bin/tool", Data: x.file})
		require.That(t, (err == nil) == (x.want == "") && (err == nil || strings.Contains(err.Error(), x.want)), "under %s: %v; want %q", x.machine, err, x.want)
	}
}

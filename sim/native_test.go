package sim

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/image/imagetest"
	"kprobesim/mmu"
)

// caller is a CPU that notes which function it is to call.
type caller struct {
	cpus.CPU
	called cpus.Entry
	args   []uint64
}

func (c *caller) PC() uint64     { return 0x40 }
func (c *caller) SP() uint64     { return 0x8000 }
func (c *caller) Arg(int) uint64 { return 0 }

func (c *caller) Translate(va uint64) (uint64, bool) {
	return va - imagetest.Base, va >= imagetest.Base
}

func (c *caller) Call(fn cpus.Entry, _, _ uint64, args ...uint64) uint64 {
	c.called, c.args = fn, args
	return c.SP()
}

// TestCallByDescriptor has Go call a function whose symbol is that of a descriptor in memory.
func TestCallByDescriptor(t *testing.T) {
	const opd, toc = imagetest.Base + 0x200, imagetest.Base + 0x8200
	e := imagetest.Kernel()
	e.Machine, e.Order = elf.EM_PPC64, binary.BigEndian
	e.Sections[5] = imagetest.Section{Name: ".opd", Addr: opd, Size: 24, Flags: elf.SHF_ALLOC}
	e.Symbols = append(e.Symbols[:4:4],
		imagetest.Symbol{Name: returnSlot, Addr: imagetest.Base + 0x100, Type: elf.STT_FUNC, Section: ".native"},
		imagetest.Symbol{Name: "function", Addr: opd, Type: elf.STT_FUNC, Section: ".opd"})
	e.Data = map[int]uint64{0x200: imagetest.Base + 0x20, 0x208: toc}
	im, err := image.Load("ppc64.elf", e.Build())
	if err != nil {
		t.Fatal(err)
	}
	call := func(c *Call) uint64 { _, err := c.InvokeSym("function", 7); t.Log(err); return 0 }
	p := &caller{}
	m := &Machine{
		cfg: Config{ISA: &cpus.ISA{Order: binary.BigEndian}}, image: im, mem: mmu.NewMemory(1 << 16),
		cpus: []cpus.CPU{p}, natives: map[uint64]boundNative{0x40: {name: "call", f: call}}, pending: map[uint64]*Call{},
	}
	m.mem.Write(0, im.Segments[0].Data)
	m.native(0)
	m.release()
	if want := (cpus.Entry{PC: imagetest.Base + 0x20, TOC: toc}); p.called != want || len(p.args) != 1 || p.args[0] != 7 {
		t.Errorf("calls %#x with %v, want %#x", p.called, p.args, want)
	}
}

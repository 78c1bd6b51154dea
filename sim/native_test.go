package sim

import (
	"debug/elf"
	"encoding/binary"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/image/imagetest"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// caller is a CPU that notes which function it is to call.
type caller struct {
	cpus.CPU
	sp     uint64
	called cpus.Entry
	args   []uint64
	apart  bool // neighbouring pages are no neighbours in memory
}

func (c *caller) Now() clock.Ticks { return 7 * clock.PerCycle }

func (c *caller) PC() uint64     { return 0x40 }
func (c *caller) SP() uint64     { return c.sp }
func (c *caller) Arg(int) uint64 { return 0 }
func (c *caller) Return(uint64)  {}

func (c *caller) Counters() *cpus.Counters { return &cpus.Counters{} }

func (c *caller) Translate(va uint64) (uint64, bool) {
	pa := va - imagetest.Base
	if c.apart && pa < 1<<16 {
		pa ^= 0xf000
	}
	return pa, va >= imagetest.Base
}

func (c *caller) Call(fn cpus.Entry, _, _ uint64, args ...uint64) uint64 {
	c.called, c.args = fn, args
	return c.sp
}

// natives makes a machine that calls a native function at its CPU's address.
func natives(t *testing.T, e *imagetest.ELF, p *caller, f Native) *Machine {
	im := require.Must(image.Load("test.elf", e.Build()))(t)
	m := &Machine{
		cfg: Config{ISA: &cpus.ISA{Order: e.Order}}, image: im, mem: mmu.NewMemory(1 << 16),
		cpus: []cpus.CPU{p}, natives: map[uint64]boundNative{0x40: {name: "call", f: f}}, pending: map[uint64]*Call{}, rested: map[uint64]*Call{},
	}
	m.mem.Write(0, im.Segments[0].Data)
	return m
}

// TestRelease ends calls that wait by their stack pointers, and coroutines that have no call.
func TestRelease(t *testing.T) {
	e := imagetest.Kernel()
	e.Symbols = append(e.Symbols[:8:8], imagetest.Symbol{Name: returnSlot, Addr: imagetest.Base + 0x100, Type: elf.STT_FUNC, Section: ".native"})
	var ended []uint64
	p := &caller{}
	m := natives(t, e, p, func(c *Call) uint64 {
		if sp := p.sp; sp > 1 {
			defer func() { ended = append(ended, sp) }()
			_, _ = c.InvokeSym("inner") // it does not come back
		}
		return 0
	})
	for _, p.sp = range []uint64{7, 3, 9, 1, 4, 8, 2} {
		m.native(0)
	}
	idle := m.coroutine()
	m.resting = append(m.resting, idle)
	m.release()
	require.That(t, slices.Equal(ended, []uint64{2, 3, 4, 7, 8, 9}) && len(m.pending) <= 0 && len(m.resting) <= 0, "ended are %v; %d wait, %d rest", ended, len(m.pending), len(m.resting))
	_, more := idle.next()
	require.That(t, !more, "a coroutine without a call goes on")
}

// TestMiddleOfASlot ends a machine whose CPU has come to a place where no native function begins.
func TestMiddleOfASlot(t *testing.T) {
	m := natives(t, imagetest.Kernel(), &caller{}, nil)
	clear(m.natives)
	m.native(0)
	require.Error(t, m.err, "cpu 0 jumped into the middle of a native slot", "")
}

// TestYield has two calls of one CPU yield and go on in the other order, one of them on another CPU. Without a policy a call
// goes on at once.
func TestYield(t *testing.T) {
	p := &caller{}
	var seen []int
	var m *Machine
	m = natives(t, imagetest.Kernel(), p, func(c *Call) uint64 {
		at := int(p.sp)
		seen = append(seen, at)
		m.Yield()
		seen = append(seen, 10*at+c.CPU())
		return 0
	})
	m.cpus = append(m.cpus, p)
	m.Yield() // outside of a call it does nothing
	run := func(cpu int, sp uint64) { p.sp = sp; m.native(cpu) }
	run(0, 3)
	m.cfg.Policy = policy(func(*Machine, []int) (int, int) { return 0, 1 })
	for _, x := range []struct{ cpu, sp int }{{0, 5}, {0, 7}, {1, 5}, {0, 7}} {
		run(x.cpu, uint64(x.sp))
	}
	want := []int{3, 30, 5, 7, 51, 70}
	require.That(t, slices.Equal(seen, want) && len(m.rested) <= 0 && m.gaveWay, "calls went %v, want %v; %d have yielded", seen, want, len(m.rested))
	run(0, 9)
	m.release()
	require.That(t, len(m.rested) <= 0 && seen[len(seen)-1] == 9, "a call that has yielded goes on when the machine ends: %v", seen)
}

// policy is one by a function.
type policy func(*Machine, []int) (int, int)

func (p policy) Next(m *Machine, runnable []int) (int, int) { return p(m, runnable) }

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
	call := func(c *Call) uint64 { _, err := c.InvokeSym("function", 7); t.Log(err); return 0 }
	p := &caller{}
	m := natives(t, e, p, call)
	m.native(0)
	m.release()
	want := (cpus.Entry{PC: imagetest.Base + 0x20, TOC: toc})
	require.That(t, p.called == want && len(p.args) == 1 && p.args[0] == 7, "calls %#x with %v, want %#x", p.called, p.args, want)
}

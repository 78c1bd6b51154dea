package pc_test

import (
	"debug/elf"
	"testing"

	"kprobesim/boards/pc"
	"kprobesim/boards/pc/pctest"
	"kprobesim/cpus"
	"kprobesim/cpus/x86"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// shown is a board that shows the hardware of the machine that is built with it.
type shown struct {
	pc.Board
	sim.Hardware
}

func (s *shown) Build(b *sim.Backplane) sim.Hardware {
	s.Hardware = s.Board.Build(b)
	return s
}

// newShown makes a machine of two CPUs, of which the second waits to be started.
func newShown(t *testing.T) (*pctest.Guest, *shown) {
	t.Helper()
	s := &shown{}
	return pctest.New(t, 2, "boot_busy", "busy", func(c *sim.Config) { c.Board = s }), s
}

// Registers that the tests use, by physical address.
const (
	taskPriority = x86.APICBase + 0x80
	spurious     = x86.APICBase + 0xf0
	command      = x86.APICBase + 0x300
	timer        = x86.APICBase + 0x320

	toSelf = 1 << 18
)

func TestSpace(t *testing.T) {
	for _, isa := range []*cpus.ISA{x86.ISA64(), x86.ISA32()} {
		s, err := pc.Board{}.Space(isa)
		require.That(t, err == nil && s.Maps[0].VA == s.Heap && s.Maps[len(s.Maps)-1].PA == x86.APICBase, "%s: %+v, %v", isa.Name, s, err)
	}
	_, err := sim.New(pctest.Config(t, 1, func(c *sim.Config) {
		toy := *c.ISA
		toy.Name = "toy"
		c.ISA = &toy
		c.Board = otherwise{}
	}))
	require.Error(t, err, "a PC has no CPUs of toy", "another instruction set")
}

// otherwise is a PC that is asked for CPUs that it does not have.
type otherwise struct{ pc.Board }

func (o otherwise) Space(isa *cpus.ISA) (sim.Space, error) {
	toy := *isa
	toy.Machine = elf.EM_PPC64
	return o.Board.Space(&toy)
}

// TestDevicePage holds that each CPU reaches its own APIC, and nothing around it.
func TestDevicePage(t *testing.T) {
	_, s := newShown(t)
	s.Device(0).Store(taskPriority, 4, 0x50)
	s.Device(0).Store(x86.APICBase-16, 4, 1)
	s.Device(0).Store(x86.APICBase+0x1000, 4, 1)
	for i, want := range []uint64{0x50, 0} {
		require.Equal(t, s.Device(i).Load(taskPriority, 4), want, "cpu %d reads", i)
	}
	for _, pa := range []uint64{x86.APICBase - 1, x86.APICBase + 0x1000, 0xf0000000} {
		got := s.Device(0).Load(pa, 4)
		require.That(t, got == ^uint64(0), "%#x reads %#x where nothing is", pa, got)
	}
}

// TestInterruptLine holds the line to a CPU and what the acknowledge takes from it.
func TestInterruptLine(t *testing.T) {
	_, s := newShown(t)
	d, line := s.Device(0), s.Interrupts(0)
	d.Store(spurious, 4, 0x1ff)
	require.That(t, !line.Pending(), "the line is up after reset")
	d.Store(command, 4, toSelf|0x55)
	if !line.Pending() || s.Waiting(0) != "interrupt 85" || s.Interrupts(1).Pending() {
		t.Errorf("after an interrupt to CPU 0: %v, %s", line.Pending(), s.Waiting(0))
	}
	if v := line.Acknowledge(); v != 0x55 || line.Pending() {
		t.Errorf("acknowledged %#x, and then %v", v, line.Pending())
	}
}

// TestINIT holds that INIT resets the APIC with its CPU, and that a CPU which waits for its start
// hears of no non-maskable interrupt.
func TestINIT(t *testing.T) {
	g, s := newShown(t)
	d := s.Device(1)
	d.Store(spurious, 4, 0x1ff)
	d.Store(taskPriority, 4, 0x50)
	d.Store(timer, 4, 0x40)
	d.Store(command, 4, toSelf|0x4500)
	for pa, want := range map[uint64]uint64{taskPriority: 0, timer: 0x10000, spurious: 0xff} {
		got := d.Load(pa, 4)
		require.That(t, got == want, "%#x reads %#x after INIT, want %#x", pa, got, want)
	}
	d.Store(command, 4, toSelf|0x400)
	got := g.Kind("signal")
	require.That(t, len(got) == 0, "a CPU that is not started took %+v", got)
	s.Device(0).Store(command, 4, toSelf|0x400)
	if got := g.Kind("signal"); len(got) != 1 || got[0].Name != "nmi" {
		t.Errorf("a CPU that runs took %+v", got)
	}
}

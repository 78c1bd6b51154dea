package pc_test

import (
	"errors"
	"strings"
	"testing"

	"kprobesim/boards/pc"
	"kprobesim/boards/pc/pctest"
	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// legacy is a legacy PC with the address space of the tests' guest. It shows its hardware.
type legacy struct {
	pc.Legacy
	sim.Hardware
}

func (*legacy) Space(isa *cpus.ISA) (sim.Space, error) { return pc.Board{}.Space(isa) }

func (l *legacy) Build(b *sim.Backplane) sim.Hardware {
	l.Hardware = l.Legacy.Build(b)
	return l
}

func (l *legacy) Ports(i int) cpus.Device { return l.Hardware.(sim.PortHardware).Ports(i) }

// newLegacy makes a machine whose CPU 0 runs a function of the guest, and gives access to its ports.
func newLegacy(t *testing.T, main string) (*pctest.Guest, *legacy, cpus.Device) {
	t.Helper()
	l := &legacy{}
	g := pctest.New(t, 1, main, main, func(c *sim.Config) { c.Board = l })
	return g, l, l.Ports(0)
}

// out writes pairs of a port and a byte.
func out(d cpus.Device, pairs ...uint64) {
	for i := 0; i < len(pairs); i += 2 {
		d.Store(pairs[i], 1, pairs[i+1])
	}
}

// counts is the time of counts of the timer on the tests' machine.
func counts(n int64) clock.Ticks {
	const hz = 1_000_000_000 // of the tests' machine
	return clock.Ticks(n*hz/1193182) * clock.PerCycle
}

var errEnough = errors.New("enough")

// TestTimerTicks has the timer interrupt a CPU that sleeps, through both controllers' wires, for 100 periods.
func TestTimerTicks(t *testing.T) {
	for _, x := range []struct {
		name string
		mode uint64
		want uint64
	}{{"rate", 0x34, 100}, {"square wave", 0x36, 100}, {"once", 0x30, 1}} {
		g, _, d := newLegacy(t, "ready")
		out(d, 0x20, 0x11, 0x21, 0x40, 0x21, 4, 0x21, 3, 0x21, 0xfe) // automatic ends
		out(d, 0x43, x.mode, 0x40, 0x64, 0x40, 0)                    // 100 counts
		g.At(counts(100*100+50), func() { g.Stop(errEnough) })
		if err := g.Run(); !errors.Is(err, errEnough) {
			t.Fatal(err)
		}
		v, err := g.Load(g.Symbol(t, "taken"), 8)
		require.That(t, err == nil && v == x.want, "%s: %d interrupts, want %d (%v)", x.name, v, x.want, err)
	}
}

// TestSpeakerCounter polls counter 2 through port 61h, as kernels do that measure their clock by it.
func TestSpeakerCounter(t *testing.T) {
	g, _, d := newLegacy(t, "busy")
	got := d.Load(0x61, 1)
	require.That(t, got&^0x30 == 0, "port 61h is %#x", got)
	out(d, 0x61, 1, 0x43, 0xb0, 0x42, 100, 0x42, 0)
	var before, behind, stopped, refresh uint64
	g.At(counts(100), func() { before = d.Load(0x61, 1) })
	g.At(counts(103), func() { behind = d.Load(0x61, 1) })
	g.At(counts(103+18), func() { refresh = d.Load(0x61, 1) })
	g.At(counts(200), func() {
		out(d, 0x61, 0, 0x43, 0x80)
		stopped = d.Load(0x42, 1) | d.Load(0x42, 1)<<8
		g.Stop(errEnough)
	})
	if err := g.Run(); !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	require.That(t, before&0x20 == 0 && behind&0x20 != 0 && (behind^refresh)&0x10 != 0, "port 61h is %#x, %#x and %#x", before, behind, refresh)
	require.That(t, stopped >= 0xff00, "the counter stands at %#x long after its end", stopped)
}

// TestPorts holds what is there, and that nothing else is.
func TestPorts(t *testing.T) {
	g, _, d := newLegacy(t, "ready")
	for _, c := range []byte("hello") {
		d.Store(0x3f8, 1, uint64(c))
	}
	require.Equal(t, g.Console(), "hello", "console")
	there := map[uint64]bool{}
	for _, from := range []uint64{0x20, 0x40, 0x61, 0x71, 0x92, 0xa0, 0x3f8} {
		for p := range uint64(8) {
			there[from+p] = true
		}
	}
	for p := range uint64(0x1000) {
		v := d.Load(p, 1)
		require.That(t, there[p] || v == 0xff, "port %#x reads %#x where nothing is", p, v)
	}
	require.Equal(t, d.Load(0xcf8, 4), 0, "PCI's address reads")
	out(d, 0x70, 9, 0x71, 0x24, 0x70, 50)
	require.Equal(t, d.Load(0x71, 1), 0x19, "century")
}

// TestResets holds that a reset ends the run, and says which.
func TestResets(t *testing.T) {
	for reason, x := range map[string][2]uint64{
		"reset by the keyboard controller (port 64h)": {0x64, 0xfe},
		"reset by port 92h":                           {0x92, 1},
		"reset by port cf9h":                          {0xcf9, 6},
	} {
		g, _, d := newLegacy(t, "ready")
		out(d, x[0], x[1])
		err := g.Run()
		require.That(t, err == nil && g.Machine.Ended() == reason, "%q, %v; want %q", g.Machine.Ended(), err, reason)
	}
	g, _, d := newLegacy(t, "ready")
	d.Store(0xcf8, 4, 0xffffffff) // the reset control register is not written by this
	require.Equal(t, d.Load(0xcf8, 4), 0x80fffffc, "the address of PCI keeps of all bits")
	require.Equal(t, d.Load(0xcfc, 4), 0xffffffff, "there, PCI has no device")
	d.Store(0xcf8, 2, 0)
	require.Equal(t, d.Load(0xcf8, 4), 0x80fffffc, "half of the address is not written")
	out(d, 0x43, 0x32)
	want := "cpu 0 programmed a counter of the timer for mode 1, which is not modelled"
	err := g.Run()
	require.That(t, err != nil && strings.Contains(err.Error(), want) && g.Machine.Ended() == "", "mode 1 of the timer: %v", err)
}

// TestWithoutLocalAPIC holds that a processor whose CPUID has no local APIC gets the controllers' interrupts all
// the same, and finds nothing at the APIC's place.
func TestWithoutLocalAPIC(t *testing.T) {
	l := &legacy{}
	g := pctest.New(t, 1, "ready", "ready", func(c *sim.Config) {
		c.Board = l
		c.CPU.Answers = cpus.Answers{"cpuid": {1: {0x10676, 0x10800, 0, 0x0709a97d}}}
	})
	if d := l.Device(0); d != nil {
		t.Errorf("device %v", d)
	}
	d := l.Ports(0)
	out(d, 0x20, 0x11, 0x21, 0x40, 0x21, 4, 0x21, 3, 0x21, 0xfe, 0x43, 0x34, 0x40, 0x64, 0x40, 0)
	g.At(counts(1050), func() { g.Stop(errEnough) })
	if err := g.Run(); !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	v, err := g.Load(g.Symbol(t, "taken"), 8)
	require.That(t, err == nil && v == 10, "%d interrupts, want 10 (%v)", v, err)
}

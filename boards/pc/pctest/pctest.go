// Package pctest is a PC with many CPUs for tests of machines: a guest without a kernel, and a CPU of
// round numbers.
package pctest

import (
	_ "embed"
	"testing"

	"kprobesim/boards/pc"
	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/cpus/x86"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// Latencies of the tests' machine.
const (
	IPI      = 900 * clock.PerCycle
	Transfer = 250 * clock.PerCycle
	Upgrade  = 100 * clock.PerCycle
)

//go:embed testdata/many.elf
var guest []byte

// config is a CPU of round numbers, whose events but those between CPUs take a cycle.
func config(isa *cpus.ISA) cpus.Config {
	cfg := cpustest.Config(isa)
	cfg.L2.Size, cfg.L2.Ways = 1<<20, 16
	for _, n := range isa.Events {
		cfg.Events[n] = clock.PerCycle
	}
	cfg.Events[cpus.EventIPI] = IPI
	cfg.Events[cpus.EventTransfer] = Transfer
	cfg.Events[cpus.EventUpgrade] = Upgrade
	return cfg
}

// Guest is a machine that runs testdata/many.S, and what it reported.
type Guest struct {
	*sim.Machine
	Reports []uint64
	From    []int // the CPUs that reported
	Events  []sim.Event
}

// Config describes a machine of n CPUs that runs testdata/many.S, with changes.
func Config(tb testing.TB, n int, change ...func(*sim.Config)) sim.Config {
	tb.Helper()
	im, err := image.Load("many.elf", guest)
	if err != nil {
		tb.Fatal(err)
	}
	isa := x86.ISA64()
	cfg := sim.Config{
		ISA: isa, Board: pc.Board{}, CPU: config(isa), CPUs: n, RAM: 32 << 20, Image: im,
		Budget: clock.FromCycles(20_000_000),
	}
	for _, f := range change {
		f(&cfg)
	}
	return cfg
}

// New makes a machine of n CPUs whose CPU 0 runs one function of testdata/many.S and whose others run
// another. Changes are made to its configuration before.
func New(tb testing.TB, n int, main, other string, change ...func(*sim.Config)) *Guest {
	tb.Helper()
	m, err := sim.New(Config(tb, n, change...))
	if err != nil {
		tb.Fatal(err)
	}
	g := &Guest{Machine: m}
	g.bind()
	g.Set(tb, "boot_main", g.symbol(tb, main))
	g.Set(tb, "other_main", g.symbol(tb, other))
	g.Set(tb, "arg", uint64(n-1))
	return g
}

// bind gives the guest its native functions.
func (g *Guest) bind() {
	g.Watch(func(e sim.Event) { g.Events = append(g.Events, e) })
	g.Bind("sim_main", func(*sim.Call) uint64 { return 0 })
	g.Bind("report", func(c *sim.Call) uint64 {
		g.Reports = append(g.Reports, c.Arg(0))
		g.From = append(g.From, c.CPU())
		return 0
	})
	g.Bind("away", func(c *sim.Call) uint64 {
		before := c.CPU()
		v, err := c.InvokeSym("hand_over")
		if err != nil {
			g.Stop(err)
		}
		return v*100 + uint64(before)*10 + uint64(c.CPU())
	})
}

func (g *Guest) symbol(tb testing.TB, name string) uint64 {
	tb.Helper()
	s, ok := g.Image().Symbol(name)
	if !ok {
		tb.Fatalf("no symbol %s", name)
	}
	return s.Addr
}

// Set writes a variable of the guest.
func (g *Guest) Set(tb testing.TB, name string, v uint64) {
	tb.Helper()
	if err := g.Store(g.symbol(tb, name), 8, v); err != nil {
		tb.Fatal(err)
	}
}

// MustRun runs and fails on any error.
func (g *Guest) MustRun(tb testing.TB) {
	tb.Helper()
	if err := g.Run(); err != nil {
		tb.Fatal(err)
	}
}

// Kind returns the events of one kind.
func (g *Guest) Kind(kind sim.EventKind) (out []sim.Event) {
	for _, e := range g.Events {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

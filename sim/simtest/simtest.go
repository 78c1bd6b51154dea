// Package simtest runs the boards' test guests: programs without a kernel, testdata/many.S of each board. CPU 0
// of such a guest goes to the function whose address is in boot_main, the others to that in other_main.
package simtest

import (
	"fmt"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// Guest is a machine that runs testdata/many.S, and what it reported.
type Guest struct {
	*sim.Machine
	Reports []uint64
	From    []int // the CPUs that reported
	Events  []sim.Event
}

// Config describes a machine of n CPUs with 32 MiB of RAM that runs an image, with changes. Its CPUs have round
// numbers: every event takes a cycle, and a machine that runs for 20,000,000 cycles gives up.
func Config(tb testing.TB, isa *cpus.ISA, board sim.Board, elf []byte, n int, change ...func(*sim.Config)) sim.Config {
	tb.Helper()
	im, err := image.Load("many.elf", elf)
	require.NoError(tb, err)
	cfg := sim.Config{
		ISA: isa, Board: board, CPU: cpustest.Config(isa), CPUs: n, RAM: 32 << 20, Zeroed: cpustest.RAM(tb), Image: im,
		Budget: clock.FromCycles(20_000_000),
	}
	for _, name := range isa.Events {
		cfg.CPU.Events[name] = clock.PerCycle
	}
	for _, f := range change {
		f(&cfg)
	}
	return cfg
}

// New makes a machine whose CPU 0 runs one function of the guest and whose others run another. The guest's
// variable arg holds the number of the last CPU.
func New(tb testing.TB, cfg sim.Config, main, other string) *Guest {
	tb.Helper()
	m, err := sim.New(cfg)
	require.NoError(tb, err)
	g := &Guest{Machine: m}
	g.Watch(func(e sim.Event) { g.Events = append(g.Events, e) })
	g.Bind("sim_main", func(*sim.Call) uint64 { return 0 })
	g.Bind("report", func(c *sim.Call) uint64 {
		g.Reports = append(g.Reports, c.Arg(0))
		g.From = append(g.From, c.CPU())
		return 0
	})
	g.Set(tb, "boot_main", g.Symbol(tb, main))
	g.Set(tb, "other_main", g.Symbol(tb, other))
	g.Set(tb, "arg", uint64(max(cfg.CPUs, 1)-1))
	return g
}

// Symbol returns the address of a name of the guest.
func (g *Guest) Symbol(tb testing.TB, name string) uint64 {
	tb.Helper()
	s, ok := g.Image().Symbol(name)
	require.Need(tb, ok, "no symbol %s", name)
	return s.Addr
}

// word is the size of the guest's variables in bytes.
func (g *Guest) word() int { return g.ISA().Bits / 8 }

// Set writes a variable of the guest, and those behind it. Each is a word of the instruction set.
func (g *Guest) Set(tb testing.TB, name string, values ...uint64) {
	tb.Helper()
	for i, v := range values {
		require.NoError(tb, g.Store(g.Symbol(tb, name)+uint64(i*g.word()), g.word(), v))
	}
}

// List puts numbers of so many bytes each into the heap, and their address into the guest's variable arg2.
func (g *Guest) List(tb testing.TB, size int, list ...uint64) uint64 {
	tb.Helper()
	at, err := g.Alloc(uint64(size*len(list)), 16)
	require.NoError(tb, err)
	for i, v := range list {
		require.NoError(tb, g.Store(at+uint64(i*size), size, v))
	}
	g.Set(tb, "arg2", at)
	return at
}

// Own reads a variable of one CPU, a word of the instruction set.
func (g *Guest) Own(tb testing.TB, cpu int, name string) uint64 {
	tb.Helper()
	at, err := g.PerCPU(cpu, name)
	require.NoError(tb, err)
	v, err := g.Load(at, g.word())
	require.NoError(tb, err)
	return v
}

// MustRun runs and fails on any error.
func (g *Guest) MustRun(tb testing.TB) {
	tb.Helper()
	require.NoError(tb, g.Run())
}

// Ended tells how a run ended that returned err: with the time of every CPU and the number of events, so that
// another run can be held against it.
func (g *Guest) Ended(err error) string {
	var times []clock.Ticks
	for i := range g.CPUs() {
		times = append(times, g.CPU(i).Now())
	}
	return fmt.Sprint(err, times, len(g.Events))
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

// Abuse draws n runs and runs each twice: it ends in whatever way, but it ends, and the same way again. Of the ways
// to end that it knows, by a part of their text, some number must be met at least.
func Abuse(tb testing.TB, n, least int, ways []string, draw func() (run func() string)) {
	tb.Helper()
	ends := map[string]int{}
	for range n {
		run := draw()
		first, second := run(), run()
		require.That(tb, first == second, "two runs end with %q and %q", first, second)
		for _, how := range ways {
			if strings.Contains(first, how) {
				ends[how]++
			}
		}
	}
	tb.Log(ends)
	require.That(tb, ends["<nil>"] != 0 && len(ends) >= least, "not every end is met: %v", ends)
}

// AnySize holds that a machine runs with every size of memory: that the page table of its entry fits.
func AnySize(t *testing.T, run func(change func(*sim.Config))) {
	for _, mb := range []int{16, 32, 64, 256, 1024} {
		run(func(c *sim.Config) { c.RAM = mb << 20 })
	}
}

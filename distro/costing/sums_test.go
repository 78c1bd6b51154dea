package costing

import (
	"fmt"
	"testing"

	"kprobesim/cpus"
	"kprobesim/distro/probing"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/workloads"
)

// TestByFunction counts each cycle for one function and one phase: from the end of one instruction to the end of the next, whatever lies between.
func TestByFunction(t *testing.T) {
	im := require.Must(image.Load("x86_64-2010", require.Must(workloads.Open("x86_64-2010"))(t)))(t)
	f, _ := im.Func("bench_target")
	g, _ := im.Func("work_divide")
	b := newByFunction(im)
	want, end := map[uint64]clock.Ticks{}, clock.Ticks(100)
	for i, s := range []cpus.Step{{PC: f.Entry}, {PC: f.Entry + 5}, {PC: g.Entry}, {PC: 0x400000, User: true}, {PC: f.Entry, User: true}, {PC: 0x1234567}, {PC: g.Entry + 1, Context: cpus.Interrupted}} {
		before := end
		end += clock.Ticks(10 * (i + 1))
		s.Start, s.End = before+clock.Ticks(min(i, 1)), end // they need not touch
		start := map[bool]uint64{true: 1}[s.User]
		if _, at := im.SymbolOff(s.PC); !s.User {
			start = at
		}
		want[start] += end - before
		b.Step(&s)
	}
	require.Equal(t, fmt.Sprint(b.by), fmt.Sprint(want), "ticks by function")
	sum := clock.Ticks(0)
	for _, ticks := range b.phases {
		sum += ticks
	}
	require.That(t, sum == end-100 && b.phases[image.PhaseIRQ] == 70, "phases %v of %d ticks", b.phases, end-100)
}

// TestCostOf divides what a probe adds among the calls, by phase and by function, the largest first.
func TestCostOf(t *testing.T) {
	base := &sample{ticks: 60 * calls, instructions: calls, exceptions: calls, by: map[string]clock.Ticks{"same": 30 * calls, "less": 30 * calls}}
	with := &sample{ticks: 660 * calls, instructions: 5 * calls, exceptions: 3 * calls, by: map[string]clock.Ticks{"same": 30 * calls, "more": 570 * calls, "as": 60 * calls, "a second": 60 * calls}}
	base.phases[image.PhaseUser], with.phases[image.PhaseUser], with.phases[image.PhaseEntry] = 60*calls, 60*calls, 600*calls
	c := costOf(base, with, 2_000_000_000)
	require.That(t, c.Cycles == 10 && c.Micros == 0.005 && c.Instructions == 4 && c.Exceptions == 2, "%+v", c)
	require.Equal(t, fmt.Sprint(c.Phases, c.Functions), "[{entry 10}] [{more 9.5} {a second 1} {as 1} {less -0.5}]", "shares")
	require.Equal(t, len(with.by), 4, "functions of the sample behind it")
	for _, v := range []probing.Verdict{{Kind: "stepped"}, {Kind: "stepped", Optimized: true}} {
		require.Equal(t, Mode(&v), map[bool]string{true: "optimized", false: "stepped"}[v.Optimized], "the mode of %+v", v)
	}
}

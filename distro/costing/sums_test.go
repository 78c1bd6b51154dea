package costing

import (
	"debug/elf"
	"fmt"
	"testing"

	"kprobesim/cpus"
	"kprobesim/distro/probing"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/workloads"
)

// TestByFunction counts each cycle for one function: from the end of one instruction to the end of the next, whatever lies between. What an
// interrupt executes is left out.
func TestByFunction(t *testing.T) {
	im := require.Must(image.Load("x86_64-2010", require.Must(workloads.Open("x86_64-2010"))(t)))(t)
	f, _ := im.Func("bench_target")
	g, _ := im.Func("work_divide")
	b := newByFunction(im)
	want, end := map[uint64]clock.Ticks{}, clock.Ticks(100)
	for i, s := range []cpus.Step{{PC: f.Entry}, {PC: f.Entry + 5}, {PC: g.Entry}, {PC: 0x400000, User: true}, {PC: f.Entry, User: true}, {PC: 0x1234567}, {PC: g.Entry + 1, Context: cpus.Interrupted}, {PC: g.Entry + 1}} {
		before := end
		end += clock.Ticks(10 * (i + 1))
		s.Start, s.End = before+clock.Ticks(min(i, 1)), end // they need not touch
		start := map[bool]uint64{true: 1}[s.User]
		if _, at := im.SymbolOff(s.PC); !s.User {
			start = at
		}
		if s.Context != cpus.Interrupted {
			want[start] += end - before
		}
		b.Step(&s)
	}
	require.Equal(t, fmt.Sprint(b.by), fmt.Sprint(want), "ticks by function")
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

// TestConcluded adds up what a return probe takes whose entry is of another mode, and says from what.
func TestConcluded(t *testing.T) {
	share := func(text string, n float64) Share { return Share{text, n} }
	c := &Cost{Mode: "return probe, entry ftrace", Place: "f", Cycles: 50, Micros: 5, Instructions: 40, Phases: []Share{share("entry", 20), share("rethook", 30)}, Functions: []Share{share("a", 30), share("b", 20)}}
	less := &Cost{Mode: "ftrace", Place: "f+0x0", Cycles: 20, Micros: 2, Instructions: 10, Phases: []Share{share("entry", 20)}, Functions: []Share{share("b", 20)}}
	plus := &Cost{Mode: "stepped", Place: "f+0x5", Cycles: 100, Micros: 10, Instructions: 70, Exceptions: 2, Phases: []Share{share("entry", 90), share("step", 10)}, Functions: []Share{share("c", 100)}}
	got := concluded(c, less, plus, "stepped")
	require.Equal(t, got.String(), "return probe, entry stepped: a hit takes 130 cycles (13.000 us), 100 instructions and 2 exceptions, measured at f, "+
		"less a probe that is ftrace at f+0x0, plus one that is stepped at f+0x5; cycles by phase: entry 90, rethook 30, step 10; cycles by function: c 100, a 30", "concluded")
	require.That(t, c.Cycles == 50 && c.Phases[0].Cycles == 20, "what it was concluded from is now %+v", c)
}

// TestUserWays has functions of the program in the machine for each way, and no more exceptions than a step takes.
func TestUserWays(t *testing.T) {
	for machine, want := range map[elf.Machine]string{
		elf.EM_ARM:    "[{stepped user_function function 2}]",
		elf.EM_X86_64: "[{emulated user_function function 1} {stepped user_function+1 function 2} {optimized user_nop10 nop10 0}]",
	} {
		require.Equal(t, fmt.Sprint(userWays(machine)), want, "%s", machine)
	}
}

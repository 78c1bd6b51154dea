package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/boards/pc/pctest"
	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// TestTwoRunsAreTheSame compares all counters and events of two runs in which CPUs fight for lines.
func TestTwoRunsAreTheSame(t *testing.T) {
	var runs [2]*pctest.Guest
	for i := range runs {
		runs[i] = pctest.New(t, 8, "boot_plain", "count_plain")
		runs[i].Set(t, "arg2", 300)
		runs[i].MustRun(t)
	}
	for i := range 8 {
		require.That(t, *runs[0].CPU(i).Counters() == *runs[1].CPU(i).Counters(), "cpu %d: the counters of two runs differ", i)
	}
	require.That(t, slices.Equal(runs[0].Events, runs[1].Events) && len(runs[0].Events) > 0, "the events of two runs differ, or there are none")
}

// TestNativeCallMoves lets the guest function of a native call return on another CPU.
func TestNativeCallMoves(t *testing.T) {
	w := pctest.New(t, 2, "boot_away", "take_over")
	w.MustRun(t)
	require.That(t, slices.Equal(w.Reports, []uint64{7701}) && slices.Equal(w.From, []int{1}), "reported %d on cpus %d, want 77, from cpu 0 to cpu 1, on cpu 1", w.Reports, w.From)
}

// TestBall measures a handshake through memory: it must take the time of its parts, an upgrade by the
// sender and a transfer to the receiver each way, not that of turns between CPUs, which the shortest of
// turns shows. Machine descriptions split the published latency of a message into these two.
func TestBall(t *testing.T) {
	var each [2]float64
	for i := range each {
		w := pctest.New(t, 2, "boot_ball", "catch_ball")
		w.Set(t, "arg2", 1000)
		if i == 1 {
			w.SetLookahead(1)
		}
		w.MustRun(t)
		require.Need(t, slices.Equal(w.Reports, []uint64{1000}), "reported %d", w.Reports)
		each[i] = float64(w.CPU(0).Now().Cycles()) / 1000
	}
	t.Logf("a throw and its return take %.1f cycles, %.1f when CPUs switch at every turn", each[0], each[1])
	require.That(t, !(each[0] > 1.01*each[1]) && !(each[0] < 0.99*each[1]), "a throw and its return take %.1f cycles, %.1f when CPUs switch at every turn", each[0], each[1])
	lines := float64((2*pctest.Transfer + 2*pctest.Upgrade).Cycles())
	require.That(t, !(each[0] < lines) && !(each[0] > 1.1*lines), "a throw and its return take %.1f cycles, two upgrades and two transfers take %.0f", each[0], lines)
}

func TestReportsOfSleepAndBudget(t *testing.T) {
	for _, x := range []struct {
		main, other string
		want        []string
	}{
		{"boot_sleep", "ready", []string{
			"all CPUs sleep and nothing will ever wake one",
			"cpu 0: halted, pc 0xffffffff80", "cpus 1-3: halted, pc 0xffffffff80", "<ready+", "who waits for whom",
		}},
		{"boot_nogate", "busy", []string{
			"cpu 1: triple fault", "1 interrupts were handled by nothing, the last was interrupt 85",
		}},
		{"boot_ball", "busy", []string{
			"budget of 2000000 cycles", "cpu 0: runs, pc ", "<boot_ball+", "<busy+", "who waits for whom",
		}},
	} {
		w := pctest.New(t, 4, x.main, x.other, func(c *sim.Config) { c.Budget = clock.FromCycles(2_000_000) })
		w.Explain = func() string { return "who waits for whom" }
		err := w.Run()
		for _, want := range x.want {
			require.That(t, err != nil && strings.Contains(err.Error(), want), "%s: error %v, want one with %q", x.main, err, want)
		}
	}
}

// TestEventsWithinTheBudget has an event happen before the budget ends, and none at its end.
func TestEventsWithinTheBudget(t *testing.T) {
	for before, want := range map[clock.Ticks]string{0: "budget of", 1: "nothing will ever wake one"} {
		happened := false
		w := pctest.New(t, 2, "boot_sleep", "ready", func(c *sim.Config) { c.Budget = clock.FromCycles(1_000_000) })
		w.At(clock.FromCycles(1_000_000)-before, func() { happened = true })
		require.Error(t, w.Run(), want, "an event %d ticks before the end", before)
		require.Equal(t, happened, before > 0, "an event %d ticks before the end happened", before)
	}
}

// TestBudgetIsExact ends a run whose budget is the very time at which it ended with less, at the same place.
func TestBudgetIsExact(t *testing.T) {
	for _, steps := range []int{0, 7} {
		run := func(budget clock.Ticks) *pctest.Guest {
			w := pctest.New(t, 3, "boot_busy", "busy", func(c *sim.Config) {
				if c.Budget = budget; steps > 0 {
					c.Policy = &inTurn{steps: steps}
				}
			})
			require.Error(t, w.Run(), "budget of", "it runs for ever")
			return w
		}
		less := run(clock.FromCycles(100_003))
		at := less.CPU(0).Now()
		for i := range 3 {
			at = min(at, less.CPU(i).Now())
		}
		if steps > 0 {
			at = less.Now()
		}
		more := run(at)
		require.Equal(t, more.Ended(nil), less.Ended(nil), "in turns of %d, with a budget of %d ticks it ends", steps, at)
	}
}

func TestNumberOfCPUs(t *testing.T) {
	for _, n := range []int{-1, 257, 1000} {
		_, err := sim.New(sim.Config{CPUs: n, RAM: 32 << 20})
		require.Error(t, err, "1 to 256 are modelled", "%d CPUs", n)
	}
	require.Equal(t, pctest.New(t, 0, "boot_busy", "ready").CPUs(), 1, "a machine of no number has CPUs")
}

// TestLimits holds what a machine can have and what can be read of it at once.
func TestLimits(t *testing.T) {
	behind := int64(4<<30 + 1) // a byte on hosts of 32 bits, which is not enough either
	for ram, ok := range map[int]bool{16<<20 - 1: false, 16 << 20: true, int(behind): false} {
		_, err := sim.New(pctest.Config(t, 1, func(c *sim.Config) { c.RAM = ram }))
		require.That(t, ok == (err == nil) && (err == nil || strings.Contains(err.Error(), "16 MiB to 4 GiB are modelled")), "%d bytes of memory: %v", ram, err)
	}
	_, err := sim.New(pctest.Config(t, 1, func(c *sim.Config) { c.Board = nil }))
	require.That(t, err != nil && strings.Contains(err.Error(), "needs a board"), "no board: %v", err)
	_, err = sim.New(pctest.Config(t, 1, func(c *sim.Config) { c.CPU.Events = nil }))
	require.Error(t, err, "machine ", "CPUs without costs")
	for n, change := range map[int]func(c *sim.Config){
		1: func(c *sim.Config) { c.CPU.L2.Line *= 2 },
		2: func(c *sim.Config) { c.CPU.L2.Line *= 2 },         // several CPUs share lines
		3: func(c *sim.Config) { c.Buffers = &sim.Buffers{} }, // of a machine that takes turns by time
	} {
		_, err := sim.New(pctest.Config(t, n, change))
		require.Equal(t, err == nil, n == 1, "machine %d is made", n)
	}
	w := pctest.New(t, 1, "boot_busy", "ready")
	at := require.Must(w.Alloc(16, 16))(t)
	for _, n := range []int{-1, 32<<20 + 1} {
		b, err := w.ReadBytes(at, n)
		require.That(t, err != nil && strings.Contains(err.Error(), "more than the machine has"), "%d bytes: %d, %v", n, len(b), err)
	}
}

// inTurn is a policy that gives every CPU the same number of instructions.
type inTurn struct {
	steps int
	last  int
	turns []string
}

func (p *inTurn) Next(m *sim.Machine, runnable []int) (cpu, steps int) {
	i := slices.IndexFunc(runnable, func(c int) bool { return c > p.last })
	if i < 0 {
		i = 0
	}
	p.last = runnable[i]
	if len(p.turns) < 5000 {
		p.turns = append(p.turns, fmt.Sprint(p.last, m.Now()))
	}
	return p.last, p.steps
}

func TestPolicy(t *testing.T) {
	for _, steps := range []int{1, 7, 100} {
		var logs [2][]string
		for i := range logs {
			p := &inTurn{steps: steps}
			w := pctest.New(t, 3, "boot_plain", "count_plain", func(c *sim.Config) { c.Policy = p })
			w.Set(t, "arg2", 500)
			before := -1
			w.At(0, func() { before = len(p.turns) })
			w.MustRun(t)
			require.Equal(t, before, 0, "an event for the beginning comes behind turns")
			require.That(t, slices.Equal(w.Reports, []uint64{1500}), "%d steps: increments without a lock, one instruction each, gave %d", steps, w.Reports)
			logs[i] = p.turns
		}
		require.That(t, slices.Equal(logs[0], logs[1]), "%d steps: two runs differ", steps)
	}
}

// badPolicy chooses what cannot be chosen.
type badPolicy struct{ cpu, steps int }

func (p badPolicy) Next(*sim.Machine, []int) (cpu, steps int) { return p.cpu, p.steps }

func TestPolicyIsChecked(t *testing.T) {
	for _, p := range []badPolicy{{1, 1}, {2, 1}, {-1, 1}, {9, 1}, {0, 0}, {0, -5}} {
		w := pctest.New(t, 2, "boot_count", "ready", func(c *sim.Config) { c.Policy = p })
		require.Error(t, w.Run(), "the policy chose", "%+v", p)
	}
}

// TestStepsTimesAsRun holds the time that a thousand rounds of a loop take when they are executed in
// pieces against that of one run, observed or not.
func TestStepsTimesAsRun(t *testing.T) {
	for _, model := range []string{cpus.Throughput, cpus.Window} {
		want := timeOfRounds(t, model, 0, false)
		for _, steps := range []int{0, 1, 2, 3, 5, 11, 1000} {
			for _, observed := range []bool{false, true} {
				if now := timeOfRounds(t, model, steps, observed); now != want {
					t.Errorf("%s: %d ticks in steps of %d, observed %v, %d in one run", model, now, steps, observed, want)
				}
			}
		}
	}
}

// timeOfRounds is the time of a thousand rounds of the counting loop of one CPU.
func timeOfRounds(t *testing.T, model string, steps int, observed bool) clock.Ticks {
	t.Helper()
	var at [2]clock.Ticks
	for i := range at {
		w := pctest.New(t, 1, "boot_plain", "ready", func(c *sim.Config) {
			c.CPU.Model = model
			if steps != 0 {
				c.Policy = &inTurn{steps: steps}
			}
		})
		w.Set(t, "arg2", uint64(1000*(i+1)))
		if observed {
			w.CPU(0).Observe(nothing{})
		}
		w.MustRun(t)
		at[i] = w.CPU(0).Now()
	}
	return at[1] - at[0]
}

type nothing struct{}

func (nothing) Step(*cpus.Step) {}

// keeper is a policy that lets time pass in front of turns.
type keeper struct {
	inTurn
	t     *testing.T
	began clock.Ticks // the time at which the last turn began
	turns int
}

func (k *keeper) Next(m *sim.Machine, runnable []int) (cpu, steps int) {
	k.began = m.Now()
	return k.inTurn.Next(m, runnable)
}

func (k *keeper) Passed(m *sim.Machine, _ []int) clock.Ticks {
	if k.turns++; k.turns > 1 {
		require.Equal(k.t, m.CPU(k.last).Now(), k.began, "cpu %d, behind turn %d", k.last, k.turns)
	}
	return 1000
}

// TestTimekeeper has a policy say how much time passes. Instructions take none.
func TestTimekeeper(t *testing.T) {
	k := &keeper{inTurn: inTurn{steps: 50}, t: t}
	w := pctest.New(t, 3, "boot_plain", "count_plain", func(c *sim.Config) { c.Policy, c.Budget = k, 1<<60 })
	w.Set(t, "arg2", 500)
	w.MustRun(t)
	require.That(t, k.turns > 50 && k.began >= clock.Ticks(k.turns-10)*1000, "%d turns, the last at %d", k.turns, k.began)
}

package sim_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"kprobesim/boards/pc/pctest"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// TestHaltEndsALoop ends guests that loop for ever, alone and beside others, and says where.
func TestHaltEndsALoop(t *testing.T) {
	reason := errors.New("enough")
	for _, cpus := range []int{1, 4} {
		asked, most := 0, 5
		if cpus > 1 {
			most = 2000 // turns are short beside others
		}
		w := pctest.New(t, cpus, "boot_busy", "busy", func(c *sim.Config) {
			c.Budget = 1 << 60
			c.Halt = func() error {
				if asked++; asked > most {
					return reason
				}
				return nil
			}
		})
		err := w.Run()
		var halted *sim.HaltedError
		require.That(t, errors.As(err, &halted) && errors.Is(err, reason) && strings.Contains(halted.Where, "runs, pc 0xffffffff80") && strings.Contains(halted.Where, "<"), "%d CPUs: %v", cpus, err)
		require.That(t, asked == most+1, "%d CPUs: it was asked %d times", cpus, asked)
	}
}

// TestTurnsChangeNothing has a CPU that nothing else concerns come back to Run at odd times: its counters, and what the
// guest reports, are the same.
func TestTurnsChangeNothing(t *testing.T) {
	run := func(longest clock.Ticks) *pctest.Guest {
		w := pctest.New(t, 1, "boot_plain", "count_plain")
		w.Set(t, "arg2", 300)
		w.SetLongestTurn(longest)
		w.MustRun(t)
		return w
	}
	whole := run(clock.FromCycles(1 << 30))
	for _, longest := range []clock.Ticks{1, 61, clock.FromCycles(97)} {
		cut := run(longest)
		require.That(t, *whole.CPU(0).Counters() == *cut.CPU(0).Counters(), "turns of %d ticks: the counters differ", longest)
		require.That(t, slices.Equal(whole.Events, cut.Events) && slices.Equal(whole.Reports, cut.Reports), "turns of %d ticks: other events, or reports %v, want %v", longest, cut.Reports, whole.Reports)
	}
}

// TestYieldEndsATurn asks the policy again behind a native function that has yielded, before it goes on.
func TestYieldEndsATurn(t *testing.T) {
	p, asked := &inTurn{steps: 1000}, []int{}
	w := pctest.New(t, 3, "boot_plain", "count_plain", func(c *sim.Config) { c.Policy = p })
	w.Set(t, "arg2", 50)
	w.Bind("report", func(*sim.Call) uint64 {
		asked = append(asked, len(p.turns))
		w.Yield()
		asked = append(asked, len(p.turns))
		return 0
	})
	w.MustRun(t)
	require.That(t, len(asked) == 2 && asked[1] > asked[0], "the policy was asked so often before and behind a yield: %d", asked)
}

// TestKeepIsForOthers refuses to keep a machine whose kernel is one of this program's.
func TestKeepIsForOthers(t *testing.T) {
	w := pctest.New(t, 1, "boot_plain", "ready")
	_, err := w.Keep()
	require.Error(t, err, "cannot be kept", "a kernel of this program")
	require.Error(t, w.Restore(nil), "cannot be kept", "a kernel of this program")
}

// TestEnd keeps the first reason for which a run ends, and lets one go on that has not failed.
func TestEnd(t *testing.T) {
	for name, x := range map[string]struct {
		end    func(m *sim.Machine)
		ended  string
		failed bool
	}{
		"a reset":   {func(m *sim.Machine) { m.End("reset"); m.End("again"); m.Stop(errors.New("late")) }, "reset", false},
		"a failure": {func(m *sim.Machine) { m.Stop(errors.New("early")); m.End("reset") }, "", true},
	} {
		w := pctest.New(t, 1, "boot_busy", "busy")
		w.At(100, func() { x.end(w.Machine) })
		err := w.Run()
		require.That(t, (err != nil) == x.failed && w.Machine.Ended() == x.ended, "%s: %v, %q", name, err, w.Machine.Ended())
		w.Resume()
		w.At(w.Now()+100, func() { w.End("over") })
		err = w.Run()
		require.That(t, (err != nil) == x.failed && (w.Machine.Ended() == "over") != x.failed, "%s, resumed: %v, %q", name, err, w.Machine.Ended())
	}
}

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

package kinds

import (
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/experiments/schema"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/machines"
)

// A budget is simulated time, which does not overflow.
func TestBudget(t *testing.T) {
	for _, c := range []struct {
		micros, hz int64
		want       clock.Ticks
	}{
		{0, 2e9, 0}, {1, 2e9, 2000 * clock.PerCycle}, {2_000_000, 3, 6 * clock.PerCycle}, {1 << 60, 5e9, 1 << 62},
	} {
		p := &schema.Point{Budget: c.micros, Machine: &machines.Machine{}}
		p.Machine.CPU.Hz = c.hz
		got := budget(p)
		require.That(t, got == c.want, "%d us at %d Hz are %d ticks, want %d", c.micros, c.hz, got, c.want)
	}
}

func TestAccountOf(t *testing.T) {
	for _, c := range []struct {
		phase   image.Phase
		context int
		want    account
	}{
		{image.PhaseWorkload, cpus.NoException, ForWorkload},
		{image.PhaseWorkload, cpus.Interrupted, ForWorkload},
		{image.PhaseUser, cpus.NoException, ForUser},
		{image.PhaseHandler, cpus.Breakpoint, ForProbes},
		{image.PhaseHandler, cpus.Interrupted, ForProbes}, // a probe in an interrupt handler
		{image.PhaseEntry, cpus.Breakpoint, ForProbes},
		{image.PhaseEntry, cpus.Interrupted, forInterrupts},
		{image.PhaseKernel, cpus.Interrupted, forInterrupts},
		{image.PhaseIRQ, cpus.NoException, forInterrupts},
		{image.PhaseStop, cpus.NoException, forStop},
		{image.PhaseIdle, cpus.NoException, forIdle},
		{image.PhaseKernel, cpus.NoException, forKernel},
	} {
		if got := accountOf(c.phase, c.context); got != c.want {
			t.Errorf("phase %v in context %d is for %s, want %s", c.phase, c.context, AccountNames()[got],
				AccountNames()[c.want])
		}
	}
}

// TestOtherResults are told, and equal ones are not.
func TestOtherResults(t *testing.T) {
	m := &Measurement{}
	m.noteOthers(0x10, 0x10)
	require.Equal(t, len(m.Notes), 0, "notes of equal results")
	m.noteOthers(0x10, 0x11)
	require.Equal(t, strings.Join(m.Notes, "; "), "the calls returned other values with the probe (sum 0x10, without 0x11)", "other results")
}

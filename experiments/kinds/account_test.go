package kinds

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/image"
)

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

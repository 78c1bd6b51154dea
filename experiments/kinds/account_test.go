package kinds

import (
	"testing"

	"kprobesim/cpus"
)

func TestAccountOf(t *testing.T) {
	for _, c := range []struct {
		phase   string
		context int
		want    account
	}{
		{"workload", cpus.NoException, ForWorkload},
		{"workload", cpus.Interrupted, ForWorkload},
		{"user", cpus.NoException, ForUser},
		{"handler", cpus.Breakpoint, ForProbes},
		{"handler", cpus.Interrupted, ForProbes}, // a probe in an interrupt handler
		{"entry", cpus.Breakpoint, ForProbes},
		{"entry", cpus.Interrupted, forInterrupts},
		{"kernel", cpus.Interrupted, forInterrupts},
		{"irq", cpus.NoException, forInterrupts},
		{"stop", cpus.NoException, forStop},
		{"idle", cpus.NoException, forIdle},
		{"kernel", cpus.NoException, forKernel},
	} {
		if got := accountOf(c.phase, c.context); got != c.want {
			t.Errorf("phase %s in context %d is for %s, want %s", c.phase, c.context, AccountNames()[got],
				AccountNames()[c.want])
		}
	}
}

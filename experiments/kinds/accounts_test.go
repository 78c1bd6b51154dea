package kinds_test

import (
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// TestAccountsOfUserMode has the time of CPUs that compute in user mode counted as that.
func TestAccountsOfUserMode(t *testing.T) {
	for _, load := range []string{schema.LoadBusy, schema.LoadUser} {
		p := exptest.SmallPoint(t, schema.KindLatency, "o", "workload.load="+load)
		m := require.Must(kinds.Measure(p))(t)
		for i, a := range m.Accounts {
			mine, other := kinds.ForWorkload, kinds.ForUser
			if load == schema.LoadUser {
				mine, other = kinds.ForUser, kinds.ForWorkload
			}
			if a[mine] < clock.FromCycles(p.Machine.CPU.Hz/1000) || a[other] != 0 {
				t.Errorf("%s, cpu %d: %d cycles as %s, %d as %s", load, i, a[mine].Cycles(), kinds.AccountNames()[mine],
					a[other].Cycles(), kinds.AccountNames()[other])
			}
		}
	}
}

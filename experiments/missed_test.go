package experiments_test

import (
	"strconv"
	"testing"

	"kprobesim/experiments/kinds"
	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/compare"
)

// TestInstancesNeeded holds each point of missed-returns to a count by hand. All callers are in a function that sleeps, or
// in which they are preempted, at once; else there is one for each CPU. Of so many callers each instance serves one.
func TestInstancesNeeded(t *testing.T) {
	s := require.Must(compare.LoadBaseline("../results/baselines/missed-returns.csv"))(t)
	tried := 0
	for _, p := range s.Points() {
		instances, inside := number(t, p, "points.r.maxactive"), number(t, p, "workload.tasks")
		if p.Swept("workload.target") == "divide_work" && p.Swept("kernel.preempt") == "none" {
			inside = min(inside, p.CPUs)
		}
		if instances == 0 {
			instances = max(10, 2*p.CPUs) // what the kernel takes by itself
		}
		calls, _ := s.Get(p, results.MetricCalls)
		missed, _ := s.Get(p, kinds.MetricMissed)
		want := calls.Value.Float() * float64(inside-min(inside, instances)) / float64(inside)
		got := missed.Value.Float()
		require.That(t, got == want, "%s: %g of %s calls are missed, not %g", p.Probe, got, calls.Value, want)
		tried++
	}
	require.That(t, tried >= 300, "%d points", tried)
}

// number is the value of a swept key.
func number(t *testing.T, p results.Point, key string) int {
	t.Helper()
	n := require.Must(strconv.Atoi(p.Swept(key)))(t)
	return n
}

package kinds_test

import (
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// TestEventsWithoutGap: where there is no time for work between them, events are hits that follow each other.
func TestEventsWithoutGap(t *testing.T) {
	m := outcome(t, schema.KindEventRate, "k", "workload.rate=100000000", "workload.hits=100")
	if r := m[kinds.MetricEvent] / m[results.MetricCycles]; r < 0.98 || r > 1.02 {
		t.Errorf("an event costs %v cycles, and a hit without a gap %v", m[kinds.MetricEvent], m[results.MetricCycles])
	}
	if r := m[kinds.MetricOverhead] / m[kinds.MetricProduct]; r < 0.98 || r > 1.02 {
		t.Errorf("the overhead is %v %%, and the product %v", m[kinds.MetricOverhead], m[kinds.MetricProduct])
	}
}

// TestEventsAreCold: work between events takes the hit's lines out of the first caches. Events come at the rate that was asked
// for.
func TestEventsAreCold(t *testing.T) {
	m := outcome(t, schema.KindEventRate, "o", "workload.rate=10000", "workload.footprint=1 MiB")
	if m[kinds.MetricEvent] < 2*m[results.MetricCycles] || m["l1i_misses_per_hit"] < 5 {
		t.Errorf("an event costs %v cycles with %v misses of code, and a hit without a gap %v cycles", m[kinds.MetricEvent],
			m["l1i_misses_per_hit"], m[results.MetricCycles])
	}
	if rate := m["events_a_second"]; rate < 9990 || rate > 10010 {
		t.Errorf("%v events a second, not 10000", rate)
	}
}

// TestEventsWantRoom: a footprint that the guest has no memory for is named, and so is an image without the text.
func TestEventsWantRoom(t *testing.T) {
	exptest.Alone(t)
	for set, want := range map[string]string{
		"workload.footprint=128 MiB": "workload.footprint: ",
		"kernel.preempt=full":        "has no text for a crowd of probes: use a kernel without preemption",
	} {
		require.Error(t, require.Err(kinds.Measure(exptest.SmallPoint(t, schema.KindEventRate, "f", set))), want, "%s", set)
	}
}

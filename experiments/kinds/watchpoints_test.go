package kinds_test

import (
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// TestWatchpointsMeasured holds the numbers of a point against each other: a hit costs what an exception costs, code
// beside a watchpoint nothing, and more CPUs take longer to register one.
func TestWatchpointsMeasured(t *testing.T) {
	exptest.Alone(t)
	value := func(point, metric string, sets ...string) float64 {
		t.Helper()
		m := require.Must(kinds.Measure(exptest.PointOf(t, schema.KindWatchpoints, point, append(sets, "workload.hits=20")...)))(t)
		for _, q := range m.Quantities {
			if q.Metric == metric {
				return float64(q.Num) / float64(q.Den)
			}
		}
		t.Fatalf("%s has no %s", point, metric)
		return 0
	}
	for _, x := range []struct {
		point       string
		least, most float64 // instructions of a call more
	}{{"beside", 0, 0}, {"w", 100, 400}, {"rw", 100, 400}, {"x", 100, 400}} {
		got := value(x.point+"/kernel.cpus=1", results.MetricInstructions)
		require.That(t, !(got < x.least) && !(got > x.most), "%s: %v instructions a call more; want %v to %v", x.point, got, x.least, x.most)
	}
	one, four := value("w/kernel.cpus=1", kinds.MetricWatch), value("w/kernel.cpus=4", kinds.MetricWatch)
	require.That(t, !(four <= one), "registering takes %v us on one CPU and %v us on four", one, four)
}

// TestWatchpointThatIsNotHit has a point say what is not so.
func TestWatchpointThatIsNotHit(t *testing.T) {
	exptest.Alone(t)
	_, err := kinds.Measure(exptest.PointOf(t, schema.KindWatchpoints, "w/kernel.cpus=1", "points.w.offset=16", "workload.hits=2"))
	require.Error(t, err, "watched_words+0x10 0 times; want 8", "a watchpoint that is not hit")
}

package kinds_test

import (
	"slices"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/reports"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// Every call is timed, with loops in the kernel and in user mode; the times add up to nearly the measured
// stretch, what is left being the loop's own; and nothing else changes because calls are timed.
func TestCallsAreTimed(t *testing.T) {
	exptest.Alone(t)
	for _, point := range []string{"k", "o", "rb"} {
		for _, loop := range []string{"bench_loop", "user_loop"} {
			t.Run(point+"/"+loop, func(t *testing.T) { holdCallsAreTimed(t, point, loop) })
		}
	}
}

func holdCallsAreTimed(t *testing.T, point, loop string) {
	const hits = 50
	sets := []string{"workload.hits=50", "workload.warmup=0", "workload.loop=" + loop}
	pt := exptest.PointOf(t, exptest.E5410, point, append(sets, "workload.latencies=true")...)
	m := require.Must(kinds.Measure(pt))(t)
	var sum clock.Ticks
	for _, c := range m.Taken {
		sum += c
	}
	require.Need(t, len(m.Taken) == hits && slices.IsSorted(m.Taken), "%d calls of %d were timed: %v", len(m.Taken), hits, m.Taken)
	refill := clock.FromCycles(20 * hits) // of the front end, behind a call whose return was mispredicted
	if own := m.Probed.Time - sum; own <= 0 || own > m.Base.Time+refill {
		t.Errorf("calls of %d ticks in a stretch of %d: the loop's own are %d, and all without the probe %d", sum,
			m.Probed.Time, own, m.Base.Time)
	}
	records := require.Must(reports.Records(pt, m))(t)
	for share, i := range map[int]int{0: 0, 500: 24, 980: 48, 990: 49, 1000: 49} {
		want, _ := results.Ratio(int64(m.Taken[i]), int64(clock.PerCycle))
		at := slices.IndexFunc(records, func(r results.Record) bool { return r.Metric == results.CallMetric(share) })
		if at < 0 || records[at].Value != want {
			t.Errorf("%d of 1000: %v, want call %d of %d, %s cycles", share, records[at], i, hits, want)
		}
	}
	plain := measured(t, exptest.PointOf(t, exptest.E5410, point, sets...))
	for _, r := range plain {
		require.That(t, slices.Contains(records, r), "%s is %s when no call is timed", r, r.Value)
	}
}

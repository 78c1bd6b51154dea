package kinds_test

import (
	"maps"
	"slices"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/schema"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// measured runs a point and returns its records without the number of the replicate and the seed.
func measured(t *testing.T, pt *schema.Point) []results.Record {
	t.Helper()
	m, err := kinds.Measure(pt)
	require.Need(t, err == nil, "%s: %v", pt.Name, err)
	records, err := reports.Records(pt, m)
	require.Need(t, err == nil, "%s: %v", pt.Name, err)
	for i := range records {
		records[i].Replicate, records[i].Seed = 0, 0
	}
	return records
}

// A replicate does not depend on the others; the first one of seed 0 is the measurement without the key; and every other
// one, and every other seed, is measured under another layout, which a cold hit shows.
func TestReplicates(t *testing.T) {
	exptest.Alone(t)
	for name := range exptest.Eras() {
		t.Run(name, func(t *testing.T) {
			pt := func(point string, sets ...string) *schema.Point {
				return exptest.PointOf(t, name, point, append(sets, "workload.hits=30", "workload.warmup=10")...)
			}
			plain := measured(t, pt("r"))
			require.That(t, slices.Equal(plain, measured(t, pt("r/replicate=0", "replicates=2"))), "the first replicate is not what one replicate is")
			second := measured(t, pt("r/replicate=1", "replicates=2"))
			require.That(t, slices.Equal(second, measured(t, pt("r/replicate=1", "replicates=5"))), "the second of two replicates is not the second of five")
			third, seeded := measured(t, pt("r/replicate=2", "replicates=3")), measured(t, pt("r", "seed=1"))
			for i, a := range [][]results.Record{plain, second, third, seeded} {
				for _, b := range [][]results.Record{plain, second, third, seeded}[i+1:] {
					if first(a) == first(b) {
						t.Errorf("two layouts have a first hit of the same %s cycles", first(a))
					}
				}
			}
		})
	}
}

// first is the cost of the cold hit.
func first(records []results.Record) results.Value {
	i := slices.IndexFunc(records, func(r results.Record) bool { return r.Metric == results.MetricFirst })
	return records[i].Value
}

// Every kind of experiment runs under drawn layouts, in kernel and user mode, and the draws reach what it
// measures.
func TestKindsRunUnderDrawnLayouts(t *testing.T) {
	exptest.Alone(t)
	for _, name := range hosttools.Share(t, "kinds", 2, slices.Sorted(maps.Keys(exptest.Small))) {
		t.Run(name, func(t *testing.T) {
			p, err := planning.NewLoader().Plan(name, append(slices.Clone(exptest.Small[name]), "replicates=4"))
			if name == schema.KindMissed {
				require.Error(t, err, "which calls are missed follows from tasks", "replicates of a kind that has no use for them")
				return
			}
			require.NoError(t, err)
			want, differs := measured(t, &p.Points[0]), false
			for i := range 3 {
				differs = differs || !slices.Equal(want, measured(t, &p.Points[i+1]))
			}
			require.That(t, differs, "no layout changes anything")
			last := &p.Points[len(p.Points)-1] // with another load or another probe
			measured(t, last)
		})
	}
}

package reports_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestKindsAreTheSameEverywhere runs every kind of experiment with one worker on one processor, and with
// several on two.
func TestKindsAreTheSameEverywhere(t *testing.T) {
	const elsewhere = 3 // the overhead of a hit, and two of packaged kernels (TestLinux and TestLinuxWorkload of kinds)
	require.That(t, len(exptest.Small) == len(planning.Kinds())-elsewhere, "%d kinds are tried, of %d", len(exptest.Small), len(planning.Kinds())-elsewhere)
	names := []string{schema.KindScaling} // its points have several CPUs
	if !testing.Short() {
		names = append(names, hosttools.Share(t, "kinds", 6, slices.DeleteFunc(slices.Sorted(maps.Keys(exptest.Small)), func(name string) bool {
			return name == schema.KindScaling
		}))...)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			filesOf(t, func(workers int) *reports.Report {
				p := exptest.SmallPlan(t, name)
				r := reports.Collect(p).Report((&running.Runner{Measure: kinds.Measure, Workers: workers}).Run(p))
				if name == schema.KindScaling && !strings.Contains(r.Table().Text(), "figure scaling is not drawn: kernel.cpus is not swept") {
					t.Errorf("the table does not say that a figure is missing:\n%s", r.Table().Text())
				}
				return r
			})
		})
	}
}

package reports_test

import (
	"bytes"
	"maps"
	"runtime"
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
	"kprobesim/results/compare"
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
			var want map[string][]byte
			for _, c := range []struct{ procs, workers int }{{1, 1}, {2, 3}} {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.procs))
				p := exptest.SmallPlan(t, name)
				r := reports.Collect(p).Report((&running.Runner{Measure: kinds.Measure, Workers: c.workers}).Run(p))
				require.NoError(t, r.Err())
				got := require.Must(r.Files())(t)
				if name == schema.KindScaling && !strings.Contains(r.Table().Text(), "figure scaling is not drawn: kernel.cpus is not swept") {
					t.Errorf("the table does not say that a figure is missing:\n%s", r.Table().Text())
				}
				if want == nil {
					want = got
				}
				for file := range want {
					require.That(t, bytes.Equal(got[file], want[file]), "%s differs with %d workers", file, c.workers)
				}
			}
		})
	}
}

// TestFiguresOfKinds draws every figure of the experiments from their baselines.
func TestFiguresOfKinds(t *testing.T) {
	for _, name := range hosttools.Share(t, "kinds, of whose figures TestFigures has sums", 3, slices.Sorted(maps.Keys(exptest.Small))) {
		s, err := compare.LoadBaseline("../../results/baselines/" + name + ".csv")
		if err != nil {
			t.Error(err)
			continue
		}
		for _, figure := range planning.FiguresOf(name) {
			files := map[string][]byte{}
			err := reports.Draw(files, s, []string{figure}, reports.Look{})
			require.That(t, err == nil && len(files) == 4, "%s, %s: %d files, %v", name, figure, len(files), err)
		}
	}
}

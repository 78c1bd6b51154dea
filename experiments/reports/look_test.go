package reports

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kprobesim/experiments"
	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/distinct"
	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/compare"
	"kprobesim/results/figures"
)

// TestFigures holds the figures and tables of every experiment, as they follow from its baseline, by their sums. TestLook shows the figures.
// One point alone has a figure, too, or is too little for it.
func TestFigures(t *testing.T) {
	var out strings.Builder
	fromBaselines(t, func(name string, r *Report) {
		for i, table := range r.Tables() {
			fmt.Fprintf(&out, "%s table %d %.6x\n", name, i, sha256.Sum256([]byte(table.Text())))
		}
		kept := &Kept{Set: r.Set, Means: r.Means}
		kept.About.Name = name
		for _, kept.About.Kind = range []string{r.Plan.Kind, "unknown"} {
			if len(r.Set.Points()) < 100 || kept.About.Kind == r.Plan.Kind {
				fmt.Fprintf(&out, "%s kept as %s %.6x\n", name, kept.About.Kind, sha256.Sum256([]byte(kept.Table().Text())))
			}
		}
		first := r.Means.Points()[0]
		one := r.Means.Only(func(p results.Point) bool { return p == first })
		for _, n := range r.Plan.Figures {
			f, err := figure(n, r.Means)
			require.NoError(t, err)
			svg, err := figures.Render(f, n, "svg")
			require.NoError(t, err)
			fmt.Fprintf(&out, "%s %s %.6x\n", name, n, sha256.Sum256(svg[n+".svg"]))
			alone, err := figure(n, one)
			require.That(t, (alone == nil) == (err != nil), "%s %s of one point: %v", name, n, err)
		}
	})
	require.Lines(t, filepath.Join("testdata", "figures.txt"), out.String(), exptest.Updating())
}

// fromBaselines calls f with reports of every experiment, without outcomes. What has no baseline, because it needs a packaged kernel, has
// results that are made up: what this host has of such kernels counts for nothing.
func fromBaselines(t *testing.T, f func(name string, r *Report)) {
	t.Setenv(planning.KernelFolder, "")
	for _, name := range experiments.Names() {
		plan := require.Must(planning.NewLoader().Plan(name, nil))(t)
		set := &results.Set{}
		if schema.Packaged(plan.Kind) {
			set = madeUp(t, plan)
		} else {
			set = require.Must(compare.LoadBaseline(filepath.Join("..", "..", "results", "baselines", name+".csv")))(t)
		}
		f(name, &Report{Plan: plan, Set: set, Means: results.Means(set)})
	}
}

// madeUp are results with each metric that the table and the figures of an experiment ask for. Some phases are below zero.
func madeUp(t *testing.T, plan *schema.Plan) *results.Set {
	kind, _ := presentationOf(plan.Kind)
	metrics := []string{results.MetricCycles}
	for _, c := range kind.columns {
		metrics = distinct.Append(metrics, c.Metric)
	}
	for _, p := range kinds.LinuxPhases() {
		metrics = distinct.Append(metrics, results.PhaseMetric(p.String()))
	}
	s := &results.Set{}
	for i := range plan.Points {
		at := plan.Points[i].At()
		at.Era = cmp.Or(at.Era, "6.1.0")
		for j, m := range metrics {
			v := require.Must(results.Ratio(int64(131*i+17*j*j)%1009*100-2000, 7))(t)
			require.NoError(t, s.Add(results.Record{Point: at, Metric: m, Unit: "cycles", Value: v, Role: results.Simulated}))
		}
	}
	return s
}

// TestLook draws the figures of every experiment from its baseline into the folder that KPROBESIM_FIGURES
// names, for a look at them.
func TestLook(t *testing.T) {
	dir := os.Getenv("KPROBESIM_FIGURES")
	if dir == "" {
		t.Skip("on demand: figures to look at; KPROBESIM_FIGURES names no folder to draw into")
	}
	width, _ := strconv.ParseFloat(os.Getenv("KPROBESIM_WIDTH"), 64) // millimetres; 0 for each figure's own
	fromBaselines(t, func(name string, r *Report) {
		files := map[string][]byte{}
		if err := Draw(files, r.Means, r.Plan.Figures, Look{Width: width}); err != nil {
			t.Error(name, err)
		}
		for file, b := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name+"--"+file), b, 0o644))
		}
	})
}

// TestSeveralExperiments has the experiment of each row in a table of several, and in no other.
func TestSeveralExperiments(t *testing.T) {
	for n, want := range []string{"[]", "[[k]]", "[[a k] [b k]]"} {
		s := &results.Set{}
		for _, name := range []string{"a", "b"}[:n] {
			p := results.Point{Experiment: name, Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: "k"}
			require.NoError(t, s.Add(results.Record{Point: p, Metric: results.MetricCycles, Unit: "cycles", Role: results.Simulated}))
		}
		require.Equal(t, fmt.Sprint(sweepTable(s, presentation{}).Rows), want, "rows of %d experiments", n)
	}
}

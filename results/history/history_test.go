package history

import (
	"bytes"
	"encoding/csv"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/figures"
	"kprobesim/results/resultstest"
)

// TestLevels finds the steps of noisy values to a place or two, and none where there are none.
func TestLevels(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	made := func(means ...float64) (values []float64) {
		for _, mean := range means {
			for range 20 {
				values = append(values, mean+r.NormFloat64())
			}
		}
		return values
	}
	for _, x := range []struct {
		values []float64
		want   []int
	}{
		{nil, nil},
		{[]float64{5}, nil},
		{made(100), nil},
		{made(100, 105), []int{20}},
		{made(100, 105, 95, 95, 100), []int{20, 40, 80}},
		{[]float64{3, 3, 3, 4, 4}, []int{3}}, // no noise at all
	} {
		got := levels(x.values)
		if len(got) != len(x.want) {
			t.Errorf("steps of %v are at %v, want %v", x.values, got, x.want)
			continue
		}
		for i := range got {
			d := got[i] - x.want[i]
			require.That(t, d >= -1 && d <= 1, "steps of %v are at %v, want %v", x.values, got, x.want)
		}
	}
}

// TestNoise estimates a deviation of 2 in spite of a step.
func TestNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var values []float64
	for i := range 2000 {
		values = append(values, float64(i/1000*500)+2*r.NormFloat64())
	}
	got := noise(values)
	require.That(t, !(math.Abs(got-2) > 0.15), "noise %g, want 2", got)
	require.That(t, noise([]float64{7}) == 0 && noise([]float64{1, 3}) > 0 && noise([]float64{1, 3}) == noise([]float64{1, 3, 5}), "noise %g of two values", noise([]float64{1, 3}))
}

// grown are the values of points over four revisions: each row is a point, and - a revision that lacks it.
const grown = `
e x/k    1000 1000 1100  550
e x/b     400  400  400  400
e x/r       0    5    5    5
e x/gone  700  800    -    -
e x/back  300    -    -  450
e x/down  900  300  300  290
e x/up     10   11   12   13
e x/half  500  400  390  380
f y/k     7.5  7.5  7.5 8.25
`

// revisions makes results of the points that are grown. Points of f have two replicates each.
func revisions(t *testing.T) []Revision {
	all := []Revision{
		{Name: "runs, old", Set: &results.Set{}},
		{Name: `the "fast" one`, Date: "2026-01-02", Set: &results.Set{}},
		{Name: "r3", Date: "2026-01-03", Subject: "a change", Set: &results.Set{}},
		{Name: "r4", Date: "2026-01-04", Subject: "another", Set: &results.Set{}},
	}
	for _, line := range strings.Split(strings.TrimSpace(grown), "\n") {
		f := strings.Fields(line)
		for i, cycles := range f[2:] {
			if cycles == "-" {
				continue
			}
			machine, probe, _ := strings.Cut(f[1], "/")
			p := results.Point{Experiment: f[0], Machine: machine, ISA: "i386", Era: "2010", CPUs: 1, Seed: 3, Probe: probe}
			for p.Replicate = range map[string]int{"e": 1, "f": 2}[f[0]] {
				require.NoError(t, all[i].Set.Add(
					results.Record{Point: p, Metric: results.MetricPublished, Unit: "us", Value: resultstest.Value(t, "7"), Role: results.Measured},
					results.Record{Point: p, Metric: "cycles_per_hit", Unit: "cycles", Value: resultstest.Value(t, cycles), Role: results.Simulated},
					results.Record{Point: p, Metric: "hits", Unit: "hits", Value: resultstest.Value(t, "8"), Role: results.Simulated},
				))
			}
		}
	}
	return all
}

var update = flag.Bool("update", false, "write the golden file of this package again")

// TestPages compares all that is shown of the revisions with a golden file: tables of steps, figures and values.
func TestPages(t *testing.T) {
	revs := revisions(t)
	merits := Merits(revs, Gather(revs, nil))
	var b bytes.Buffer
	for _, m := range merits {
		l := m.Figure()
		fmt.Fprintf(&b, "%s\n%+v\n", m.Table().Text(), l.Frame)
		for _, s := range l.Series {
			fmt.Fprintf(&b, "%s: %.4g\n", s.Name, s.Points)
		}
		b.WriteString("\n")
		require.NoError(t, require.Err(figures.Render(l, "x")))
	}
	values := require.Must(CSV(merits))(t)
	require.Golden(t, *update, "pages.txt", append(b.Bytes(), values...))
	rows, err := csv.NewReader(bytes.NewReader(values)).ReadAll()
	require.That(t, err == nil && rows[1][0] == "runs, old", "history.csv is not read as it was written: %v", err)
	s := Gather(revs, []string{"hits", "cycles_per_hit"})
	require.That(t, len(s) == 2*9, "%d series of two metrics and nine points", len(s))
}

// TestLevel is the mean, and of equal values exactly they.
func TestLevel(t *testing.T) {
	require.That(t, level([]float64{1, 2, 6}) == 3 && level([]float64{0.1, 0.1, 0.1}) == 0.1, "levels %v and %v", level([]float64{1, 2, 6}), level([]float64{0.1, 0.1, 0.1}))
}

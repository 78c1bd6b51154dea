package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/figures"
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
			if d := got[i] - x.want[i]; d < -1 || d > 1 {
				t.Errorf("steps of %v are at %v, want %v", x.values, got, x.want)
			}
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
	if got := noise(values); math.Abs(got-2) > 0.15 {
		t.Errorf("noise %g, want 2", got)
	}
}

// revisions makes results of one experiment: of each revision the cycles of two points, the first of which moves.
func revisions(t *testing.T, cycles ...int64) (all []Revision) {
	for i, c := range cycles {
		set := &results.Set{}
		for probe, v := range map[string]int64{"k": c, "b": 400} {
			value, err := results.Ratio(v, 1)
			require.NoError(t, err)
			p := results.Point{Experiment: "e", Machine: "m", ISA: "i386", Era: "2010", CPUs: 1, Probe: probe}
			require.NoError(t, set.Add(
				results.Record{Point: p, Metric: results.MetricPublished, Unit: "us", Value: value, Role: results.Measured},
				results.Record{Point: p, Metric: "cycles_per_hit", Unit: "cycles", Value: value, Role: results.Simulated},
				results.Record{Point: p, Metric: "hits", Unit: "hits", Value: value, Role: results.Simulated},
			))
		}
		all = append(all, Revision{Name: fmt.Sprint("r", i), Date: fmt.Sprintf("2026-01-%02d", i+1), Subject: fmt.Sprint("change ", i), Set: set})
	}
	return all
}

// TestTable names the revision of each step, and not the revisions that moved nothing.
func TestTable(t *testing.T) {
	revs := revisions(t, 1000, 1000, 1100, 1100, 550)
	merits := Merits(revs, Gather(revs, nil))
	if len(merits) != 1 {
		t.Fatalf("%d figures of merit, want the first metric alone", len(merits))
	}
	want := `e: cycles_per_hit

                   points  largest  before   after
since  date         moved   change  cycles  cycles  at
---------------------------------------------------------------------
r2     2026-01-03       1    +10 %    1000    1100  k on m, i386 2010
r4     2026-01-05       1    -50 %    1100     550  k on m, i386 2010

5 revisions, from r0 (2026-01-01) to r4 (2026-01-05)
1 of 2 points kept their level
r2: change 2
r4: change 4
`
	if got := merits[0].Table().Text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	lines := strings.Split(strings.TrimSpace(string(CSV(merits))), "\n")
	if len(lines) != 1+2*5 || !slices.Contains(lines, "r2,2026-01-03,e,m,i386,2010,1,0,k,cycles_per_hit,cycles,1100,true") ||
		!slices.Contains(lines, "r3,2026-01-04,e,m,i386,2010,1,0,k,cycles_per_hit,cycles,1100,false") {
		t.Errorf("CSV:\n%s", strings.Join(lines, "\n"))
	}
	if _, err := figures.Render(merits[0].Figure(), "x"); err != nil {
		t.Error(err)
	}
	if s := Gather(revs, []string{"hits", "cycles_per_hit"}); len(s) != 4 {
		t.Errorf("%d series of two metrics and two points", len(s))
	}
}

// TestAppearing follows a point that some revisions lack. Its step stands at the first revision that has the new level.
func TestAppearing(t *testing.T) {
	revs := revisions(t, 1000, 1000, 1000, 1200)
	revs[0].Set, revs[2].Set = &results.Set{}, &results.Set{}
	s := Gather(revs, nil)
	i := slices.IndexFunc(s, func(s *Series) bool { return s.Point.Probe == "k" })
	if got, want := s[i].Steps(), (Step{1, 3, 1000, 1200}); len(got) != 1 || got[0] != want {
		t.Errorf("steps %v, want %v", got, want)
	}
}

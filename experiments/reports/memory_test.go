package reports_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
)

// longSweep plans the toy experiment with so many values of a sweep, and no figures.
func longSweep(t testing.TB, values int) *schema.Plan {
	t.Helper()
	dir := t.TempDir()
	exptest.Write(t, dir, "machine.toml", exptest.ToyMachine)
	text := strings.Replace(exptest.ToyExperiment, `figures = ["overhead", "phases"]`, "figures = []", 1)
	p, err := exptest.ToyLoader().Plan(exptest.Write(t, dir, "toy.toml",
		text+"[sweep]\nworkload.args = ["+upTo(50, "[1, %d]")+"]\nworkload.hits = ["+upTo(values/50, "%d")+"]\n"), nil)
	require.NoError(t, err)
	return p
}

// upTo lists numbers from 1, each in a form.
func upTo(n int, form string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(form, i+1)
	}
	return strings.Join(list, ", ")
}

// withProfile is a measure whose points have a profile.
func withProfile(encoded func() []byte) running.Measure {
	return func(pt *schema.Point) (*kinds.Measurement, error) {
		m, err := exptest.ToyMeasure(pt)
		m.Profile = encoded()
		return m, err
	}
}

// occupied is the heap that is in use.
func occupied() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestManyPointsTakeLittle runs a sweep of many points, each with a large profile, and bounds what is kept of each.
func TestManyPointsTakeLittle(t *testing.T) {
	const large, most = 100 << 10, 8 << 10 // bytes of a profile, and of what may be kept of a point
	before := occupied()
	p := longSweep(t, 300)
	measure := withProfile(func() []byte { return make([]byte, large) })
	r := collected(p, running.FewProfiles(p, measure))
	require.NoError(t, r.Err())
	points := int64(len(p.Points))
	each := (occupied() - before - running.MostProfiles*large) / points
	require.That(t, points >= 600 && each <= most, "%d points: %d bytes of each are kept, want at most %d", points, each, most)
	t.Logf("%d points, %d bytes each", points, each)
	runtime.KeepAlive(r)
}

// TestProfileSaysWhatItLacks has more points than a profile takes: it has the first ones, and says how many it lacks.
func TestProfileSaysWhatItLacks(t *testing.T) {
	p := longSweep(t, 150)
	var b bytes.Buffer
	one := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cycles", Unit: "count"}}, Sample: []*profile.Sample{{Value: []int64{1}}},
	}
	require.NoError(t, one.Write(&b))
	measure := running.FewProfiles(p, withProfile(b.Bytes))
	files := require.Must(reports.Collect(p).Report((&running.Runner{Measure: measure}).Run(p)).Files())(t)
	whole := require.Must(profile.ParseData(files[reports.ProfileName]))(t)
	left := len(p.Points) - running.MostProfiles
	want := fmt.Sprintf("the first %d points; %d more are left out", running.MostProfiles, left)
	require.That(t, left > 0 && len(whole.Comments) == 1 && whole.Comments[0] == want && len(whole.Sample) == running.MostProfiles, "%d samples, comments %q, want %q", len(whole.Sample), whole.Comments, want)
	p.Points = p.Points[:running.MostProfiles]
	files = require.Must(reports.Collect(p).Report((&running.Runner{Measure: measure}).Run(p)).Files())(t)
	all := require.Must(profile.ParseData(files[reports.ProfileName]))(t)
	require.That(t, len(all.Comments) == 0 && len(all.Sample) == running.MostProfiles, "nothing is left out, but: %q", all.Comments)
	for i, s := range whole.Sample {
		name := p.Points[i].Name
		require.That(t, s.Label["probe"][0] == name, "sample %d is of %v, want %s", i, s.Label, name)
	}
}

// collected runs a plan and has its records made as points end.
func collected(p *schema.Plan, measure running.Measure) *reports.Report {
	c := reports.Collect(p)
	return c.Report((&running.Runner{Measure: measure, Workers: 2, Progress: func(_, _ int, o *running.Outcome) { c.Take(o) }}).Run(p))
}

// BenchmarkPoints plans, collects and writes sweeps of several sizes. What a point takes of time and memory must not grow.
func BenchmarkPoints(b *testing.B) {
	for _, n := range []int{200, 2_000, 20_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				before := occupied()
				p := longSweep(b, n/2) // the toy has two points
				r := collected(p, exptest.ToyMeasure)
				b.ReportMetric(float64(occupied()-before)/float64(n), "kept-B/point")
				for _, table := range r.Tables() {
					_ = table.Text()
				}
				require.NoError(b, r.Write(filepath.Join(b.TempDir(), "out")))
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "us/point")
		})
	}
}

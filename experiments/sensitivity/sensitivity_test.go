package sensitivity

import (
	"math"
	"math/big"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/machines"
	"kprobesim/results/figures"
	"kprobesim/results/formats"
)

// TestEnds spreads numbers of every kind.
func TestEnds(t *testing.T) {
	share := func(percent float64) machines.Uncertainty { return machines.Uncertainty{Amount: percent} }
	stated := machines.Uncertainty{Amount: 30, Stated: true}
	for _, c := range []struct {
		path, value, source string
		u                   machines.Uncertainty
		low, high           string
	}{
		{"event.a.cycles", "15", "book: 1", share(10), "13.5", "16.5"},
		{"event.a.cycles", "1/3", "book: 1", share(10), "0.3", "22/60"},
		{"cost.a.latency", "1", "book: 1", share(1), "59/60", "61/60"},
		{"event.a.more", "0", "prior: same", machines.Uncertainty{Amount: 100, Cycles: true, Stated: true}, "", "100"},
		{"event.a.cycles", "40", "prior: same", machines.Uncertainty{Amount: 100, Cycles: true, Stated: true}, "0", "140"},
		{"cost.a.latency", "0", "book: 1", share(10), "", ""},
		{"cache.l2.size", "6 MiB", "book: 1", share(10), "", ""},
		{"cache.l2.size", "6 MiB", "book: 1", stated, "3 MiB", "12 MiB"},
		{"predictor.table_bits", "12", "prior: mine", share(30), "11", "13"},
		{"core.window", "96", "prior: mine", share(30), "67", "125"},
		{"core.width", "2", "prior: mine", share(50), "1", "3"},
		{"cost.a.uops", "1", "prior: mine", share(30), "", "2"},
		{"clock.frequency", "2 GHz", "prior: mine", share(30), "", ""},
	} {
		m := &machines.Machine{Params: []machines.Param{{Path: c.path, Value: c.value, Source: c.source, Uncertainty: c.u}}}
		vary, left := numbers(m)
		var low, high string
		if len(vary) == 1 {
			low, high = vary[0].Low, vary[0].High
		}
		require.That(t, low == c.low && high == c.high && len(vary)+left.Exact+left.Zero == 1, "%s = %s by %s: from %q to %q, want %q to %q", c.path, c.value, c.u, low, high, c.low, c.high)
	}
}

// TestTop has the effects of a row by their size, equal ones in their order, without those that move less than the least.
func TestTop(t *testing.T) {
	moved := func(cycles int64) []*big.Rat { return []*big.Rat{big.NewRat(100000+cycles, 1)} }
	a := &Analysis{base: moved(0)}
	for _, m := range [][2]int64{{50, 0}, {0, -49}, {-100, 60}, {0, 100}, {300, -20}} {
		a.Effects = append(a.Effects, Effect{AtLow: moved(m[0]), AtHigh: moved(m[1])})
	}
	for most, want := range map[int]string{2: "300 -100", 9: "300 -100 0 50"} {
		var low []string
		for _, e := range a.Top(0, most) {
			low = append(low, new(big.Rat).Sub(e.AtLow[0], a.base[0]).RatString())
		}
		require.Equal(t, strings.Join(low, " "), want, "at most %d", most)
	}
}

// TestJoined moves issue and latency of a class that waits for everything together, and no others.
func TestJoined(t *testing.T) {
	param := func(path string) machines.Param {
		return machines.Param{Path: path, Value: "20", Source: "book: 1", Uncertainty: machines.Uncertainty{Amount: 10}}
	}
	m := &machines.Machine{Params: []machines.Param{
		param("cost.locked.issue"), param("cost.locked.latency"), param("cost.div.issue"), param("cost.div.latency"),
	}}
	m.CPU.Classes = map[string]cpus.Cost{"locked": {Issue: 1200, Latency: 1200, Serialize: true}, "div": {Issue: 1200, Latency: 1200}}
	vary, _ := numbers(m)
	var names []string
	for _, n := range vary {
		names = append(names, n.Name())
	}
	want := []string{"cost.locked", "cost.div.issue", "cost.div.latency"}
	require.That(t, slices.Equal(names, want), "numbers %q, want %q", names, want)
	got := vary[0].settings("18")
	require.That(t, slices.Equal(got, []string{"machine.cost.locked.issue=18", "machine.cost.locked.latency=18"}), "settings %q", got)
}

// measured gives k two traps and three mispredictions, b one of each, in cycles a hit.
func measured(p *schema.Point) (*kinds.Measurement, error) {
	trap, miss := p.Machine.CPU.Events["trap"], p.Machine.CPU.Events["mispredict"]
	per := trap + miss
	if p.Probe.Name == "k" {
		per = 2*trap + 3*miss
	}
	return &kinds.Measurement{
		Counts: kinds.Counts{Calls: p.Workload.Hits, Hits: p.Workload.Hits},
		Probed: kinds.Sample{Time: clock.Ticks(p.Workload.Hits) * (per + 600)},
		Base:   kinds.Sample{Time: clock.Ticks(p.Workload.Hits) * 600},
	}, nil
}

func analyse(t *testing.T, refit bool, sets ...string) *Analysis {
	t.Helper()
	a := require.Must(New(exptest.ToyLoader(), exptest.ToyFiles(t), sets, refit))(t)
	require.NoError(t, a.Run(&running.Runner{Measure: measured, Workers: 3}))
	return a
}

// TestRun finds the one sourced number that the toy's hits rest on. The mispredictions of k are 45 of 245
// cycles, b has 15 of 115, and the number may be off by 10 %.
func TestRun(t *testing.T) {
	a := analyse(t, false)
	require.Need(t, len(a.Effects) == 1 && a.Effects[0].Name() == "event.mispredict" && a.Left.Unused != 0 && a.Left.Fitted == 1, "effects %+v, left %+v", a.Effects, a.Left)
	e := &a.Effects[0]
	for row, want := range []float64{100 * 4.5 / 245, 100 * 1.5 / 115} {
		low, high := a.Percent(row, e.AtLow), a.Percent(row, e.AtHigh)
		if math.Abs(low+want) > 1e-9 || math.Abs(high-want) > 1e-9 || math.Abs(a.Together(row)-want) > 1e-9 {
			t.Errorf("row %d moves by %g and %g, together %g, want %g", row, low, high, a.Together(row), want)
		}
	}
	text := a.Table(5).Text()
	for _, want := range []string{"event.mispredict", "13.5", "16.5", "10 %, sourced", "1 of them move a row"} {
		require.That(t, strings.Contains(text, want), "the table has no %q:\n%s", want, text)
	}
}

// TestPhasesCountTogether wants one count of the points of all batches, whose total never grows.
func TestPhasesCountTogether(t *testing.T) {
	for _, refit := range []bool{false, true} {
		a := require.Must(New(exptest.ToyLoader(), exptest.ToyFiles(t), nil, refit))(t)
		before, most, all := 0, a.Most(), a.Most()
		err := a.Run(&running.Runner{Measure: measured, Workers: 1, Progress: func(done, total int, _ *running.Outcome) {
			require.That(t, done == before+1 && total <= most && done <= total, "%d of %d behind %d of %d", done, total, before, most)
			before, most = done, total
		}})
		require.That(t, err == nil && before != 0 && before == most, "it ended with %d of %d, %v", before, most, err)
		require.That(t, 3*before <= 2*all, "%d of %d points were measured: a cost that does nothing when it grows was lowered", before, all)
	}
}

// TestRefit has the fitted trap make up for the change: k stays, and b is off by half of what k would be,
// less its own.
func TestRefit(t *testing.T) {
	a := analyse(t, true)
	e := &a.Effects[0]
	require.Equal(t, a.Percent(0, e.AtHigh), 0, "the fitted figure moves by")
	b, want := a.Percent(1, e.AtHigh), 100*(1.5-4.5/2)/115
	require.That(t, !(math.Abs(b-want) > 1e-9), "b moves by %g %%, want %g", b, want)
	_, below := a.fit.apply(a.base, []*big.Rat{big.NewRat(900, 1), big.NewRat(500, 1)})
	require.Equal(t, below, "event.trap.cycles", "a fit far below zero is not noticed")
}

// TestFiles wants records of which the figure can be drawn again, and the settings of the options alone.
func TestFiles(t *testing.T) {
	files := require.Must(analyse(t, true, "workload.hits=500", "machine.event.trap.cycles=90").Files())(t)
	for _, name := range []string{"manifest.json", "results.csv", "tornado.svg", "tornado.pdf", "tornado.png"} {
		require.That(t, len(files[name]) != 0, "no %s", name)
	}
	s := require.Must(formats.ReadCSV("results.csv", strings.NewReader(string(files["results.csv"]))))(t)
	want := []string{"workload.hits=500", "machine.event.trap.cycles=90"}
	require.That(t, slices.Equal(s.Overrides, want), "settings %q, want %q", s.Overrides, want)
	chart := require.Must(figures.TornadoOf(s, figures.Frame{}, 8))(t)
	require.That(t, len(chart.Panels) == 1 && chart.Panels[0].Title == "b" && strings.Contains(strings.Join(chart.Caption, " "), "moves k"), "panels %+v, caption %q", chart.Panels, chart.Caption)
}

// TestRefuses says why an experiment cannot be analysed.
func TestRefuses(t *testing.T) {
	dir := filepath.Dir(exptest.ToyFiles(t))
	swept := exptest.Write(t, dir, "swept.toml", "base = \"./toy.toml\"\nname = \"swept\"\n[sweep]\n\"machine.event.mispredict.cycles\" = [1, 2]\n")
	plain := exptest.Write(t, dir, "plain.toml", "base = \"./toy.toml\"\nname = \"plain\"\n[workload]\ntarget = \"work_checksum\"\n")
	for _, c := range []struct {
		name  string
		sets  []string
		refit bool
		want  string
	}{
		{exptest.CollectionFiles(t), nil, false, "name one of them"},
		{swept, nil, false, "sweeps its machine"},
		{filepath.Join(dir, "toy.toml"), []string{"replicates=2"}, false, "so set replicates=1"},
		{plain, nil, true, "leave --refit away"},
		{filepath.Join(dir, "toy.toml"), []string{"workload.target=work_checksum"}, true, "leave --refit away"},
		{filepath.Join(dir, "none.toml"), nil, false, "does not exist"},
	} {
		require.Error(t, require.Err(New(exptest.ToyLoader(), c.name, c.sets, c.refit)), c.want, "%s %v", c.name, c.sets)
	}
}

// TestEliminate solves two equations and refuses what has no single solution.
func TestEliminate(t *testing.T) {
	rat := func(v ...int64) (out []*big.Rat) {
		for _, x := range v {
			out = append(out, big.NewRat(x, 1))
		}
		return out
	}
	got := eliminate([][]*big.Rat{rat(0, 2, 6), rat(3, 1, 9)})
	require.That(t, len(got) == 2 && got[0].Cmp(big.NewRat(2, 1)) == 0 && got[1].Cmp(big.NewRat(3, 1)) == 0, "solution %v, want 2 and 3", got)
	if got := eliminate([][]*big.Rat{rat(1, 2, 3), rat(2, 4, 6)}); got != nil {
		t.Errorf("solution %v of equations that have many", got)
	}
}

// TestNotesOfAFit tell what becomes of fitted numbers, where there are any.
func TestNotesOfAFit(t *testing.T) {
	for _, x := range []struct {
		fitted int
		fit    *refit
		want   string
	}{{0, nil, ""}, {2, nil, "the fitted numbers stay"}, {2, &refit{}, "what is fitted is fitted again"}} {
		a := &Analysis{Machine: &machines.Machine{}, Left: Left{Fitted: x.fitted}, fit: x.fit}
		text := strings.Join(a.notes()[2:], "\n")
		require.That(t, strings.HasPrefix(text, x.want) && (text == "") == (x.want == ""), "%d fitted: %q; want %q", x.fitted, text, x.want)
	}
}

// TestCollectionsAreRefused names the experiments of a collection, also of one.
func TestCollectionsAreRefused(t *testing.T) {
	err := (&Analysis{}).check(&schema.Plan{Name: "all", Kind: schema.KindOverhead, Collected: []string{"one"}})
	require.Error(t, err, "all collects experiments on several machines: name one of them: [one]", "a collection of one")
}

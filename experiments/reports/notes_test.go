package reports

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/compare"
	"kprobesim/results/figures"
	"kprobesim/results/outdir"
)

// value is a number of a test.
func value(t *testing.T, text string) results.Value {
	t.Helper()
	v := require.Must(results.ParseValue(text))(t)
	return v
}

// judged is a report with records of probes, on figures that were measured again if repeats says by how much.
func judged(t *testing.T, repeats string, records ...results.Record) *Report {
	t.Helper()
	set := &results.Set{}
	for _, r := range records {
		r.Experiment, r.CPUs, r.Unit, r.ISA, r.Machine, r.Era = "e", 1, "%", "isa", "m", "2010"
		require.NoError(t, set.Add(r))
	}
	pub := &schema.Published{Micros: value(t, "1.00"), Source: "s"}
	if repeats != "" {
		pub.Repeats = schema.Repeats{Percent: value(t, repeats), Source: "s"}
	}
	plan := &schema.Plan{Points: []schema.Point{{}, {Probe: schema.Probe{Published: pub}}}}
	return &Report{Plan: plan, Set: set, Means: set}
}

func record(t *testing.T, probe, metric, number string, role results.Role) results.Record {
	t.Helper()
	return results.Record{Point: results.Point{Probe: probe}, Metric: metric, Value: value(t, number), Role: role}
}

// Each role that times of hits have is named once, and no other.
func TestRoles(t *testing.T) {
	r := judged(t, "", record(t, "a", results.MetricCycles, "5", results.Simulated), record(t, "b", results.MetricMicros, "5", results.Fitted),
		record(t, "c", results.MetricCycles, "5", results.Simulated), record(t, "d", results.MetricError, "5", results.Measured))
	k := &Kept{Set: r.Set, Means: r.Means}
	got := k.roles()
	require.That(t, slices.Equal(got, []string{string(results.Simulated), string(results.Fitted)}), "%q", got)
}

// TestCountsOfCalls records calls, hits and what was missed as numbers, unless each call was one hit, and none twice.
func TestCountsOfCalls(t *testing.T) {
	for _, x := range []struct {
		counts kinds.Counts
		want   string
	}{
		{kinds.Counts{Calls: 5, Hits: 5}, "[hits=9]"},
		{kinds.Counts{Calls: 5, Hits: 4, Missed: 1, Returns: 3}, "[hits=9 calls=5 hits_missed=1 returns_missed=3]"},
	} {
		w := &recorder{at: results.Point{Experiment: "e", Machine: "m", ISA: "isa", Era: "2010", CPUs: 1, Probe: "k"}, role: results.Simulated}
		w.ratio(results.MetricHits, "hits", 9, 1)
		w.counts(x.counts)
		var got []string
		for _, r := range w.out {
			got = append(got, r.Metric+"="+r.Value.String())
		}
		require.That(t, w.err == nil && fmt.Sprint(got) == x.want, "%+v: %v, %v; want %s", x.counts, got, w.err, x.want)
	}
}

// Repeats that are beyond all numbers are an error of the report.
func TestDoubtsOverflow(t *testing.T) {
	w := &recorder{}
	w.doubts(value(t, "1"), &schema.Published{Micros: value(t, "4000000000000"), Repeats: schema.Repeats{Percent: value(t, "1000000000")}})
	if w.err == nil || !strings.HasPrefix(w.err.Error(), results.MetricRepeats) {
		t.Error(w.err)
	}
}

// Watchpoints that cost nothing have no bar.
func TestIdleWatchpoints(t *testing.T) {
	r := judged(t, "", record(t, "idle", results.MetricCycles, "0.9", results.Simulated), record(t, "hit", results.MetricCycles, "1", results.Simulated))
	f := require.Must(drawWatchpoints(r.Set))(t)
	got := f.(*figures.Bars).Groups
	require.That(t, slices.Equal(got, []string{"hit"}), "bars of %q", got)
}

// What rounding and repeats leave of an error is named for each prediction that has such a rest, and for no fitted figure. A
// report without repeats says nothing of it, and one whose errors all lie within says that.
func TestUnexplained(t *testing.T) {
	rest := func(probe, number string, role results.Role) results.Record {
		return record(t, probe, results.MetricUnexplained, number, role)
	}
	all := []results.Record{
		rest("k", "9", results.Fitted), rest("o", "-12.34", results.Predicted), rest("r", "0", results.Predicted), rest("rb", "3", results.Predicted),
		record(t, "b", results.MetricError, "50", results.Predicted),
	}
	for _, tt := range []struct {
		repeats string
		records []results.Record
		want    []string
	}{
		{"2", all, []string{"beyond rounding and repeats: o of e by 12.3 %, rb of e by 3.0 %"}},
		{"", all, nil},
		{"0", all, nil},
		{"2", all[:1], []string{"no error of a prediction exceeds the rounding and the repeats of its published figure"}},
		{"2", all[2:3], []string{"no error of a prediction exceeds the rounding and the repeats of its published figure"}},
		{"", all[:1], nil},
	} {
		got := judged(t, tt.repeats, tt.records...).unexplained()
		require.That(t, slices.Equal(got, tt.want), "repeats %q, %d records: %q, want %q", tt.repeats, len(tt.records), got, tt.want)
	}
}

// The mean of errors is that of their sizes, of predictions alone, and the largest is named.
func TestPredictions(t *testing.T) {
	set := judged(t, "", record(t, "k", results.MetricError, "90", results.Fitted), record(t, "o", results.MetricError, "-42.15", results.Predicted),
		record(t, "r", results.MetricError, "8.05", results.Predicted), record(t, "rb", results.MetricCycles, "99", results.Predicted)).Means
	got, want := predictions(set), "2 predictions: mean absolute error 25.1 %, largest 42.2 % (o of e)"
	require.That(t, got == want, "%q, want %q", got, want)
	exact := judged(t, "", record(t, "o", results.MetricError, "0", results.Predicted), record(t, "r", results.MetricError, "0", results.Predicted)).Means
	if got, want := predictions(exact), "2 predictions: mean absolute error 0.0 %"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	one := judged(t, "", record(t, "o", results.MetricError, "2", results.Predicted)).Means
	if got, want := predictions(one), "1 prediction: mean absolute error 2.0 %, largest 2.0 % (o of e)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	require.Equal(t, predictions(&results.Set{}), "", "nothing was predicted")
}

// A directory without a list of hashes is not read, nor is one whose list is damaged. Of what the list has, a changed figure is
// left out, and other files that were changed or are gone are errors.
func TestListOfHashes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	must := func(name string) bool { return name != "phases.svg" && name != "phases.pdf" }
	refused := func(what, want string) {
		t.Helper()
		require.Error(t, require.Err(readDir(dir, must)), want, "%s", what)
	}
	refused("no manifest", "is no results directory")
	write(outdir.ManifestName, "y")
	refused("no list", "has no "+outdir.SumsName)
	write(outdir.SumsName, "no list\n")
	refused("a damaged list", `line "no list`)
	sum := strings.TrimPrefix(outdir.Hash([]byte("y")), "sha256:")
	list := ""
	for _, name := range []string{ResultsName, outdir.ManifestName, "phases.svg", "phases.pdf"} {
		list += sum + "  " + name + "\n"
		write(name, "y")
	}
	write(outdir.SumsName, list)
	write("phases.svg", "by hand")
	files, err := readDir(dir, must)
	require.That(t, err == nil && len(files) == 3 && files["phases.svg"] == nil, "a figure that somebody drew: %d files, %v", len(files), err)
	write(ResultsName, "by hand")
	refused("results that somebody changed", ResultsName+" is not as it was written")
	require.NoError(t, os.Remove(filepath.Join(dir, ResultsName)))
	refused("results that are gone", ResultsName+" is not there")
}

// TestColumnsAreMeasured wants every column of a kind to be a metric of its baselines. One that is left out where all is zero
// may have none.
func TestColumnsAreMeasured(t *testing.T) {
	for _, kind := range planning.Kinds() {
		p, known := presentationOf(kind)
		require.That(t, known, "kinds.toml has no kind %s", kind)
		if kind == schema.KindOverhead || schema.Packaged(kind) {
			continue // these have a table of their own, or another name
		}
		metrics := map[string]bool{}
		files, _ := filepath.Glob("../../results/baselines/" + kind + "*.csv") // the pattern is well-formed
		for _, f := range files {
			s := require.Must(compare.LoadBaseline(f))(t)
			for r := range s.All() {
				metrics[r.Metric] = true
			}
		}
		for _, c := range p.columns {
			require.That(t, c.DropZero || metrics[c.Metric], "%s: no baseline has %s", kind, c.Metric)
		}
	}
}

// TestPhasesBelowZero names the phases of a packaged kernel that cannot be drawn, and no others.
func TestPhasesBelowZero(t *testing.T) {
	for entry, want := range map[string]string{"-5": ": entry of k (-5)", "-1": ""} {
		r := judged(t, "", record(t, "k", results.MetricCycles, "95", results.Simulated), record(t, "k", results.PhaseMetric("entry"), entry, results.Simulated),
			record(t, "k", results.PhaseMetric("step"), "100", results.Simulated))
		f := require.Must(stackLinux(r.Means, "title ", "what it shows"))(t)
		text := figures.Caption(f)
		require.That(t, strings.Contains(text, "drawn as none") == (want != "") && strings.Contains(text, want), "%s cycles of entry: %s", entry, text)
	}
}

// TestErrorText signs an error but none of nothing, and has none of what was published as zero.
func TestErrorText(t *testing.T) {
	for _, x := range []struct {
		simulated, published float64
		want                 string
	}{{5, 0, "-"}, {0, 0, "-"}, {4, 4, "0.0"}, {5, 4, "+25.0"}, {3, 4, "-25.0"}, {3, -4, "+175.0"}} {
		require.Equal(t, errorText(x.simulated, x.published), x.want, "%g published as %g", x.simulated, x.published)
	}
}

// TestWishedOfACollection says of a figure where the points are from that have its metric.
func TestWishedOfACollection(t *testing.T) {
	s := &results.Set{}
	for i, metrics := range [][]string{{results.MetricCycles}, {results.MetricCycles, results.MetricPublished}, {results.MetricCycles, results.MetricPublished}} {
		for _, probe := range []string{"k", "b"} {
			for _, metric := range metrics {
				at := results.Point{Experiment: fmt.Sprint("e", i), Machine: fmt.Sprint("m", i), ISA: "isa", Era: "2010", CPUs: 1, Probe: probe}
				require.NoError(t, s.Add(results.Record{Point: at, Metric: metric, Unit: "u", Value: value(t, "7"), Role: results.Simulated}))
			}
		}
	}
	for metric, want := range map[string]string{
		"": ": 3 machines and kernels. ", results.MetricCycles: ": 3 machines and kernels. ", results.MetricPublished: ": 2 machines and kernels. ", "none": `the metric "none"`,
	} {
		s.Wish = results.Wish{X: "probe", Metric: metric, Title: "mine"}
		f, err := drawWished(s)
		said := fmt.Sprint(err)
		if err == nil {
			said = figures.Alt(f)
		}
		require.That(t, strings.Contains(said, want), "metric %q: %s, want %s", metric, said, want)
	}
}

// TestLeastActive has the smallest maxactive that loses no call, for each combination of other keys that has one.
func TestLeastActive(t *testing.T) {
	s := &results.Set{}
	add := func(probe, missed string) {
		at := results.Point{Experiment: "e", Machine: "m", ISA: "isa", Era: "2010", CPUs: 1, Probe: probe}
		require.NoError(t, s.Add(results.Record{Point: at, Metric: kinds.MetricMissed, Unit: "calls", Value: value(t, missed), Role: results.Simulated}))
	}
	for _, more := range [][]string{{"r/cpus=1/n=2", "1"}, {"r/cpus=1/n=8", "0"}, {"r/cpus=2/n=8", "3"}, {"r/cpus=1/n=4", "0"}, {"r/cpus=1/n=0", "0"}} {
		_, err := leastActive(s, "n")
		require.That(t, (err == nil) == (s.Len() > 1), "%d points: %v", s.Len(), err)
		add(more[0], more[1])
	}
	var got []string
	for r := range require.Must(leastActive(s, "n"))(t).All() {
		got = append(got, r.Probe+" "+r.Value.String())
	}
	require.Equal(t, strings.Join(got, ", "), "r/cpus=1 4", "least")
	require.Equal(t, Placed("title", nil), "title", "no points")
}

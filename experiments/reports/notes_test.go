package reports

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/schema"
	"kprobesim/results"
	"kprobesim/results/outdir"
)

// value is a number of a test.
func value(t *testing.T, text string) results.Value {
	t.Helper()
	v, err := results.ParseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// judged is a report with records of probes, on figures that were measured again if repeats says by how much.
func judged(t *testing.T, repeats string, records ...results.Record) *Report {
	t.Helper()
	set := &results.Set{}
	for _, r := range records {
		r.Experiment, r.CPUs, r.Unit, r.ISA, r.Machine, r.Era = "e", 1, "%", "isa", "m", "2010"
		if err := set.Add(r); err != nil {
			t.Fatal(err)
		}
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
		if got := judged(t, tt.repeats, tt.records...).unexplained(); !slices.Equal(got, tt.want) {
			t.Errorf("repeats %q, %d records: %q, want %q", tt.repeats, len(tt.records), got, tt.want)
		}
	}
}

// The mean of errors is that of their sizes, of predictions alone, and the largest is named.
func TestPredictions(t *testing.T) {
	set := judged(t, "", record(t, "k", results.MetricError, "90", results.Fitted), record(t, "o", results.MetricError, "-42.15", results.Predicted),
		record(t, "r", results.MetricError, "8.05", results.Predicted), record(t, "rb", results.MetricCycles, "99", results.Predicted)).Means
	if got, want := predictions(set), "2 predictions: mean absolute error 25.1 %, largest 42.2 % (o of e)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	exact := judged(t, "", record(t, "o", results.MetricError, "0", results.Predicted), record(t, "r", results.MetricError, "0", results.Predicted)).Means
	if got, want := predictions(exact), "2 predictions: mean absolute error 0.0 %"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	one := judged(t, "", record(t, "o", results.MetricError, "2", results.Predicted)).Means
	if got, want := predictions(one), "1 prediction: mean absolute error 2.0 %, largest 2.0 % (o of e)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := predictions(&results.Set{}); got != "" {
		t.Errorf("nothing was predicted: %q", got)
	}
}

// A directory without a list of hashes is not drawn, nor is one whose list cannot be read.
func TestListOfHashes(t *testing.T) {
	files := map[string][]byte{ResultsName: []byte("x"), "phases.svg": []byte("y")}
	dir := t.TempDir()
	if err := asWritten(dir, files); err == nil || !strings.Contains(err.Error(), "has no "+outdir.SumsName) || len(files) != 2 {
		t.Errorf("no list: %v, %d files", err, len(files))
	}
	if err := os.WriteFile(filepath.Join(dir, outdir.SumsName), []byte("no list\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := asWritten(dir, files); err == nil || !strings.Contains(err.Error(), `line "no list`) || len(files) != 2 {
		t.Errorf("a damaged list: %v, %d files", err, len(files))
	}
	sum := strings.TrimPrefix(outdir.Hash([]byte("y")), "sha256:")
	if err := os.WriteFile(filepath.Join(dir, outdir.SumsName), []byte(sum+"  phases.svg\n"+sum+"  phases.pdf\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := asWritten(dir, files); err != nil || files["phases.svg"] == nil || len(files) != 2 {
		t.Errorf("a figure as it was written, and one that is gone: %v, %d files", err, len(files))
	}
	files["phases.svg"] = []byte("by hand")
	if err := asWritten(dir, files); err != nil || files["phases.svg"] != nil || files[ResultsName] == nil {
		t.Errorf("a figure that somebody drew: %v, %d files", err, len(files))
	}
	if err := os.WriteFile(filepath.Join(dir, outdir.SumsName), []byte(sum+"  "+ResultsName+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := asWritten(dir, files); err == nil || !strings.Contains(err.Error(), ResultsName) {
		t.Errorf("results that somebody changed: %v", err)
	}
	delete(files, ResultsName)
	if err := asWritten(dir, files); err == nil || !strings.Contains(err.Error(), ResultsName) {
		t.Errorf("results that are gone: %v", err)
	}
}

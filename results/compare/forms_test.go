package compare

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

// written is one comparison in every form.
func written(t *testing.T) map[string]string {
	c := Compare(sides(t), rules(t, "[[waivers]]\nprobe = \"o\"\nreason = \"a,b: 50%\"\nexpires = \"2026-03-01\""))
	out := map[string]string{}
	for _, f := range Formats() {
		b := require.Must(f.Write([]*Comparison{c}))(t)
		out[f.Name] = string(b)
	}
	return out
}

// unusual is a finding on several CPUs of a replicate that was zero, with parts and more metrics behind it than are named, and a record that
// stands alone on each side.
func unusual(t *testing.T) *Comparison {
	record := func(metric, value string) results.Record {
		return results.Record{Point: results.Point{Machine: "m", ISA: "i386", Era: "2005", Probe: "k", CPUs: 2, Seed: 12, Replicate: 1}, Metric: metric, Unit: "us", Value: resultstest.Value(t, value)}
	}
	differ := func(old, now string) Change { return change(record("us_per_hit", old), record("us_per_hit", now)) }
	f := Finding{Change: differ("0", "0.5"), Parts: []Change{differ("3", "1")}, Follow: strings.Fields("a b c d e f"), Verdict: Moved}
	return &Comparison{
		Name: "u", Old: "old", New: "new", Records: 9, Causes: []string{"one", "two"}, Notes: []string{"a note"},
		Places: []Place{{Point: f.New.Point, Findings: []Finding{f, {Change: differ("2", "1"), Verdict: allowed, Why: "rule"}}, Missing: []results.Record{record("gone", "1")}, Added: []results.Record{record("new", "2")}}},
	}
}

// TestEveryForm holds what each form writes of findings of every kind, and of a comparison that found nothing.
func TestEveryForm(t *testing.T) {
	all := []*Comparison{Compare(sides(t), rules(t, "[[waivers]]\nprobe = \"o\"\nreason = \"a,b: 50%\"\nexpires = \"2026-03-01\"")), unusual(t), {Name: "same", Old: "o", Records: 3}}
	var out strings.Builder
	for _, f := range Formats() {
		fmt.Fprintf(&out, "-- %s\n%s", f.Name, require.Must(f.Write(all))(t))
	}
	require.Golden(t, *update, "forms.txt", []byte(out.String()))
}

func TestJSON(t *testing.T) {
	text := written(t)["json"]
	var parsed []struct {
		Failed bool
		Inputs []string `json:"inputs_that_differ"`
		Points []struct {
			Probe    string
			Findings []struct{ Metric, Old, New, Percent, Verdict string }
		}
	}
	err := json.Unmarshal([]byte(text), &parsed)
	require.Need(t, err == nil && parsed[0].Failed && len(parsed[0].Inputs) == 3 && len(parsed[0].Points) == 4, "%v\n%s", err, text)
	f := parsed[0].Points[3].Findings[0]
	require.That(t, f.Metric == "cycles_per_hit" && f.Old == "100" && f.New == "102" && f.Percent == "2" && f.Verdict == "moved", "%+v", f)
}

func TestJUnit(t *testing.T) {
	text := written(t)["junit"]
	var j suites
	if err := xml.Unmarshal([]byte(text), &j); err != nil || j.Suites[0].Tests != 4 || j.Suites[0].Failures != 3 || j.Suites[0].Skipped != 1 {
		t.Errorf("%v\n%s", err, text)
	}
	s := sides(t)
	s.New = s.Old
	b, err := writeJUnit([]*Comparison{Compare(s, nil)})
	require.That(t, err == nil && strings.Contains(string(b), `<testcase classname="e" name="9 records"></testcase>`), "%v\n%s", err, b)
}

package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompareEqual(t *testing.T) {
	d := Compare(sample(t), sample(t))
	if !d.Empty() {
		t.Errorf("equal sets differ: %+v", d)
	}
}

// moved is the sample with one of each kind of difference.
func moved(t *testing.T) *Set {
	now := &Set{}
	for _, r := range sample(t).Records() {
		r.Source = "elsewhere" // does not count
		switch r.Probe + " " + r.Metric {
		case "k " + MetricCycles:
			r.Value = value(t, "2306.700001")
		case "b " + MetricCycles:
			r.Role = Predicted
		case "ro " + MetricPublished:
			r.Value = value(t, "0.3")
		case "k " + PhaseMetric("detour"):
			r.Value = value(t, "7")
		case "r " + MetricInstructions:
			r.Value, r.Unit = value(t, "280"), "insns"
		case "o " + MetricError:
			continue
		}
		check(t, now.Add(r))
	}
	p := now.Points()[0]
	p.Probe = "j"
	check(t, now.Add(Record{Point: p, Metric: MetricCycles, Unit: "cycles", Value: value(t, "99"), Role: Predicted}))
	return now
}

func TestCompare(t *testing.T) {
	d := Compare(sample(t), moved(t))
	if len(d.Moved) != 5 || len(d.Missing) != 1 || len(d.Added) != 1 {
		t.Errorf("%d moved, %d missing, %d new; want 5, 1, 1", len(d.Moved), len(d.Missing), len(d.Added))
	}
	var texts []string
	for _, c := range d.Moved {
		texts = append(texts, c.Old.Probe+" "+c.Old.Metric+": "+c.Text())
	}
	golden(t, "diff.txt", []byte(strings.Join(texts, "\n")+"\n"))
}

func TestBaselineFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deeper", "overhead.csv")
	if _, err := LoadBaseline(path); err == nil || !strings.Contains(err.Error(), "overhead.csv") {
		t.Errorf("absent baseline: %v", err)
	}
	for _, set := range []*Set{sample(t), moved(t)} {
		check(t, SaveBaseline(path, set))
		back, err := LoadBaseline(path)
		check(t, err)
		if d := Compare(back, set); !d.Empty() {
			t.Errorf("saved and loaded differ: %+v", d)
		}
	}
	if err := SaveBaseline(filepath.Dir(path), sample(t)); err == nil {
		t.Error("a folder was replaced by a baseline")
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	check(t, err)
	if len(entries) != 1 {
		t.Errorf("%d files beside the baseline, want it alone", len(entries))
	}
}

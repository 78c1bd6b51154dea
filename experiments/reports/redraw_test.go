package reports_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/results"
)

// TestRedrawForPrint draws the figures of a directory at the width of a column: the page has that width, and title and
// caption are in a file beside it.
func TestRedrawForPrint(t *testing.T) {
	const name = "overhead-xeon-e5410-x86_64"
	plan, err := planning.NewLoader().Plan(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := results.LoadBaseline(filepath.Join("..", "..", "results", "baselines", name+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := (&results.Manifest{Inputs: plan.Inputs}).JSON()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	files := map[string][]byte{results.ManifestName: manifest, reports.ResultsName: set.CSV()}
	if err := results.WriteDir(dir, files); err != nil {
		t.Fatal(err)
	}
	look := reports.Look{Width: 83.82, Bare: true}
	if err := reports.Redraw(dir, []string{"phases"}, look); err != nil {
		t.Fatal(err)
	}
	svg, text := read(t, filepath.Join(dir, "phases.svg")), read(t, filepath.Join(dir, "phases.txt"))
	if !strings.Contains(svg, `<svg width="237.6pt"`) || strings.Count(svg, "Where the cycles of a probe hit go") != 1 { // in the element title alone
		t.Errorf("the figure begins with %.200s", svg)
	}
	for _, want := range []string{"Where the cycles of a probe hit go", "b: boosted kprobe", "k: 2310 (entry 617.5"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the text of the figure:\n%s", want, text)
		}
	}
	if err := reports.Redraw(dir, []string{"phases"}, reports.Look{Width: 83.82, Height: 41}); err == nil || !strings.Contains(err.Error(), "too low") {
		t.Errorf("41 mm for a figure with its caption: %v", err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

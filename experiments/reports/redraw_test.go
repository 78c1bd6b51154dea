package reports_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/results/compare"
	"kprobesim/results/formats"
	"kprobesim/results/outdir"
)

// TestRedrawForPrint draws the figures of a directory at the width of a column: the page has that width, and title and
// caption are in a file beside it.
func TestRedrawForPrint(t *testing.T) {
	const name = "overhead-xeon-e5410-x86_64"
	plan, err := planning.NewLoader().Plan(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := compare.LoadBaseline(filepath.Join("..", "..", "results", "baselines", name+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := (&outdir.Manifest{Inputs: plan.Inputs}).JSON()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	files := map[string][]byte{outdir.ManifestName: manifest, reports.ResultsName: formats.CSV(set)}
	if err := outdir.WriteDir(dir, files); err != nil {
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

// TestRedrawChangesNoResults has somebody change a directory before figures are drawn again: numbers that are others are
// refused, and a figure that was changed by hand stays, under another name where a new one is drawn.
func TestRedrawChangesNoResults(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if err := outdir.WriteDir(dir, files(t, 2)); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	drawn := read(t, filepath.Join(dir, "overhead.svg"))
	write("overhead.svg", "by hand")
	write("phases.svg", "by hand, too")
	if err := reports.Redraw(dir, []string{"overhead"}, reports.Look{}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"overhead.svg": drawn, "overhead.svg.kept": "by hand", "phases.svg": "by hand, too"} {
		if got := read(t, filepath.Join(dir, name)); got != want {
			t.Errorf("%s is %.100s", name, got)
		}
	}
	if sums := read(t, filepath.Join(dir, outdir.SumsName)); strings.Contains(sums, "phases.svg") || !strings.Contains(sums, "phases.pdf") {
		t.Errorf("the list has a figure that somebody else drew:\n%s", sums)
	}
	csv := read(t, filepath.Join(dir, reports.ResultsName))
	for _, name := range []string{reports.ResultsName, "inputs.txt"} {
		text := read(t, filepath.Join(dir, name))
		write(name, strings.Replace(text, "1", "2", 1))
		if err := reports.Redraw(dir, nil, reports.Look{}); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, name)+" is not as it was written") {
			t.Errorf("%s was changed: %v", name, err)
		}
		write(name, text)
	}
	if err := os.Remove(filepath.Join(dir, "bench.txt")); err != nil {
		t.Fatal(err)
	}
	if err := reports.Redraw(dir, nil, reports.Look{}); err == nil || !strings.Contains(err.Error(), "bench.txt is not there") {
		t.Errorf("a file is gone: %v", err)
	}
	if got := read(t, filepath.Join(dir, reports.ResultsName)); got != csv {
		t.Error("drawing has changed the results")
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

package reports_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/internal/require"
	"kprobesim/results/compare"
	"kprobesim/results/formats"
	"kprobesim/results/outdir"
)

// TestRedrawForPrint draws the figures of a directory at the width of a column: the page has that width, and title and
// caption are in a file beside it.
func TestRedrawForPrint(t *testing.T) {
	const name = "overhead-xeon-e5410-x86_64"
	plan := require.Must(planning.NewLoader().Plan(name, nil))(t)
	set := require.Must(compare.LoadBaseline(filepath.Join("..", "..", "results", "baselines", name+".csv")))(t)
	manifest := require.Must((&outdir.Manifest{Inputs: plan.Inputs}).JSON())(t)
	dir := filepath.Join(t.TempDir(), "out")
	files := map[string][]byte{outdir.ManifestName: manifest, reports.ResultsName: formats.CSV(set)}
	require.NoError(t, outdir.WriteDir(dir, files))
	look := reports.Look{Width: 83.82, Bare: true}
	require.NoError(t, reports.Redraw(dir, []string{"phases"}, look))
	svg, text := read(t, filepath.Join(dir, "phases.svg")), read(t, filepath.Join(dir, "phases.txt"))
	if !strings.Contains(svg, `<svg width="237.6pt"`) || strings.Count(svg, "Where the cycles of a probe hit go") != 1 { // in the element title alone
		t.Errorf("the figure begins with %.200s", svg)
	}
	for _, want := range []string{"Where the cycles of a probe hit go", "b: boosted kprobe", "k: 2310 (entry 617.5"} {
		require.That(t, strings.Contains(text, want), "no %q in the text of the figure:\n%s", want, text)
	}
	require.Error(t, reports.Redraw(dir, []string{"phases"}, reports.Look{Width: 83.82, Height: 41}), "too low", "41 mm for a figure with its caption")
	require.NoError(t, reports.Redraw(dir, nil, reports.Look{Width: 100}))
	require.That(t, strings.HasPrefix(read(t, filepath.Join(dir, "phases.svg")), `<?xml version="1.0"?>`) && strings.Contains(read(t, filepath.Join(dir, "phases.svg")), `<svg width="283.4`), "what is there was not drawn again")
}

// TestRedrawChangesNoResults has somebody change a directory before figures are drawn again: numbers that are others are
// refused, and a figure that was changed by hand stays, under another name where a new one is drawn.
func TestRedrawChangesNoResults(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	require.NoError(t, outdir.WriteDir(dir, files(t)))
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	drawn := read(t, filepath.Join(dir, "overhead.svg"))
	write("overhead.svg", "by hand")
	write("phases.svg", "by hand, too")
	require.NoError(t, reports.Redraw(dir, []string{"overhead"}, reports.Look{}))
	for name, want := range map[string]string{"overhead.svg": drawn, "overhead.svg.kept": "by hand", "phases.svg": "by hand, too"} {
		require.Equal(t, read(t, filepath.Join(dir, name)), want, "%s", name)
	}
	sums := read(t, filepath.Join(dir, outdir.SumsName))
	require.That(t, !strings.Contains(sums, "phases.svg") && strings.Contains(sums, "phases.pdf"), "the list has a figure that somebody else drew:\n%s", sums)
	csv := read(t, filepath.Join(dir, reports.ResultsName))
	for _, name := range []string{reports.ResultsName, "inputs.txt"} {
		text := read(t, filepath.Join(dir, name))
		write(name, strings.Replace(text, "1", "2", 1))
		require.Error(t, reports.Redraw(dir, nil, reports.Look{}), filepath.Join(dir, name)+" is not as it was written", "%s was changed", name)
		write(name, text)
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "bench.txt")))
	require.Error(t, reports.Redraw(dir, nil, reports.Look{}), "bench.txt is not there", "a file is gone")
	require.That(t, read(t, filepath.Join(dir, reports.ResultsName)) == csv, "drawing has changed the results")
}

func read(t *testing.T, name string) string {
	t.Helper()
	b := require.Must(os.ReadFile(name))(t)
	return string(b)
}

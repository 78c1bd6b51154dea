package reports_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"kprobesim/experiments"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/compare"
)

// TestLook draws the figures of every experiment from its baseline into the folder that KPROBESIM_FIGURES
// names, for a look at them.
func TestLook(t *testing.T) {
	dir := os.Getenv("KPROBESIM_FIGURES")
	if dir == "" {
		t.Skip("on demand: figures to look at; KPROBESIM_FIGURES names no folder to draw into")
	}
	width, _ := strconv.ParseFloat(os.Getenv("KPROBESIM_WIDTH"), 64) // millimetres; 0 for each figure's own
	for _, name := range experiments.Names() {
		plan := require.Must(planning.NewLoader().Plan(name, nil))(t)
		if schema.Packaged(plan.Kind) {
			continue // it has no baseline
		}
		set := require.Must(compare.LoadBaseline(filepath.Join("..", "..", "results", "baselines", name+".csv")))(t)
		files := map[string][]byte{}
		if err := reports.Draw(files, results.Means(set), plan.Figures, reports.Look{Width: width}); err != nil {
			t.Error(name, err)
		}
		for file, b := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name+"--"+file), b, 0o644))
		}
	}
}

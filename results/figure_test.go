package results

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestLook writes the sample figures to the folder named by KPROBESIM_FIGURES for a look at them.
func TestLook(t *testing.T) {
	dir := os.Getenv("KPROBESIM_FIGURES")
	if dir == "" {
		t.Skip("KPROBESIM_FIGURES names no folder")
	}
	figures := sampleFigures(t)
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		files, err := Render(figures[name], name)
		check(t, err)
		for file, data := range files {
			check(t, os.WriteFile(filepath.Join(dir, file), data, 0o644))
		}
	}
}

var _ = bytes.Equal

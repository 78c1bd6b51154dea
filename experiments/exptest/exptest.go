package exptest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Updating reports whether the run is to write golden files and tables anew.
func Updating() bool { return *update }

// PointOf returns a point of an experiment of the program, or of a file, with settings.
func PointOf(t *testing.T, name, point string, sets ...string) *schema.Point {
	t.Helper()
	p, err := planning.NewLoader().Plan(name, sets)
	require.NoError(t, err)
	pt, err := p.Point(point)
	require.NoError(t, err)
	return pt
}

// Golden compares got with testdata/name.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	require.Golden(t, *update, name, []byte(got))
}

// Write puts a file into a fresh folder and returns its path.
func Write(t testing.TB, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

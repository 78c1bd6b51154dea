package outdir

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"kprobesim/internal/require"
)

// TestFind finds files in a directory that would be a pattern itself, and none where there is no directory.
func TestFind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[a]*?")
	for _, name := range []string{"x/2.log", "x/1.log", "y/3.log", "y/4.txt", "5.log"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	got := require.Must(Find(dir, "*/*.log"))(t)
	want := []string{filepath.Join(dir, "x", "1.log"), filepath.Join(dir, "x", "2.log"), filepath.Join(dir, "y", "3.log")}
	require.That(t, slices.Equal(got, want), "found %q, want %q", got, want)
	none := require.Must(Find(dir+"none", "*"))(t)
	require.That(t, len(none) == 0, "found %q", none)
}

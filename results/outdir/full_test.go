//go:build linux

package outdir

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"kprobesim/internal/require"
)

// TestFullDisk has the host take ten bytes of a file (setrlimit(2)): the file stays as it was, and nothing is left beside it.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, WriteFile(path, []byte("old")))
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var free syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &free))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 10, Max: free.Max}))
	err := WriteFile(path, make([]byte, 100))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &free))
	require.Error(t, err, "file too large", "a write that is cut off")
	entries := require.Must(os.ReadDir(dir))(t)
	if b, err := os.ReadFile(path); err != nil || string(b) != "old" || len(entries) != 1 {
		t.Errorf("the file has %q, %v; beside it are %v", b, err, entries)
	}
}

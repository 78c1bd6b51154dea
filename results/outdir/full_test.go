//go:build linux

package outdir

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kprobesim/internal/require"
)

// fullDisk names a file to a process of this test, which has the host take ten bytes of a file.
const fullDisk = "KPROBESIM_FULL_DISK"

// TestFullDisk has the host take ten bytes of a file (setrlimit(2)): the file stays as it was, and nothing is left beside it. Another
// process does so, as what runs tests keeps a log of its own in this one.
func TestFullDisk(t *testing.T) {
	if path := os.Getenv(fullDisk); path != "" {
		signal.Ignore(syscall.SIGXFSZ)
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 10, Max: 10}))
		require.NoError(t, WriteFile(path, make([]byte, 100)))
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, WriteFile(path, []byte("old")))
	c := exec.Command(require.Must(os.Executable())(t), "-test.run=^TestFullDisk$")
	c.Env = append(os.Environ(), fullDisk+"="+path)
	out, err := c.Output()
	require.That(t, err != nil && strings.Contains(string(out), "file too large"), "a write that is cut off: %v\n%s", err, out)
	entries := require.Must(os.ReadDir(dir))(t)
	if b, err := os.ReadFile(path); err != nil || string(b) != "old" || len(entries) != 1 {
		t.Errorf("the file has %q, %v; beside it are %v", b, err, entries)
	}
}

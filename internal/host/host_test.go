package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// A program is named by the bytes that run.
func TestExecutable(t *testing.T) {
	b := require.Must(os.ReadFile(require.Must(os.Executable())(t)))(t)
	sum := sha256.Sum256(b)
	require.Got(Executable())(t, hex.EncodeToString(sum[:]), "the program")
}

// TestPeak is at least what the host says of this process elsewhere. It may be more: that of who has started it counts.
func TestPeak(t *testing.T) {
	used := make([]byte, 128<<20)
	for at := 0; at < len(used); at += 4096 {
		used[at] = 1
	}
	b, err := os.ReadFile("/proc/self/status")
	_, line, found := strings.Cut(string(b), "VmHWM:")
	if err != nil || !found {
		return // there is no such file
	}
	var kib int64
	require.NoError(t, require.Err(fmt.Sscan(line, &kib)))
	peak := Peak()
	require.That(t, used[4096] == 1 && peak >= kib<<10*9/10 && peak < 1<<40, "a peak of %d bytes, where the host says %d KiB", peak, kib)
}

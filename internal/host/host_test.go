package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

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

// TestUse wants the processor's time to grow by work of this process and by nothing else, and a process that has ended to have had about as much
// memory as it took.
func TestUse(t *testing.T) {
	if os.Getenv("KPROBESIM_TAKES_MEMORY") == "1" {
		b := make([]byte, 64<<20)
		for i := range b {
			b[i] = byte(i)
		}
		runtime.KeepAlive(b)
		return
	}
	before := CPU()
	if before == 0 {
		t.Skip("does not apply: this host says nothing of processes")
	}
	for begin := time.Now(); CPU()-before < 20*time.Millisecond; {
		require.Need(t, time.Since(begin) < time.Minute, "work takes no time")
	}
	slept := CPU()
	time.Sleep(50 * time.Millisecond)
	require.That(t, CPU()-slept < 40*time.Millisecond && CPU() >= slept, "sleep takes %s of a processor", CPU()-slept)
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestUse$")
	c.Env = append(os.Environ(), "KPROBESIM_TAKES_MEMORY=1")
	require.NoError(t, c.Run())
	require.That(t, PeakOf(c.ProcessState) > 64<<20 && PeakOf(c.ProcessState) < 1<<30, "a process of 64 MiB had %d bytes", PeakOf(c.ProcessState))
}

// TestFreeMemory collects garbage at once.
func TestFreeMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	FreeMemory()
	runtime.ReadMemStats(&after)
	require.That(t, after.NumForcedGC > before.NumForcedGC, "%d collections were asked for, and then %d", before.NumForcedGC, after.NumForcedGC)
}

package hosttools

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"kprobesim/internal/require"
)

// Emulator returns the path of an emulator of user mode, or skips the test.
func Emulator(tb testing.TB, name string) string {
	tb.Helper()
	return Need(tb, name, "qemu-user", "the comparison with another implementation")
}

// Emulate runs an executable file's bytes under an emulator of user mode with options. It returns what the
// executable printed, and an error where it did not end well, which is not a failure of the test.
func Emulate(tb testing.TB, emulator string, program []byte, options ...string) ([]byte, error) {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "program")
	require.NoError(tb, os.WriteFile(file, program, 0o700))
	ctx, cancel := context.WithTimeout(tb.Context(), limit)
	defer cancel()
	return exec.CommandContext(ctx, emulator, append(slices.Clone(options), file)...).Output()
}

// Span is a range of physical memory: an address and a size in bytes.
type Span struct {
	At   uint64
	Size int
}

// patience is how often an emulated machine is asked whether it is done, every 200 ms.
const patience = 100

// EmulateMachine starts an emulated machine, given as an emulator of systems and its options, at entry with RAM from
// address 0 on. It stops the machine as soon as done says so of the first span, or after twenty seconds, and
// returns the memory of all spans.
func EmulateMachine(tb testing.TB, emulator string, options []string, ram []byte, entry uint64, done func(first []byte) bool, spans ...Span) [][]byte {
	tb.Helper()
	dir := tb.TempDir()
	image := filepath.Join(dir, "ram")
	require.NoError(tb, os.WriteFile(image, ram, 0o600))
	ctx, cancel := context.WithTimeout(tb.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, emulator, append(slices.Clone(options), "-m", "64", "-display", "none", "-serial", "none",
		"-monitor", "stdio", "-device", "loader,file="+image+",addr=0,force-raw=on",
		"-device", fmt.Sprintf("loader,addr=%#x,cpu-num=0", entry))...)
	cmd.Dir = dir
	in := require.Must(cmd.StdinPipe())(tb)
	require.NoError(tb, cmd.Start())
	var all [][]byte
	for range patience {
		time.Sleep(100 * time.Millisecond)
		for i, s := range spans {
			fmt.Fprintf(in, "pmemsave %#x %d \"span%d\"\n", s.At, s.Size, i)
		}
		time.Sleep(100 * time.Millisecond)
		if all = readSpans(dir, spans); all != nil && done(all[0]) {
			break
		}
	}
	_, _ = io.WriteString(in, "quit\n") // it ends by the deadline otherwise
	_ = cmd.Wait()
	if all = readSpans(dir, spans); all == nil {
		tb.Fatalf("%s did not write its memory", emulator)
	}
	return all
}

// readSpans returns what the emulator has written of each span, or nil while one is not whole.
func readSpans(dir string, spans []Span) [][]byte {
	var all [][]byte
	for i, s := range spans {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("span", i)))
		if err != nil || len(b) != s.Size {
			return nil
		}
		all = append(all, b)
	}
	return all
}

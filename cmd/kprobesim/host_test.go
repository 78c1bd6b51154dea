package main

import (
	"bytes"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestInterruptKeepsWhatIsMeasured interrupts a run while its second point is measured: both points measured by then
// are written, beside the whole results of before, and the next experiment is not begun.
func TestInterruptKeepsWhatIsMeasured(t *testing.T) {
	if runtime.GOOS == "windows" {
		hosttools.Unable(t, "interrupting a run", "no signals can be sent on Windows")
	}
	out := t.TempDir()
	if code, _, stderr := command(fake(1000), "run", experiment, "--out", out); code != exitOK {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	whole := require.Must(os.ReadFile(filepath.Join(out, experiment, "results.csv")))(t)
	var stdout, said bytes.Buffer
	a, measured := newApp(&stdout, &said), 0
	a.program = nil
	a.measure = func(p *schema.Point) (*kinds.Measurement, error) {
		if measured++; measured == 2 {
			interruptSelf(t, a.err, &said)
		}
		return fake(2000)(p)
	}
	code := a.run([]string{"run", experiment, "overhead-pentium-m", "--out", out, "--workers", "1"})
	stderr := said.String()
	require.That(t, code == exitFailed && strings.Contains(stderr, "not measured: the run was interrupted") && !strings.Contains(stderr, "pentium"), "exit code %d\n%s", code, stderr)
	require.That(t, measured != 6 && strings.Contains(stdout.String(), experiment+"-interrupted"), "%d points were measured\n%s", measured, stdout.String())
	csv, err := os.ReadFile(filepath.Join(out, experiment+"-interrupted", "results.csv"))
	require.That(t, err == nil && strings.Contains(string(csv), ",k,") && strings.Contains(string(csv), ",b,") && !strings.Contains(string(csv), ",ro,"), "results are %s, %v", csv, err)
	if now, err := os.ReadFile(filepath.Join(out, experiment, "results.csv")); err != nil || !bytes.Equal(now, whole) {
		t.Errorf("the results of before are %s, %v", now, err)
	}
	said.Reset()
	var sides atomic.Int32
	measured, a.measure = 0, func(p *schema.Point) (*kinds.Measurement, error) {
		require.That(t, sides.Add(1) <= 1, "one worker measures two points at a time")
		if measured++; measured == 2 {
			interruptSelf(t, a.err, &said)
		}
		sides.Add(-1)
		return fake(2000)(p)
	}
	code = a.run([]string{"check", experiment, "overhead-pentium-m", "--baselines", "../../results/baselines", "--workers", "1"})
	require.That(t, code == exitFailed && !strings.Contains(said.String(), "pentium"), "a check that is interrupted goes on: exit code %d\n%s", code, said.String())
}

// interruptSelf sends an interrupt and waits until the program says that it has seen it.
func interruptSelf(t *testing.T, w *locked, said *bytes.Buffer) {
	t.Helper()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(syscall.SIGINT)
	}
	if err != nil {
		t.Error(err)
	}
	for range 1000 {
		w.mu.Lock()
		seen := strings.Contains(said.String(), "interrupted: waiting")
		w.mu.Unlock()
		if seen {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the interrupt was not noticed")
}

// full is a disk without room.
type full struct{}

// Write implements io.Writer.
func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestNoRoomForOutput wants a table that could not be printed to be a failure, said once.
func TestNoRoomForOutput(t *testing.T) {
	for _, args := range [][]string{
		{"list"},
		{"help"},
		{"run", experiment, "--out", t.TempDir()},
		{"trace", experiment, "--point", "o"},
	} {
		var stderr bytes.Buffer
		a := newApp(full{}, &stderr)
		if args[0] != "trace" {
			a.measure, a.program = fake(1000), nil
		}
		code := a.run(args)
		require.That(t, code == exitFailed && strings.Count(stderr.String(), "no space left") == 1, "%q: exit code %d\n%s", args, code, stderr.String())
	}
}

// TestInterruptedModule says where a module was when somebody interrupts it.
func TestInterruptedModule(t *testing.T) {
	if runtime.GOOS == "windows" {
		hosttools.Unable(t, "interrupting a module", "no signals can be sent on Windows")
	}
	kept := make(chan os.Signal, 1) // one that comes before the command listens does not end the tests
	signal.Notify(kept, syscall.SIGTERM)
	defer signal.Stop(kept)
	self := require.Must(os.FindProcess(os.Getpid()))(t)
	ended, asking := make(chan struct{}), sync.WaitGroup{}
	asking.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(300 * time.Millisecond):
				if err := self.Signal(syscall.SIGTERM); err != nil {
					t.Error(err)
				}
			}
		}
	})
	code, _, stderr := command(nil, "module", "run", "../../modules/testdata/x86_64-2010/my_probe.o", "--hits", "1000000")
	close(ended)
	asking.Wait()
	require.That(t, code == exitFailed && strings.Contains(stderr, "the run was interrupted: cpu 0: runs, pc 0x"), "exit code %d\n%s", code, stderr)
}

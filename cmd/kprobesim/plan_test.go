package main

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"kprobesim/experiments/keeping"
	"kprobesim/internal/host"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestPredictedTime holds what a plan predicts of sweeps, which this host has not run, against what they take of its
// processors: a factor of 2.5 at most. A try counts when the host is as fast behind it as before. A quiet host had 0.6 to 1.2 of what
// it took, and tests that run beside this one take caches from the sweep, which the work by which hosts are compared needs less.
func TestPredictedTime(t *testing.T) {
	names := []string{"crowding", "handlers", "hit-latency", "unregister-batch", "watchpoints"}
	if host.CPU() == 0 {
		t.Skip("does not apply: this host does not say what a process takes")
	}
	if testing.Short() || !hosttools.Whole(t, "predicted times of five experiments", "those of one") {
		names = names[4:] // the race detector slows everything, and one sweep has all goroutines
	}
	for _, name := range names {
		counted, met := 0, false
		for tries := 0; tries < 12 && counted < 4 && !met; tries++ {
			ratio, again, drift := predictedToTaken(t, name)
			t.Logf("%s: %.2f of what it took is predicted, %.2f once it has run here; the host's time changed to %.2f", name, ratio, again, drift)
			if drift > 0.87 && drift < 1.15 {
				counted++
				met = ratio > 1/2.5 && ratio < 2.5 && again > 0.5 && again < 1.1
			}
		}
		require.That(t, met, "%s: in none of %d tries on a host of one speed was it predicted to a factor of 2.5", name, counted)
	}
}

// predictedToTaken runs an experiment and returns what was predicted in relation to what it took: by the shipped costs, and
// by the costs that the run noted. drift is the time of the references behind the run, in relation to before. Each command is
// a process of its own, as for a user: memory that other tests have left is faster than new memory.
func predictedToTaken(t *testing.T, name string) (ratio, again, drift float64) {
	out, behind := t.TempDir(), t.TempDir()
	p := require.Must(newApp(io.Discard, io.Discard).loader.Plan(name, nil))(t)
	process(t, "plan", name, "--out", out)
	costs := require.Must(keeping.LoadCosts(out))(t)
	took := process(t, "run", name, "--out", out, "--workers", "1")
	process(t, "plan", name, "--out", behind)
	noted, later := require.Must(keeping.LoadCosts(out))(t), require.Must(keeping.LoadCosts(behind))(t)
	return costs.Forecast(p.Points).Processor.Seconds() / took.Seconds(), noted.Forecast(p.Points).Processor.Seconds() / took.Seconds(),
		later.Time(keeping.ReferenceSort, 1).Seconds() / costs.Time(keeping.ReferenceSort, 1).Seconds()
}

// process runs the command as a process, and returns what it took of processors.
func process(t *testing.T, args ...string) time.Duration {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), realArgs+"="+strings.Join(args, "\n"))
	if out, err := c.CombinedOutput(); c.ProcessState == nil || c.ProcessState.ExitCode() == exitUsage {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime()
}

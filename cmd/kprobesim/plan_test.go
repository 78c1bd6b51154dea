package main

import (
	"io"
	"testing"

	"kprobesim/experiments/keeping"
	"kprobesim/internal/host"
	"kprobesim/internal/require"
)

// TestPredictedTime holds what a plan predicts of sweeps, which this host has not run, against what they take of its
// processors: a factor of 1.5 at most.
func TestPredictedTime(t *testing.T) {
	names := []string{"crowding", "handlers", "hit-latency", "unregister-batch", "watchpoints"}
	if host.CPU() == 0 {
		t.Skip("does not apply: this host does not say what a process takes")
	}
	if testing.Short() {
		names = names[4:] // the race detector slows everything, and one sweep has all goroutines
	}
	for _, name := range names {
		var ratio, again float64
		for range 6 { // other work of the host disturbs a try
			ratio, again = predictedToTaken(t, name)
			if ratio > 1/1.5 && ratio < 1.5 && again > 0.5 && again < 1.1 {
				break
			}
		}
		t.Logf("%s: %.2f of what it took is predicted, %.2f once it has run here", name, ratio, again)
		if ratio < 1/1.5 || ratio > 1.5 || again < 0.5 || again > 1.1 {
			t.Errorf("%s: %.2f of what it took is predicted, %.2f once it has run here", name, ratio, again)
		}
	}
}

// predictedToTaken runs an experiment and returns what was predicted in relation to what it took: by the shipped costs, and
// by the costs that the run noted.
func predictedToTaken(t *testing.T, name string) (ratio, again float64) {
	out := t.TempDir()
	a := newApp(io.Discard, io.Discard)
	costs := require.Must(a.costs(out))(t)
	p := require.Must(a.loader.Plan(name, nil))(t)
	predicted := costs.Forecast(p.Points).Processor
	began := host.CPU()
	if code := a.run([]string{"run", name, "--out", out, "--workers", "1"}); code == exitUsage {
		t.Fatalf("%s: exit code %d", name, code)
	}
	took := (host.CPU() - began).Seconds()
	return predicted.Seconds() / took, require.Must(keeping.LoadCosts(out))(t).Forecast(p.Points).Processor.Seconds() / took
}

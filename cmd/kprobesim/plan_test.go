package main

import (
	"io"
	"testing"

	"kprobesim/experiments/keeping"
	"kprobesim/internal/host"
	"kprobesim/internal/require"
)

// TestPredictedTime holds what a plan predicts of a sweep, which this host has not run, against what they take of its
// processors: a factor of 1.5 at most.
func TestPredictedTime(t *testing.T) {
	names := []string{"crowding"}
	if host.CPU() == 0 {
		t.Skip("does not apply: this host does not say what a process takes")
	}
	for _, name := range names {
		out := t.TempDir()
		a := newApp(io.Discard, io.Discard)
		costs := require.Must(a.costs(out))(t)
		p := require.Must(a.loader.Plan(name, nil))(t)
		predicted := costs.Forecast(p.Points).Processor
		began := host.CPU()
		code := a.run([]string{"run", name, "--out", out, "--workers", "1"})
		took := host.CPU() - began
		ratio := predicted.Seconds() / took.Seconds()
		t.Logf("%s: %s predicted, %s taken: %.2f", name, predicted, took, ratio)
		if code == exitUsage || ratio < 1/1.5 || ratio > 1.5 {
			t.Errorf("%s: exit code %d, %s predicted, %s taken", name, code, predicted, took)
		}
		// Once it has run here, it is predicted by that.
		again := require.Must(keeping.LoadCosts(out))(t).Forecast(p.Points).Processor
		if ratio := again.Seconds() / took.Seconds(); ratio < 0.5 || ratio > 1.1 {
			t.Errorf("%s: %s predicted from a run that took %s", name, again, took)
		}
	}
}

package running_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// looping is a measure that never ends for points that wants chooses, and asks as machines do.
func looping(wants string) running.Measure {
	return func(p *schema.Point) (*kinds.Measurement, error) {
		for p.Probe.Name == wants {
			if err := p.Halt(); err != nil {
				return nil, &sim.HaltedError{Reason: err, Where: "cpu 0: runs"}
			}
			time.Sleep(time.Millisecond)
		}
		return exptest.ToyMeasure(p)
	}
}

// TestLimitOfAPoint ends the point that loops and leaves the other one alone.
func TestLimitOfAPoint(t *testing.T) {
	p := require.Must(exptest.ToyLoader().Plan(exptest.ToyFiles(t), nil))(t)
	limit := running.Limit{Time: 20 * time.Millisecond, Option: "--patience"}
	out := (&running.Runner{Measure: limit.Measure(looping("k")), Workers: 1}).Run(p)
	for _, o := range out {
		if o.Point.Name != "k" {
			require.That(t, o.Err == nil, "point %s: %v", o.Point.Name, o.Err)
			continue
		}
		if o.Err == nil || o.Measurement != nil || !strings.Contains(o.Err.Error(), "20ms of host time is used up") ||
			!strings.Contains(o.Err.Error(), "raise --patience") || !strings.Contains(o.Err.Error(), "cpu 0: runs") {
			t.Errorf("point k: %v", o.Err)
		}
	}
	require.That(t, p.Points[0].Halt == nil, "the plan has changed")
}

// TestLimitOnInterrupt gives a point its grace and ends it then.
func TestLimitOnInterrupt(t *testing.T) {
	stop := make(chan struct{})
	limit := running.Limit{Stop: stop, Grace: 30 * time.Millisecond}
	halt, done := limit.Begin()
	defer done()
	time.Sleep(40 * time.Millisecond)
	err := halt()
	require.That(t, err == nil, "before the interrupt: %v", err)
	begun := time.Now()
	close(stop)
	for halt() == nil {
		require.Need(t, time.Since(begun) <= 10*time.Second, "it goes on")
		time.Sleep(time.Millisecond)
	}
	if err := halt(); !errors.Is(err, running.ErrInterrupted) || time.Since(begun) < limit.Grace {
		t.Errorf("%v behind %s", err, time.Since(begun))
	}
}

package experiments

import (
	"math"
	"testing"

	"kprobesim/internal/clock"
	"kprobesim/results"
)

// What can be asked of predictions of figures that themselves vary by 15 % and more.
const (
	mostError = 0.15
	meanError = 0.08
)

// Every published figure that is not fitted is predicted within 15 %, and all of them within 8 % in
// the mean.
func TestPredictionsMeetThePublishedFigures(t *testing.T) {
	var missed []float64
	for _, name := range Experiments() {
		p, err := NewLoader().Plan(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range (&Runner{Measure: MeasurePoint}).Run(p) {
			pub := o.Point.Probe.Published
			if pub == nil || o.Point.Probe.Role == results.Fitted {
				continue
			}
			if o.Err != nil {
				t.Errorf("%s, %s: %v", name, o.Point.Name, o.Err)
				continue
			}
			e := math.Abs(microsPerHit(o)/pub.Micros.Float() - 1)
			if missed = append(missed, e); e > mostError {
				t.Errorf("%s, %s: %.3f us, published %s", name, o.Point.Name, microsPerHit(o), pub.Micros)
			}
		}
	}
	sum := 0.0
	for _, e := range missed {
		sum += e
	}
	if mean := sum / float64(len(missed)); len(missed) == 0 || mean > meanError {
		t.Errorf("%d predictions are off by %.1f %% in the mean", len(missed), 100*mean)
	}
}

// microsPerHit returns what one hit costs in microseconds.
func microsPerHit(o Outcome) float64 {
	over := o.Measurement.Probed.sub(o.Measurement.Base)
	cycles := float64(over.Time) / float64(clock.PerCycle) / float64(o.Measurement.Hits)
	return cycles * 1e6 / float64(o.Point.Machine.CPU.Hz)
}

package reports

import (
	"fmt"
	"math"

	"kprobesim/experiments/schema"
	"kprobesim/results"
)

// SisterError is how far the ratios of a sister machine are from a published figure, in percent.
type SisterError struct {
	Point   *schema.Point
	Percent float64
}

// SisterErrors is the null model of a collection: nothing is simulated. Each prediction is the figure of
// the same probe on a sister machine, another one of the collection with a kernel of the same era, scaled
// so that a figure that this machine is fitted on is met. That is the fitted figure of a probe in the same
// mode, else the first fitted one. A point without a sister or a fitted figure has no error here.
func SisterErrors(p *schema.Plan) []SisterError {
	var out []SisterError
	for i := range p.Points {
		pt := &p.Points[i]
		if pt.Probe.Role != results.Predicted || pt.Further {
			continue
		}
		if guess, ok := sisterGuess(p, pt); ok {
			us := pt.Published().Micros.Float()
			out = append(out, SisterError{pt, 100 * (guess - us) / us})
		}
	}
	return out
}

// sisterGuess scales the figure of the first sister that has all the figures it takes.
func sisterGuess(p *schema.Plan, pt *schema.Point) (us float64, ok bool) {
	anchor := anchorOf(p, pt)
	if anchor == nil {
		return 0, false
	}
	for i := range p.Points {
		same := &p.Points[i]
		if same.Experiment == pt.Experiment || same.Kernel.Era != pt.Kernel.Era || same.Label != pt.Label || same.Published() == nil {
			continue
		}
		for k := range p.Points {
			there := &p.Points[k]
			if there.Experiment == same.Experiment && there.Label == anchor.Label && there.Published() != nil {
				return same.Published().Micros.Float() * anchor.Published().Micros.Float() / there.Published().Micros.Float(), true
			}
		}
	}
	return 0, false
}

// anchorOf returns the fitted point of an experiment by which a sister's figure is scaled.
func anchorOf(p *schema.Plan, pt *schema.Point) (anchor *schema.Point) {
	for i := range p.Points {
		f := &p.Points[i]
		if f.Experiment != pt.Experiment || f.Probe.Role != results.Fitted {
			continue
		}
		if f.Probe.Mode == pt.Probe.Mode {
			return f
		}
		if anchor == nil || f.Label < anchor.Label {
			anchor = f
		}
	}
	return anchor
}

// meanError returns the mean and the largest magnitude of errors.
func meanError(errs []SisterError) (mean, largest float64) {
	for _, e := range errs {
		mean += math.Abs(e.Percent) / float64(len(errs))
		largest = max(largest, math.Abs(e.Percent))
	}
	return mean, largest
}

// sisters says how well the predictions could be guessed without a simulator.
func (r *Report) sisters() []string {
	errs := SisterErrors(r.Plan)
	if len(errs) == 0 {
		return nil
	}
	mean, largest := meanError(errs)
	return []string{fmt.Sprintf("null model, the ratios of a sister machine scaled by a fitted figure, for %d of them: mean absolute error %.1f %%, largest %.1f %%",
		len(errs), mean, largest)}
}

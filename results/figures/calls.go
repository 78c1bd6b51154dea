package figures

import (
	"errors"

	"kprobesim/results"
)

// CallCurves charts which share of the calls of each probe took how long at most.
func CallCurves(s *results.Set, frame Frame) (*ECDF, error) {
	e := &ECDF{Frame: frame}
	for _, p := range s.Points() {
		c := Curve{Name: p.Probe}
		for _, share := range results.CallShares() {
			r, ok := s.Get(p, results.CallMetric(share))
			if !ok {
				continue
			}
			step := Step{Share: float64(share) / 1000, X: r.Value.Float()}
			step.Low, step.High = r.Spread.Whisker()
			c.Steps = append(c.Steps, step)
		}
		if len(c.Steps) > 0 {
			e.Curves = append(e.Curves, c)
		}
	}
	if len(e.Curves) == 0 {
		return nil, errors.New("no call was timed: the experiment needs workload.latencies")
	}
	return e, nil
}

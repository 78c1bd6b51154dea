package results

import (
	"errors"
	"strconv"
)

// CallShares are the shares of the calls, in thousandths, of which an experiment that times every call keeps
// how long they took at most. They are dense at the ends, where single calls matter.
func CallShares() []int {
	return []int{0, 5, 10, 20, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 550, 600, 650, 700, 750, 800, 850, 900, 950, 980, 990, 995, 999, 1000}
}

// CallMetric names the metric (unit cycles) of the time that a share of the calls, in thousandths, took at
// most: the percentile p50 is that of 500, the longest call that of 1000.
func CallMetric(share int) string {
	return "cycles_call_p" + strconv.FormatFloat(float64(share)/10, 'f', -1, 64)
}

// callColumns are the percentiles that tables show, for sets that have them.
func callColumns() []ColumnSpec {
	column := func(title string, share int) ColumnSpec {
		return ColumnSpec{
			Title: title + "\ncycles", Metric: CallMetric(share), Decimals: 0, Interval: true, Beside: CallMetric(share),
		}
	}
	return []ColumnSpec{
		column("call p50", 500), column("p90", 900), column("p99", 990), column("longest", 1000),
	}
}

// CallCurves charts which share of the calls of each probe took how long at most.
func CallCurves(s *Set, frame Frame) (*ECDF, error) {
	e := &ECDF{Frame: frame}
	for _, p := range s.Points() {
		c := Curve{Name: p.Probe}
		for _, share := range CallShares() {
			r, ok := s.Get(p, CallMetric(share))
			if !ok {
				continue
			}
			step := Step{Share: float64(share) / 1000, X: r.Value.Float()}
			step.Low, step.High = r.Spread.whisker()
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

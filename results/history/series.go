package history

import (
	"math"
	"slices"

	"kprobesim/results"
)

// Revision is a state of the program, and the results that it gave.
type Revision struct {
	Name    string // short, such as the first digits of a commit
	Date    string // of the revision, "" if nobody knows it
	Subject string // of the commit, "" if nobody knows it
	Set     *results.Set
}

// label is a revision with its date.
func (r Revision) label() string {
	if r.Date == "" {
		return r.Name
	}
	return r.Name + " (" + r.Date + ")"
}

// Series is one figure of merit at one point, over the revisions that have it.
type Series struct {
	Point        results.Point
	Metric, Unit string
	At           []int // index of the revision of each value, ascending
	Values       []results.Value
	Noisy        bool // values are means over replicates, which differ a little whatever is changed
}

// Step is a change of a series' level.
type Step struct {
	Last, First   int     // indices of the last revision before the change and of the first one behind it
	Before, After float64 // mean of the level, in the unit of the series
}

// Percent is the change in percent of the level before it; infinite where that was zero.
func (s Step) Percent() float64 { return (s.After/s.Before - 1) * 100 }

func (s Step) size() float64 { return math.Abs(s.Percent()) }

// Gather returns the series of the given metrics, in the order of the newest revision that has them. Without metrics it
// takes the first that each point has, which is the figure of merit of its kind. Figures that others measured are no series.
func Gather(revisions []Revision, metrics []string) []*Series {
	type key struct {
		results.Point
		metric string
	}
	all := map[key]*Series{}
	var order []*Series
	first := map[results.Point]string{}
	for i := len(revisions) - 1; i >= 0; i-- {
		for r := range results.Means(revisions[i].Set).All() {
			if r.Role == results.Measured {
				continue
			}
			if first[r.Point] == "" {
				first[r.Point] = r.Metric
			}
			if len(metrics) == 0 && r.Metric != first[r.Point] || len(metrics) > 0 && !slices.Contains(metrics, r.Metric) {
				continue
			}
			s := all[key{r.Point, r.Metric}]
			if s == nil {
				s = &Series{Point: r.Point, Metric: r.Metric, Unit: r.Unit, Noisy: r.Spread.Of > 1}
				all[key{r.Point, r.Metric}] = s
				order = append(order, s)
			}
			s.At, s.Values = append(s.At, i), append(s.Values, r.Value)
		}
	}
	for _, s := range order {
		slices.Reverse(s.At)
		slices.Reverse(s.Values)
	}
	return order
}

// Steps returns where the level of the series changes.
func (s *Series) Steps() []Step {
	values := make([]float64, len(s.Values))
	for i, v := range s.Values {
		values[i] = v.Float()
	}
	ends := append(s.changes(values), len(values))
	var steps []Step
	begin := 0
	for i, at := range ends[:len(ends)-1] {
		steps = append(steps, Step{
			Last: s.At[at-1], First: s.At[at],
			Before: level(values[begin:at]), After: level(values[at:ends[i+1]]),
		})
		begin = at
	}
	return steps
}

// changes returns the indices at which a new level begins. A simulation has no noise, so that each change is a step.
func (s *Series) changes(values []float64) (at []int) {
	if s.Noisy {
		return levels(values)
	}
	for i := 1; i < len(values); i++ {
		if values[i] != values[i-1] {
			at = append(at, i)
		}
	}
	return at
}

// largest is the size of the largest step of a series, 0 for none.
func (s *Series) largest() (most float64) {
	for _, x := range s.Steps() {
		most = max(most, x.size())
	}
	return most
}

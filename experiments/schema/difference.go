package schema

import (
	"slices"
	"strings"

	"kprobesim/internal/doc"
)

// Difference is a quantity that a collection holds against the published figures: what one probe costs
// more than another one of the same experiment.
type Difference struct {
	Of, Less string // names of points
	Era      string // of the kernels for which it is reported; "" for all
	Means    string // what the difference consists of
	Pos      doc.Pos
}

// String names the difference as tables do.
func (d Difference) String() string { return d.Of + " - " + d.Less }

// ReadDifference reads one table of [[differences]].
func ReadDifference(r *doc.Reader) Difference {
	defer r.Done()
	return Difference{
		Of: doc.Need(r, "of", doc.Text), Less: doc.Need(r, "less", doc.Text),
		Era: doc.Opt(r, "era", "", doc.Name), Means: doc.Need(r, "means", doc.Text),
		Pos: r.Pos(),
	}
}

// Pair is the two points of a difference in one experiment.
type Pair struct{ Of, Less *Point }

// Pairs returns the points of a difference in each experiment that has published figures of both, with
// every combination of a sweep and every replicate.
func (p *Plan) Pairs(d Difference) []Pair {
	var out []Pair
	for i := range p.Points {
		of := &p.Points[i]
		if of.Probe.Name != d.Of || of.Probe.Published == nil || d.Era != "" && d.Era != of.Kernel.Era {
			continue
		}
		less := p.find(of.Experiment, d.Less+strings.TrimPrefix(of.Label, of.Probe.Name), of.Replicate)
		if less != nil && less.Probe.Published != nil {
			out = append(out, Pair{of, less})
		}
	}
	return out
}

// find returns one replicate of the point of an experiment with a label, or nil.
func (p *Plan) find(experiment, label string, replicate int) *Point {
	i := slices.IndexFunc(p.Points, func(pt Point) bool {
		return pt.Experiment == experiment && pt.Label == label && pt.Replicate == replicate
	})
	if i < 0 {
		return nil
	}
	return &p.Points[i]
}

package schema

import (
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
// every combination of a sweep.
func (p *Plan) Pairs(d Difference) []Pair {
	var out []Pair
	for i := range p.Points {
		of := &p.Points[i]
		if of.Probe.Name != d.Of || of.Probe.Published == nil || d.Era != "" && d.Era != of.Kernel.Era {
			continue
		}
		want := of.Experiment + ":" + d.Less + strings.TrimPrefix(of.Label, of.Probe.Name)
		if less, err := p.Point(want); err == nil && less.Probe.Published != nil {
			out = append(out, Pair{of, less})
		}
	}
	return out
}

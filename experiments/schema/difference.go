package schema

import (
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

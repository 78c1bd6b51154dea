package machines

import (
	"fmt"
	"strings"

	"kprobesim/internal/doc"
)

// Uncertainty is by how much a number may be off, to either side.
type Uncertainty struct {
	Amount float64 // percent of the number, or cycles
	Cycles bool    // whether Amount is in cycles
	Stated bool    // by the description; otherwise it follows from the source
}

// Uncertainties of numbers whose description states none, in percent.
const (
	sourcedPercent = 10 // read in a manual or a table of measurements
	priorPercent   = 30 // assumed: the source says that it is a prior
)

// String writes the uncertainty as a description does.
func (u Uncertainty) String() string {
	if u.Cycles {
		return fmt.Sprintf("%g cycles", u.Amount)
	}
	return fmt.Sprintf("%g %%", u.Amount)
}

// assumed is the uncertainty that follows from a source.
func assumed(source string) Uncertainty {
	if strings.Contains(source, "prior") {
		return Uncertainty{Amount: priorPercent}
	}
	return Uncertainty{Amount: sourcedPercent}
}

// uncertainty reads the key of that name, of all numbers of a table: a share of each, or cycles.
func uncertainty(r *doc.Reader, source string) Uncertainty {
	if !r.Has("uncertainty") {
		return assumed(source)
	}
	return doc.Need(r, "uncertainty", func(n *doc.Node) (Uncertainty, error) {
		u := Uncertainty{Stated: true}
		q, err := doc.Share().Parse(false)(n)
		if err != nil {
			u.Cycles = true
			q, err = doc.Cycles().Parse(false)(n)
		}
		if err != nil {
			return u, fmt.Errorf("want a share or cycles, for instance \"30 %%\" or \"50 cycles\"")
		}
		u.Amount, _ = q.Value.Float64()
		if !u.Cycles && u.Amount > 100 {
			return u, fmt.Errorf("%s is more than the number itself", n.Text)
		}
		return u, nil
	})
}

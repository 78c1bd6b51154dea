package sensitivity

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/machines"
)

// refit fits the fitted numbers of a machine again, to first order: a delivery is paid so often a hit, so
// that a figure is linear in it. The fit keeps the fitted figures where the description has them, which
// is where it found them. Fractions are exact, so that every host finds the same.
type refit struct {
	params  []machines.Param
	figures []int        // indices of the points that they are fitted on
	slope   [][]*big.Rat // cycles of a point by cycles of a parameter: point, parameter
}

// probeStep is the difference in cycles by which slopes are taken.
const probeStep = 60

// newRefit finds the fitted numbers and the points of their figures.
func newRefit(m *machines.Machine, p *schema.Plan) (*refit, error) {
	f := &refit{params: m.FittedParams()}
	if len(f.params) == 0 {
		return nil, fmt.Errorf("machine %s has no fitted number: leave --refit away", m.Name)
	}
	for i := range p.Points {
		if slices.Contains(m.FittedOn(), p.Points[i].Probe.Name) && p.Points[i].Published() != nil {
			f.figures = append(f.figures, i)
		}
	}
	if !m.CalibratedBy(p.Name, p.File) || len(f.figures) < len(f.params) {
		return nil, fmt.Errorf("machine %s is fitted on %s of %s, which %s has not: leave --refit away", m.Name,
			strings.Join(m.FittedOn(), ", "), m.Experiment, p.Name)
	}
	return f, nil
}

// value is the present number, in cycles.
func value(p machines.Param) *big.Rat {
	t, err := clock.Parse(strings.ReplaceAll(p.Value, "_", ""))
	if err != nil {
		return new(big.Rat) // the description was checked
	}
	return big.NewRat(int64(t), int64(clock.PerCycle))
}

// probe is the option that moves a fitted number by a step.
func (f *refit) probe(p machines.Param) string {
	v := new(big.Rat).Add(value(p), big.NewRat(probeStep, 1))
	return "machine." + p.Path + "=" + v.RatString()
}

// slopes notes what every point does when a fitted number moves.
func (f *refit) slopes(base []*big.Rat, moved []*trial) error {
	f.slope = make([][]*big.Rat, len(base))
	for j, t := range moved {
		to := t.of()
		if to == nil {
			return fmt.Errorf("%s cannot be %d cycles larger, so that it cannot be fitted", f.params[j].Path, probeStep)
		}
		for i := range base {
			d := new(big.Rat).Sub(to[i], base[i])
			f.slope[i] = append(f.slope[i], d.Quo(d, big.NewRat(probeStep, 1)))
		}
	}
	if f.step(make([]*big.Rat, len(base))) == nil {
		return fmt.Errorf("the figures of %s do not determine its fitted numbers", f.params[0].Pos.File)
	}
	return nil
}

// apply returns the points after the fit, and the first number that it would take below zero.
func (f *refit) apply(base, to []*big.Rat) (out []*big.Rat, below string) {
	miss := make([]*big.Rat, len(base))
	for i := range base {
		miss[i] = new(big.Rat).Sub(base[i], to[i])
	}
	d := f.step(miss)
	for j, p := range f.params {
		if below == "" && new(big.Rat).Add(value(p), d[j]).Sign() < 0 {
			below = p.Path
		}
	}
	for i := range to {
		sum := new(big.Rat).Set(to[i])
		for j := range d {
			sum.Add(sum, new(big.Rat).Mul(f.slope[i][j], d[j]))
		}
		out = append(out, sum)
	}
	return out, below
}

// step solves for the numbers that take up miss at the fitted points, in the mean of squares: the normal
// equations, by elimination. It returns nil when there is no single solution.
func (f *refit) step(miss []*big.Rat) []*big.Rat {
	n := len(f.params)
	rows := make([][]*big.Rat, n)
	for j := range rows {
		rows[j] = make([]*big.Rat, n+1)
		for k := range rows[j] {
			rows[j][k] = new(big.Rat)
		}
		for _, i := range f.figures {
			for k := range n {
				rows[j][k].Add(rows[j][k], new(big.Rat).Mul(f.slope[i][j], f.slope[i][k]))
			}
			if miss[i] != nil {
				rows[j][n].Add(rows[j][n], new(big.Rat).Mul(f.slope[i][j], miss[i]))
			}
		}
	}
	return eliminate(rows)
}

// eliminate solves linear equations, of which each row has its right side last, or returns nil.
func eliminate(rows [][]*big.Rat) []*big.Rat {
	n := len(rows)
	for c := range n {
		p := slices.IndexFunc(rows[c:], func(r []*big.Rat) bool { return r[c].Sign() != 0 })
		if p < 0 {
			return nil
		}
		rows[c], rows[c+p] = rows[c+p], rows[c]
		for r := range n {
			if r == c || rows[r][c].Sign() == 0 {
				continue
			}
			by := new(big.Rat).Quo(rows[r][c], rows[c][c])
			for k := c; k <= n; k++ {
				rows[r][k].Sub(rows[r][k], new(big.Rat).Mul(by, rows[c][k]))
			}
		}
	}
	out := make([]*big.Rat, n)
	for c := range n {
		out[c] = new(big.Rat).Quo(rows[c][n], rows[c][c])
	}
	return out
}

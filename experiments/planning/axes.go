package planning

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"kprobesim/internal/doc"
	"kprobesim/results"
)

// column makes a swept key a column of results: quantities in the base unit of their dimension, numbers without one as they
// are, everything else as text.
func (a axis) column() results.Axis {
	out := results.Axis{Key: strings.Join(a.path, "."), Cells: map[string]string{}}
	if last := a.path[len(a.path)-1]; slices.ContainsFunc(doc.Dimensions(), func(d doc.Dimension) bool { return d.Units[0].Name == last }) {
		out.Unit = last // such as machine.event.trap.cycles
	}
	for _, d := range doc.Dimensions() {
		if cells := a.in(d); cells != nil {
			out.Unit, out.Cells = d.Units[0].Name, cells
			return out
		}
	}
	for _, v := range a.values {
		if n, err := strconv.ParseInt(strings.ReplaceAll(v.Text, "_", ""), 0, 64); err == nil && v.Kind == doc.Integer {
			out.Cells[v.Text] = strconv.FormatInt(n, 10)
		}
	}
	return out
}

// in returns the values as numbers in the base unit of a dimension, nil if one is no quantity of it, or no decimal number.
func (a axis) in(d doc.Dimension) map[string]string {
	cells := map[string]string{}
	for _, v := range a.values {
		q, err := d.Parse(false)(v)
		if err != nil {
			return nil
		}
		n, err := results.Rational(q.Value)
		if back, ok := new(big.Rat).SetString(n.String()); err != nil || !ok || back.Cmp(q.Value) != 0 {
			return nil
		}
		cells[valueText(v)] = n.String()
	}
	return cells
}

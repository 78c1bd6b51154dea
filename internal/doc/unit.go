package doc

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Quantity is an exact number with the unit it was written in.
// The value is a rational, because a float would make 0.1 us another number than 100 ns.
type Quantity struct {
	Value    *big.Rat // in the base unit of its dimension
	Written  string   // the number as written, without its unit
	Decimals int      // digits after the decimal point as written
	Shift    int      // decimal places that the unit adds to them: 3 for ns in us
}

// Dimension is a set of units with their size in the base unit, which is the first one. Factors are
// fractions such as "1/1000".
// The factors are text, so that a table of units reads as it is written in files.
type Dimension struct {
	Name  string
	Units []Unit
}

// Unit is one unit of a dimension.
type Unit struct{ Name, Factor string }

// Frequency returns the dimension with base Hz.
func Frequency() Dimension {
	return Dimension{"frequency", []Unit{
		{"Hz", "1"},
		{"kHz", "1000"},
		{"MHz", "1000000"},
		{"GHz", "1000000000"},
	}}
}

// Size returns the dimension with base byte.
// There are only powers of 1024: KB would leave open which kilo is meant.
func Size() Dimension {
	return Dimension{"size", []Unit{
		{"B", "1"},
		{"KiB", "1024"},
		{"MiB", "1048576"},
		{"GiB", "1073741824"},
	}}
}

// Time returns the dimension with base microsecond.
func Time() Dimension {
	return Dimension{"time", []Unit{{"us", "1"}, {"ns", "1/1000"}, {"ms", "1000"}, {"s", "1000000"}}}
}

// Share returns the dimension with base per cent. A bare number is refused, as 0.2 could be meant.
func Share() Dimension { return Dimension{"share", []Unit{{"%", "1"}}} }

// Cycles returns the dimension with base cycle.
func Cycles() Dimension { return Dimension{"number of cycles", []Unit{{"cycles", "1"}}} }

// number is an unsigned integer, decimal or fraction, short enough that no rational explodes.
//
// It is compiled once: a machine description has hundreds of numbers, and every point of an experiment reads one.
var number = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9][0-9_]{0,23})(\.[0-9]{1,12})?(/[1-9][0-9]{0,11})?$`)
})

// Parse returns a parser of quantities of dimension d. With bare set, a number without unit is in
// the base unit.
func (d Dimension) Parse(bare bool) func(*Node) (Quantity, error) {
	return func(n *Node) (Quantity, error) {
		if n.describe("string") {
			n.made.schema.free, n.made.schema.text = true, fmt.Sprintf("a %s: a number and one of %s", d.Name, d.names())
			if bare {
				n.describe("integer", "number")
			}
			return Quantity{Value: new(big.Rat).SetInt64(1), Written: "1"}, nil
		}
		if n.Kind == Table || n.Kind == Array || n.Kind == Bool {
			return Quantity{}, fmt.Errorf("want a %s, not %s", d.Name, n.Kind)
		}
		num, unit := splitUnit(n.Text)
		if unit == "" && bare {
			unit = d.Units[0].Name
		}
		i := slices.IndexFunc(d.Units, func(u Unit) bool { return u.Name == unit })
		if i < 0 {
			return Quantity{}, fmt.Errorf("%q is no %s: want a number and one of %s", n.Text,
				d.Name, d.names())
		}
		return parseNumber(num, d.Units[i].Factor)
	}
}

func (d Dimension) names() string {
	var out []string
	for _, u := range d.Units {
		out = append(out, u.Name)
	}
	return strings.Join(out, ", ")
}

// splitUnit parts "2.33 GHz" into number and unit.
// The number ends with its last digit, so the units of this package have no digits.
func splitUnit(s string) (num, unit string) {
	s = strings.TrimSpace(s)
	i := strings.LastIndexAny(s, "0123456789") + 1
	return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i:])
}

func parseNumber(num, factor string) (Quantity, error) {
	m := number().FindStringSubmatch(num)
	if m == nil || m[2] != "" && m[3] != "" {
		return Quantity{}, fmt.Errorf("%q is no number that is zero or more: write 14, 1.5 or 1/3",
			num)
	}
	v, f := exact(strings.ReplaceAll(num, "_", "")), exact(factor)
	return Quantity{v.Mul(v, f), num, max(0, len(m[2])-1), len(f.Denom().String()) - 1}, nil
}

// exact reads a number that is known to be one.
func exact(text string) *big.Rat {
	v, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(fmt.Sprintf("doc: %q is no number", text))
	}
	return v
}

// Whole returns a parser of quantities of d that are whole numbers of base units from lo to hi.
func (d Dimension) Whole(bare bool, lo, hi int64) func(*Node) (int64, error) {
	parse := d.Parse(bare)
	return func(n *Node) (int64, error) {
		q, err := parse(n)
		if err != nil {
			return 0, err
		}
		switch {
		case q.Value.Cmp(new(big.Rat).SetInt64(lo)) < 0 || q.Value.Cmp(new(big.Rat).SetInt64(hi)) > 0:
			return 0, fmt.Errorf("%s is outside %s to %s", strings.TrimSpace(n.Text), d.write(lo), d.write(hi))
		case !q.Value.IsInt():
			return 0, fmt.Errorf("%s is no whole number of %s", strings.TrimSpace(n.Text), d.Units[0].Name)
		}
		return q.Value.Num().Int64(), nil
	}
}

// Dimensions lists all dimensions. No two have a unit in common.
func Dimensions() []Dimension { return []Dimension{Frequency(), Size(), Time(), Share(), Cycles()} }

// write returns a number of base units in the largest unit that it is a whole number of.
func (d Dimension) write(v int64) string {
	best, unit := new(big.Rat).SetInt64(v), d.Units[0].Name
	for _, u := range d.Units {
		if q := new(big.Rat).Quo(new(big.Rat).SetInt64(v), exact(u.Factor)); q.IsInt() && q.Cmp(best) < 0 {
			best, unit = q, u.Name
		}
	}
	return best.Num().String() + " " + unit
}

package sensitivity

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"kprobesim/internal/clock"
	"kprobesim/machines"
)

// Number is one number of a machine description with the ends of its range as a setting writes them. An
// end that is the number itself is "".
type Number struct {
	machines.Param
	Low, High string
	With      string // path of another number that goes along; "" for none
	cost      bool   // whether it is a number of cycles
}

// Name is the path without what every cost has, and the table of two numbers that go together.
func (n *Number) Name() string {
	if n.With != "" {
		return n.Path[:strings.LastIndex(n.Path, ".")]
	}
	return strings.TrimSuffix(n.Path, ".cycles")
}

// settings are the options that give the number a value.
func (n *Number) settings(value string) []string {
	sets := []string{"machine." + n.Path + "=" + value}
	if n.With != "" {
		sets = append(sets, "machine."+n.With+"="+value)
	}
	return sets
}

// Doubt says by how much the number is varied and why.
func (n *Number) Doubt() string {
	switch {
	case n.Uncertainty.Stated:
		return n.Uncertainty.String() + ", stated"
	case n.prior():
		return n.Uncertainty.String() + ", prior"
	}
	return n.Uncertainty.String() + ", sourced"
}

// prior tells a number that was assumed.
func (n *Number) prior() bool { return strings.Contains(n.Source, "prior") }

// Left counts the numbers of a description that are not varied, by the reason.
type Left struct {
	Fitted  int // they are not sourced
	Exact   int // counts, sizes and frequencies that were read in a source
	Zero    int // costs of nothing, of which a share is nothing
	Refused int // the description does not take either end
	Unused  int // no row moves with them
}

// costKeys are the keys of numbers of cycles, of which any fraction can be a cost.
func costKeys() []string {
	return []string{"cycles", "more", "issue", "latency", "occupancy"}
}

// doubling are the keys of numbers that come in powers of two, so that the next ones are half and double.
func doubling() []string {
	return []string{"size", "entries", "large_entries", "target_entries", "fetch_bytes"}
}

// frequencies are no costs: the clock of a machine was read off it.
func frequencies() []string { return []string{"frequency", "timer"} }

// numbers parts the numbers of a description into those that can be varied and those that are left out.
func numbers(m *machines.Machine) (vary []Number, left Left) {
	for _, p := range m.Params {
		key := p.Path[strings.LastIndex(p.Path, ".")+1:]
		switch {
		case len(p.Fitted) > 0:
			left.Fitted++
		case key == "same_as":
			// a name, and no number
		case slices.Contains(costKeys(), key):
			if n := cost(p); n.Low+n.High != "" {
				vary = append(vary, n)
			} else {
				left.Zero++
			}
		default:
			if n := count(p, key); n.Low+n.High != "" {
				vary = append(vary, n)
			} else {
				left.Exact++
			}
		}
	}
	return joined(m, vary), left
}

// joined makes one number of the issue and the latency of a class that waits for everything, where they
// are one figure written twice: it costs the larger of the two, so neither alone can make it cheaper.
func joined(m *machines.Machine, vary []Number) []Number {
	for name, k := range m.CPU.Classes {
		if !k.Serialize || k.Issue != k.Latency {
			continue
		}
		find := func(key string) int {
			return slices.IndexFunc(vary, func(n Number) bool { return n.Path == "cost."+name+"."+key })
		}
		if i, l := find("issue"), find("latency"); i >= 0 && l >= 0 {
			vary[i].With = vary[l].Path
			vary = slices.Delete(vary, l, l+1)
		}
	}
	return vary
}

// cost spreads a number of cycles. The ends are whole ticks, at least one away from it.
func cost(p machines.Param) Number {
	n := Number{Param: p, cost: true}
	value, err := clock.Parse(strings.ReplaceAll(p.Value, "_", ""))
	if err != nil {
		return n // the description was checked, so this does not happen
	}
	by := p.Uncertainty.Amount * float64(clock.PerCycle)
	if !p.Uncertainty.Cycles {
		by = float64(value) * p.Uncertainty.Amount / 100
	}
	d := clock.Ticks(math.Ceil(by - 1e-9))
	if d == 0 {
		return n
	}
	n.High = ticks(value + d)
	if value > 0 {
		n.Low = ticks(max(0, value-d))
	}
	return n
}

// ticks writes a time as a description does.
func ticks(t clock.Ticks) string {
	if hundredths := t * 100; hundredths%clock.PerCycle == 0 {
		return strconv.FormatFloat(float64(hundredths/clock.PerCycle)/100, 'f', -1, 64)
	}
	return fmt.Sprintf("%d/%d", t, clock.PerCycle)
}

// count spreads a number of things. What was read in a source is exact; a prior, or a number with a
// stated uncertainty, goes to the next ones.
func count(p machines.Param, key string) Number {
	n := Number{Param: p}
	if slices.Contains(frequencies(), key) || !p.Uncertainty.Stated && !n.prior() || p.Uncertainty.Amount == 0 {
		return n
	}
	digits := strings.IndexFunc(p.Value+" ", func(c rune) bool { return c < '0' || c > '9' })
	v, err := strconv.ParseInt(p.Value[:digits], 10, 64)
	if err != nil {
		return n
	}
	unit := p.Value[digits:]
	if slices.Contains(doubling(), key) {
		n.Low, n.High = end(v, v/2, unit), end(v, v*2, unit)
		return n
	}
	d := max(1, int64(math.Round(float64(v)*p.Uncertainty.Amount/100)))
	if key == "history_bits" || key == "table_bits" {
		d = 1 // one bit doubles a table
	}
	n.Low, n.High = end(v, v-d, unit), end(v, v+d, unit)
	return n
}

// end writes one end of a count, "" for one that there cannot be.
func end(v, to int64, unit string) string {
	if to < 1 || to == v {
		return ""
	}
	return strconv.FormatInt(to, 10) + unit
}

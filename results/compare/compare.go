// Package compare says what moved between two sets of results, what follows from what, and which of their inputs
// differ.
//
// A change of one cost moves dozens of figures: cycles, the same in microseconds, the error against the published
// figure, and the phases that the cycles went to. Here they are one finding. Findings are grouped by experiment and
// point, largest first. Rules of a file may allow a metric some room, or excuse a finding until a day.
package compare

import (
	"cmp"
	"slices"

	"kprobesim/results"
	"kprobesim/results/formats"
)

// Verdict says what a finding means for who checks.
type Verdict string

// The verdicts. Moved alone is a regression.
const (
	Moved   Verdict = "moved"
	allowed Verdict = "allowed" // within a threshold
	waived  Verdict = "waived"  // excused until a day
)

// Finding is a figure that differs, with what follows from it.
type Finding struct {
	Change
	Parts   []Change // what the figure is the sum of and moved too, largest first
	Follow  []string // metrics that moved because they are computed from this one
	Verdict Verdict
	Why     string // of a verdict other than Moved: the rule and where it stands
}

// Place is a point with its findings, largest first. Missing and Added are metrics that only one side has.
type Place struct {
	results.Point
	Findings       []Finding
	Missing, Added []results.Record
}

// Comparison is the outcome for one experiment.
type Comparison struct {
	Name     string // of the experiment
	Old, New string // what was compared, for people: a file, a directory, a revision
	Records  int    // how many records the new side has
	Places   []Place
	Causes   []string // which inputs differ, one a line
	Notes    []string // rules that no longer hold
}

// Sides are two sets of results and what they were made from. Unknown inputs are nil.
type Sides struct {
	Name             string
	OldName, NewName string
	Old, New         *results.Set
	OldKeys, NewKeys formats.Keys
}

// Compare compares two sides under rules. A nil Rules allows nothing.
func Compare(s Sides, rules *Rules) *Comparison {
	old, now := s.Old, s.New
	if rules != nil && rules.Means {
		old, now = results.Means(old), results.Means(now)
	}
	c := &Comparison{Name: s.Name, Old: s.OldName, New: s.NewName, Records: now.Len()}
	d := Exact(old, now)
	for _, p := range places(d) {
		for i := range p.Findings {
			f := &p.Findings[i]
			f.Verdict, f.Why = rules.judge(f.Change)
		}
		c.Places = append(c.Places, p)
	}
	if len(c.Places) > 0 {
		c.Causes = causes(s.OldKeys, s.NewKeys)
	}
	c.Notes = rules.stale(s.Name)
	return c
}

// Failed reports whether anything moved that no rule allows, or is on one side alone.
func (c *Comparison) Failed() bool { return slices.ContainsFunc(c.Places, Place.failed) }

func (p Place) failed() bool {
	return len(p.Missing)+len(p.Added) > 0 ||
		slices.ContainsFunc(p.Findings, func(f Finding) bool { return f.Verdict == Moved })
}

// Count returns how many findings have a verdict.
func (c *Comparison) Count(v Verdict) int {
	n := 0
	for _, p := range c.Places {
		for _, f := range p.Findings {
			if f.Verdict == v {
				n++
			}
		}
	}
	return n
}

// places groups what differs by point, and folds what follows from something else. The point with the largest
// change comes first.
func places(d Diff) []Place {
	var order []results.Point
	by := map[results.Point]*Place{}
	moved := map[results.Point][]Change{}
	at := func(p results.Point) *Place {
		if by[p] == nil {
			by[p] = &Place{Point: p}
			order = append(order, p)
		}
		return by[p]
	}
	for _, c := range d.Moved {
		at(c.Old.Point)
		moved[c.Old.Point] = append(moved[c.Old.Point], c)
	}
	for _, r := range d.Missing {
		p := at(r.Point)
		p.Missing = append(p.Missing, r)
	}
	for _, r := range d.Added {
		p := at(r.Point)
		p.Added = append(p.Added, r)
	}
	out := make([]Place, len(order))
	for i, p := range order {
		out[i] = *by[p]
		out[i].Findings = fold(moved[p])
	}
	slices.SortStableFunc(out, func(a, b Place) int { return cmp.Compare(b.size(), a.size()) })
	return out
}

// size orders points: by the largest change in percent. Points that are on one side alone come first.
func (p Place) size() float64 {
	if len(p.Missing)+len(p.Added) > 0 && len(p.Findings) == 0 {
		return 1e18
	}
	most := 0.0
	for _, f := range p.Findings {
		most = max(most, size(f.Change))
	}
	return most
}

// size is how large a change is in percent of what was there; from zero it counts as a hundredfold.
func size(c Change) float64 {
	switch {
	case c.HasPercent:
		return c.Percent.Abs().Float()
	case c.Delta.IsZero():
		return 0
	default:
		return 1e4
	}
}

package sensitivity

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/machines"
)

// Analysis varies the numbers of the machine of one experiment.
type Analysis struct {
	Plan    *schema.Plan // with the numbers as they are
	Machine *machines.Machine
	Left    Left
	Effects []Effect // of the numbers that move a row
	Notes   []string // of the fit

	loader  *planning.Loader
	name    string
	sets    []string // of the options, and what shortens points
	numbers []Number
	base    []*big.Rat // cycles of a hit of every point, with the numbers as they are
	hits    []int64    // that were counted of every point
	fit     *refit     // or nil

	measured int // points of the batches so far
	expected int // points of all batches, at most

	shortened bool // whether the last of sets is our own
}

// user returns the settings of the options.
func (a *Analysis) user() []string {
	if a.shortened {
		return a.sets[:len(a.sets)-1]
	}
	return a.sets
}

// Effect is the change that one number makes to every row.
type Effect struct {
	Number
	AtLow, AtHigh []*big.Rat // cycles of a hit of every point; nil for an end that there is not
}

// mostHits bounds the calls of a point: warm hits hardly differ, and an analysis takes hundreds of runs.
const mostHits = 100

// New reads an experiment of the overhead of a hit with the options of --set, and finds the numbers to vary.
func New(l *planning.Loader, name string, sets []string, fitAgain bool) (*Analysis, error) {
	a := &Analysis{loader: l, name: name, sets: slices.Clone(sets)}
	plan, err := l.Plan(name, a.sets)
	if err != nil {
		return nil, err
	}
	if err := a.check(plan); err != nil {
		return nil, err
	}
	for _, pt := range plan.Points {
		if pt.Workload.Hits > mostHits {
			a.sets, a.shortened = append(a.sets, fmt.Sprintf("workload.hits=%d", mostHits)), true
			plan, err = l.Plan(name, a.sets)
			break
		}
	}
	a.Plan = plan
	a.numbers, a.Left = numbers(a.Machine)
	if err == nil && fitAgain {
		a.fit, err = newRefit(a.Machine, plan)
	}
	if err == nil {
		a.expected = a.trials() * len(plan.Points)
	}
	return a, err
}

// Most is how many points are measured at most: some ends of numbers are left out when the others move nothing.
func (a *Analysis) Most() int { return a.expected }

// trials is how many runs of the experiment there are at most.
func (a *Analysis) trials() int {
	n := 1
	for _, x := range a.numbers {
		for _, end := range []string{x.Low, x.High} {
			if end != "" {
				n++
			}
		}
	}
	if a.fit != nil {
		n += len(a.fit.params)
	}
	return n
}

// check refuses what has no single machine, or no overhead.
func (a *Analysis) check(p *schema.Plan) error {
	switch {
	case len(p.Collected) > 0:
		return fmt.Errorf("%s collects experiments on several machines: name one of them: %v", p.Name, p.Collected)
	case p.Kind != schema.KindOverhead:
		return fmt.Errorf("%s is of kind %s: only the overhead of a hit (kind %s) is analysed", p.Name, p.Kind, schema.KindOverhead)
	}
	a.Machine = p.Points[0].Machine
	for _, pt := range p.Points {
		if pt.Replicate > 0 {
			return fmt.Errorf("%s has replicates: an analysis compares runs of one layout, so set replicates=1", p.Name)
		}
		if pt.Machine.Name != a.Machine.Name || !reflect.DeepEqual(pt.Machine.CPU, a.Machine.CPU) {
			return fmt.Errorf("%s sweeps its machine: an analysis needs one (set the swept key with --set)", p.Name)
		}
	}
	return nil
}

// trial is one run of the experiment: with the end of a number, or with a fitted number moved.
type trial struct {
	plan  *schema.Plan
	first int // index of its first point in its batch
	rows  []*big.Rat
	hits  []int64
}

// batch collects trials, whose points run together.
type batch struct {
	a      *Analysis
	trials []*trial
	points []schema.Point
}

// add plans a trial. An end that the description refuses has none.
func (b *batch) add(sets ...string) *trial {
	p, err := b.a.loader.Plan(b.a.name, slices.Concat(b.a.sets, sets))
	if err != nil {
		return nil
	}
	t := &trial{plan: p, first: len(b.points)}
	b.trials = append(b.trials, t)
	b.points = append(b.points, p.Points...)
	return t
}

// run runs the points of all trials, several at a time, and gives each trial its cycles of a hit.
func (b *batch) run(r *running.Runner) error {
	light, before := *r, b.a.measured
	if r.Progress != nil {
		light.Progress = func(done, _ int, o *running.Outcome) { r.Progress(before+done, b.a.expected, o) }
	}
	b.a.measured += len(b.points)
	light.Measure = func(p *schema.Point) (*kinds.Measurement, error) {
		m, err := r.Measure(p)
		if err == nil {
			m.Profile, m.Accounts = nil, nil // hundreds are kept
		}
		return m, err
	}
	var all []*big.Rat
	var hits []int64
	var errs []error
	for _, o := range light.Run(&schema.Plan{Name: b.a.Plan.Name, Points: b.points}) {
		err := o.Err
		if err == nil {
			err = o.Measurement.AllHandled()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("point %s on %s: %w", o.Point.Name, o.Point.Machine.Name, err))
			continue
		}
		over := o.Measurement.Over()
		all = append(all, big.NewRat(int64(over.Time), int64(clock.PerCycle)*o.Measurement.Hits))
		hits = append(hits, o.Measurement.Hits)
	}
	if n := len(errs); n > 0 {
		if n > 3 {
			errs = append(errs[:3], fmt.Errorf("and %d more", n-3))
		}
		return errors.Join(errs...)
	}
	for _, t := range b.trials {
		end := t.first + len(t.plan.Points)
		t.rows, t.hits = all[t.first:end], hits[t.first:end]
	}
	return nil
}

// of returns the cycles of a trial, nil for one that there is not.
func (t *trial) of() []*big.Rat {
	if t == nil {
		return nil
	}
	return t.rows
}

// Everything returns the points of all trials: no end is left out because another one moves nothing.
func (a *Analysis) Everything() *schema.Plan {
	b := &batch{a: a}
	b.add()
	for _, n := range a.numbers {
		for _, end := range []string{n.Low, n.High} {
			if end != "" {
				b.add(n.settings(end)...)
			}
		}
	}
	if a.fit != nil {
		for _, p := range a.fit.params {
			b.add(a.fit.probe(p))
		}
	}
	return &schema.Plan{Name: a.Plan.Name, Points: b.points}
}

// ends are the trials of one number.
type ends struct{ low, high *trial }

// Run varies every number and keeps the effects of those that move a row. A cost that does nothing when
// it grows does nothing when it shrinks, so that its low end is not run.
func (a *Analysis) Run(r *running.Runner) error {
	b := &batch{a: a}
	base := b.add()
	all := make([]ends, len(a.numbers))
	for i, n := range a.numbers {
		if n.High != "" {
			all[i].high = b.add(n.settings(n.High)...)
		}
		if n.Low != "" && (!n.cost || all[i].high == nil) {
			all[i].low = b.add(n.settings(n.Low)...)
		}
	}
	var moved []*trial
	if a.fit != nil {
		for _, p := range a.fit.params {
			moved = append(moved, b.add(a.fit.probe(p)))
		}
	}
	if err := b.run(r); err != nil {
		return err
	}
	a.base, a.hits = base.of(), base.hits
	if a.fit != nil {
		if err := a.fit.slopes(a.base, moved); err != nil {
			return err
		}
	}
	if err := a.runLow(r, all); err != nil {
		return err
	}
	for i, n := range a.numbers {
		if all[i].low == nil && all[i].high == nil {
			a.Left.Refused++
			continue
		}
		a.keep(Effect{n, all[i].low.of(), all[i].high.of()})
	}
	return nil
}

// runLow runs the low ends of the costs whose high end moves a row.
func (a *Analysis) runLow(r *running.Runner, all []ends) error {
	b := &batch{a: a}
	for i, n := range a.numbers {
		if n.Low != "" && all[i].low == nil && all[i].high != nil && !a.same(all[i].high.of()) {
			all[i].low = b.add(n.settings(n.Low)...)
		}
	}
	a.expected = a.measured + len(b.points)
	return b.run(r)
}

// same reports whether no row moves. An end that there is not moves none.
func (a *Analysis) same(to []*big.Rat) bool {
	return to == nil || slices.EqualFunc(to, a.base, func(x, y *big.Rat) bool { return x.Cmp(y) == 0 })
}

// keep keeps an effect that moves a row, after the fitted numbers have taken it up.
func (a *Analysis) keep(e Effect) {
	if a.same(e.AtLow) && a.same(e.AtHigh) {
		a.Left.Unused++
		return
	}
	if a.fit != nil {
		e.AtLow, e.AtHigh = a.refitted(&e, e.Low, e.AtLow), a.refitted(&e, e.High, e.AtHigh)
	}
	a.Effects = append(a.Effects, e)
}

// refitted returns the rows after the fitted numbers have made up for one end of a number.
func (a *Analysis) refitted(e *Effect, end string, to []*big.Rat) []*big.Rat {
	if to == nil {
		return nil
	}
	out, below := a.fit.apply(a.base, to)
	if below != "" {
		a.Notes = append(a.Notes, fmt.Sprintf("with %s = %s the fit would take %s below zero", e.Name(), end, below))
	}
	return out
}

// change is the change of a row at one end of a number, in percent. A row that costs nothing has none.
func (a *Analysis) change(row int, to []*big.Rat) *big.Rat {
	if to == nil || a.base[row].Sign() == 0 {
		return new(big.Rat)
	}
	d := new(big.Rat).Sub(to[row], a.base[row])
	return d.Mul(d, big.NewRat(100, 1)).Quo(d, a.base[row])
}

// Percent is the same as a number for tables.
func (a *Analysis) Percent(row int, to []*big.Rat) float64 {
	f, _ := a.change(row, to).Float64()
	return f
}

// Swing is the larger of what a row moves at the two ends, without a sign.
func (a *Analysis) Swing(e *Effect, row int) float64 {
	return max(math.Abs(a.Percent(row, e.AtLow)), math.Abs(a.Percent(row, e.AtHigh)))
}

// Top returns the effects that move a row most, the largest first. Equal ones keep the order of the
// description.
func (a *Analysis) Top(row, most int) []Effect {
	out := slices.Clone(a.Effects)
	slices.SortStableFunc(out, func(x, y Effect) int {
		return cmp.Compare(a.Swing(&y, row), a.Swing(&x, row))
	})
	out = slices.DeleteFunc(out, func(e Effect) bool { return a.Swing(&e, row) < leastSwing })
	return out[:min(most, len(out))]
}

// leastSwing is the smallest change that the table shows, in percent.
const leastSwing = 0.05

// Together is by how much all numbers may move a row to either side, in percent, when none depends on
// another: the root of the sum of squares.
func (a *Analysis) Together(row int) float64 {
	sum := 0.0
	for i := range a.Effects {
		s := a.Swing(&a.Effects[i], row)
		sum += float64(s * s)
	}
	return math.Sqrt(sum)
}

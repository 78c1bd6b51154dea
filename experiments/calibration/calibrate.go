package calibration

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"kprobesim/experiments/planning"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/internal/doc"
	"kprobesim/machines"
	"kprobesim/results"
)

// Calibration fits the parameters of a machine that are marked fitted on published figures, or on measured ones.
type Calibration struct {
	Log func(line string) // told of every round; may be nil
	// Simulate has a kernel time its probes on a machine. A fit on measured figures needs it.
	Simulate func(*machines.Machine) (*results.Set, error)

	loader  *planning.Loader
	machine *machines.Machine
	name    string           // of the machine, as settings of an experiment can name it
	sets    []string         // further settings under which the experiment is run
	params  []machines.Param // to be fitted
	figures []string         // points whose published figures they are fitted on
	targets []float64
	own     float64 // cycles that were taken off the figures
	kernel  string  // release of the kernel that has measured them, or ""
}

// Without takes cycles off every figure before the fit: what the published loop is supposed to have spent
// itself at a hit. No publication says that it spent any. It is a hypothesis to be shown beside the fit
// without it.
func (c *Calibration) Without(cycles float64) {
	c.own += cycles
	for i := range c.targets {
		c.targets[i] -= cycles
	}
}

// Fit is the outcome of a calibration.
type Fit struct {
	Machine *machines.Machine
	Params  []machines.Param
	Cycles  []int64 // the proposed values, one a parameter
	Figures []FitFigure
	Stopped []Stop
	Own     float64 // cycles that were taken off the figures, see Without
	Origin  string  // of the figures: published or measured
}

// Stop is a parameter that a fit would have moved beyond what a number may be. What the fit gives is then
// the nearest that it can, and not a match.
type Stop struct {
	Param  string  // its path
	At     int64   // the bound, cycles
	Wanted float64 // where the figures would have it, the others staying as they are
}

// String says what stopped, and what follows from it.
func (s Stop) String() string {
	return fmt.Sprintf("%s stopped at %d cycles, the end of its range: the figures ask for %.0f, "+
		"so something else takes too long or too short", s.Param, s.At, s.Wanted)
}

// FitFigure is one figure of a fit, in cycles.
type FitFigure struct {
	Point               string
	Predicted, Expected float64
}

// New prepares the calibration of the machine of a name or path, the experiment being run under
// the given options of --set.
func New(l *planning.Loader, machine string, sets ...string) (*Calibration, error) {
	m, err := l.Machine(machine, "", nil)
	if err != nil {
		return nil, err
	}
	c := &Calibration{
		loader: l, machine: m, name: machine, params: m.FittedParams(),
		figures: m.FittedOn(), sets: sets,
	}
	if len(c.params) == 0 {
		return nil, fmt.Errorf("machine %s has no parameter marked fitted: there is nothing to calibrate", m.Name)
	}
	if m.InheritsFigures() {
		return nil, fmt.Errorf("machine %s inherits its fitted numbers from %s, and they are fitted on figures of that machine: "+
			"give it [calibration] with an experiment that has figures of its own", m.Name, m.FiguresOf)
	}
	if doc.IsPath(machine) {
		if c.name, err = filepath.Abs(machine); err != nil {
			return nil, err
		}
	}
	for _, p := range c.params {
		if !strings.HasSuffix(p.Path, ".cycles") && !slices.Contains(c.deliveries(), p.Path) {
			return nil, fmt.Errorf("%s: %s is fitted, but only numbers of cycles can be", p.Pos,
				p.Path)
		}
	}
	if m.Measured != "" {
		return c, c.findMeasured()
	}
	return c, c.findTargets()
}

// plan reads the machine's experiment with the parameters at x, and keeps the points of the
// figures.
func (c *Calibration) plan(x []int64) (*schema.Plan, error) {
	sets := append([]string{"machine=" + c.name}, c.sets...)
	for i, p := range c.params {
		sets = append(sets, fmt.Sprintf("machine.%s=%d", p.Path, x[i]))
	}
	// A fit would be of the mean of replicates only if each step ran them all; it is of the first one.
	p, err := c.loader.Plan(c.machine.Experiment, append(sets, "replicates=1"))
	if err != nil {
		return nil, fmt.Errorf("experiment of the calibration: %w", err)
	}
	if len(p.Collected) > 0 {
		return nil, fmt.Errorf("machine %s: experiment %s collects others: name the one with the figures in [calibration]",
			c.machine.Name, p.Name)
	}
	p.Points = slices.DeleteFunc(p.Points, func(pt schema.Point) bool {
		return !slices.Contains(c.figures, pt.Name)
	})
	return p, nil
}

// findTargets reads the published figures, in cycles.
func (c *Calibration) findTargets() error {
	p, err := c.plan(make([]int64, len(c.params)))
	if err != nil {
		return err
	}
	for _, name := range c.figures {
		pt, err := p.Point(name)
		if err != nil {
			return fmt.Errorf("machine %s is fitted on it: %w", c.machine.Name, err)
		}
		if pt.Probe.Published == nil {
			return fmt.Errorf("point %s of %s has no published figure to fit on", name, p.Name)
		}
		c.targets = append(c.targets, pt.Probe.Published.Micros.Float()*float64(c.machine.CPU.Hz)/1e6)
	}
	return nil
}

// predict runs the points of the figures with the parameters at x and returns cycles per hit.
func (c *Calibration) predict(r *running.Runner, x []int64) ([]float64, error) {
	if c.kernel != "" {
		return c.predictMeasured(x)
	}
	p, err := c.plan(x)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(c.figures))
	var errs []error
	for _, o := range r.Run(p) {
		err := o.Err
		if err == nil {
			err = o.Measurement.AllHandled()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("point %s: %w", o.Point.Name, err))
			continue
		}
		over := o.Measurement.Over()
		perHit := float64(clock.PerCycle) * float64(o.Measurement.Hits)
		out[slices.Index(c.figures, o.Point.Name)] = float64(over.Time) / perHit
	}
	return out, errors.Join(errs...)
}

// maxRounds bounds the search; a cost that is paid once a hit is found in two.
const maxRounds = 8

// Fit finds the whole numbers of cycles at which the predictions meet the figures, or come nearest to
// them: rounds of Gauss-Newton steps with differences for derivatives, until no parameter moves.
func (c *Calibration) Fit(r *running.Runner) (*Fit, error) {
	x := c.start()
	for round := range maxRounds {
		y, err := c.predict(r, x)
		if err != nil {
			return nil, err
		}
		c.log("round %d: parameters %v, predicted cycles %.1f, %s %.1f", round, x, y, c.origin(), c.targets)
		next, stopped, err := c.step(r, x, y)
		if err != nil {
			return nil, err
		}
		if slices.Equal(next, x) {
			return c.fit(x, y, stopped), nil
		}
		x = next
	}
	return nil, fmt.Errorf("no fit after %d rounds: the last parameters were %v", maxRounds, x)
}

func (c *Calibration) log(format string, args ...any) {
	if c.Log != nil {
		c.Log(fmt.Sprintf(format, args...))
	}
}

// start returns the present values, in whole cycles.
func (c *Calibration) start() []int64 {
	x := make([]int64, len(c.params))
	for i, p := range c.params {
		if t, err := clock.Parse(p.Value); err == nil { // the description was checked
			x[i] = t.Cycles()
		}
	}
	return x
}

// probeStep is the difference in cycles by which derivatives are taken.
const probeStep = 60

// step makes one Gauss-Newton step from x, where the predictions are y. A parameter that the step would
// take out of its range stays at the end, and the others are fitted without it.
func (c *Calibration) step(r *running.Runner, x []int64, y []float64) (next []int64, stopped []Stop, err error) {
	jac, err := c.slopes(r, x, y)
	if err != nil {
		return nil, nil, err
	}
	next = slices.Clone(x)
	miss := make([]float64, len(y)) // that the free parameters are to take up
	for i := range y {
		miss[i] = c.targets[i] - y[i]
	}
	free := make([]int, len(x))
	for j := range free {
		free[j] = j
	}
	for len(free) > 0 {
		d, err := solve(jac, free, miss)
		if err != nil {
			return nil, nil, fmt.Errorf("the figures %v do not determine the parameters: %w", c.figures, err)
		}
		for k, j := range free {
			next[j] = x[j] + int64(math.Round(d[k]))
		}
		out := slices.IndexFunc(free, func(j int) bool { return next[j] < 0 || next[j] > maxFitted })
		if out < 0 {
			break
		}
		j := free[out]
		next[j] = min(max(next[j], 0), maxFitted)
		stopped = append(stopped, Stop{c.params[j].Path, next[j], float64(x[j]) + d[out]})
		for i := range miss {
			miss[i] -= jac.At(i, j) * float64(next[j]-x[j])
		}
		free = slices.Delete(free, out, out+1)
	}
	return next, stopped, nil
}

// maxFitted is the largest number of cycles that a description can have, less what derivatives need.
const maxFitted = int64(machines.MaxCost/clock.PerCycle) - probeStep

// slopes returns by how much each figure moves with each parameter.
func (c *Calibration) slopes(r *running.Runner, x []int64, y []float64) (*mat.Dense, error) {
	jac := mat.NewDense(len(y), len(x), nil)
	for j := range x {
		moved := slices.Clone(x)
		moved[j] += probeStep
		z, err := c.predict(r, moved)
		if err != nil {
			return nil, err
		}
		if slices.Equal(z, y) {
			return nil, fmt.Errorf("%s moves none of the figures %v: fit it on another one, or not at all", c.params[j].Path, c.figures)
		}
		for i := range z {
			jac.Set(i, j, (z[i]-y[i])/probeStep)
		}
	}
	return jac, nil
}

// solve returns by how much the free parameters must move to take up miss, in the mean of squares.
func solve(jac *mat.Dense, free []int, miss []float64) ([]float64, error) {
	part := mat.NewDense(len(miss), len(free), nil)
	for i := range miss {
		for k, j := range free {
			part.Set(i, k, jac.At(i, j))
		}
	}
	var d mat.VecDense
	if err := d.SolveVec(part, mat.NewVecDense(len(miss), miss)); err != nil {
		return nil, err
	}
	out := make([]float64, len(free))
	for k := range out {
		out[k] = d.AtVec(k)
	}
	return out, nil
}

func (c *Calibration) fit(x []int64, y []float64, stopped []Stop) *Fit {
	f := &Fit{Machine: c.machine, Params: c.params, Cycles: x, Stopped: stopped, Own: c.own, Origin: c.origin()}
	for i, name := range c.figures {
		f.Figures = append(f.Figures, FitFigure{name, y[i], c.targets[i]})
	}
	return f
}

// Proposal returns the fitted parameters as TOML, with what they give in comments.
func (f *Fit) Proposal() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# proposal for machine %s (%s)\n", f.Machine.Name, f.Machine.File)
	less := ""
	if f.Own != 0 {
		less = fmt.Sprintf(" less %g", f.Own)
		fmt.Fprintf(&b, "# hypothesis, not a description: the %s loop spent %g cycles of each hit itself\n", f.Origin, f.Own)
	}
	for _, g := range f.Figures {
		fmt.Fprintf(&b, "# %s: %.1f cycles a hit, %s %.1f%s\n", g.Point, g.Predicted, f.Origin, g.Expected+f.Own, less)
	}
	for _, st := range f.Stopped {
		fmt.Fprintf(&b, "# NOT MET: %s\n", st)
	}
	for i, p := range f.Params {
		at := strings.LastIndex(p.Path, ".")
		fmt.Fprintf(&b, "\n[%s]\n%s = %d # was %s\n", p.Path[:at], p.Path[at+1:], f.Cycles[i], p.Value)
		fmt.Fprintf(&b, "fitted = [\"%s\"]\nsource = %q\n", strings.Join(p.Fitted, `", "`), p.Source)
	}
	return b.String()
}

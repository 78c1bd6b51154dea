package experiments

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"kprobesim/internal/clock"
)

// Calibration fits the parameters of a machine that are marked fitted on published figures.
type Calibration struct {
	Log func(line string) // told of every round; may be nil

	loader  *Loader
	machine *Machine
	name    string   // of the machine, as settings of an experiment can name it
	params  []Param  // to be fitted
	figures []string // points whose published figures they are fitted on
	targets []float64
}

// Fit is the outcome of a calibration.
type Fit struct {
	Machine *Machine
	Params  []Param
	Cycles  []int64 // the proposed values, one a parameter
	Figures []FitFigure
}

// FitFigure is one figure of a fit, in cycles.
type FitFigure struct {
	Point               string
	Predicted, Expected float64
}

// NewCalibration prepares the calibration of the machine of a name or path.
func NewCalibration(l *Loader, machine string) (*Calibration, error) {
	m, err := l.Machine(machine, "", nil)
	if err != nil {
		return nil, err
	}
	c := &Calibration{
		loader: l, machine: m, name: machine, params: m.FittedParams(),
		figures: m.FittedOn(),
	}
	if len(c.params) == 0 {
		return nil, fmt.Errorf("machine %s has no parameter marked fitted: there is nothing to calibrate", m.Name)
	}
	if isPath(machine) {
		if c.name, err = filepath.Abs(machine); err != nil {
			return nil, err
		}
	}
	for _, p := range c.params {
		if !strings.HasSuffix(p.Path, ".cycles") {
			return nil, fmt.Errorf("%s: %s is fitted, but only numbers of cycles can be", p.Pos,
				p.Path)
		}
	}
	return c, c.findTargets()
}

// plan reads the machine's experiment with the parameters at x, and keeps the points of the
// figures.
func (c *Calibration) plan(x []int64) (*Plan, error) {
	sets := []string{"machine=" + c.name}
	for i, p := range c.params {
		sets = append(sets, fmt.Sprintf("machine.%s=%d", p.Path, x[i]))
	}
	p, err := c.loader.Plan(c.machine.Experiment, sets)
	if err != nil {
		return nil, fmt.Errorf("experiment of the calibration: %w", err)
	}
	p.Points = slices.DeleteFunc(p.Points, func(pt Point) bool {
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
func (c *Calibration) predict(r *Runner, x []int64) ([]float64, error) {
	p, err := c.plan(x)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(c.figures))
	var errs []error
	for _, o := range r.Run(p) {
		if o.Err != nil {
			errs = append(errs, fmt.Errorf("point %s: %w", o.Point.Name, o.Err))
			continue
		}
		over := o.Measurement.Probed.sub(o.Measurement.Base)
		perHit := float64(clock.PerCycle) * float64(o.Measurement.Hits)
		out[slices.Index(c.figures, o.Point.Name)] = float64(over.Time) / perHit
	}
	return out, errors.Join(errs...)
}

// maxRounds bounds the search; a cost that is paid once a hit is found in two.
const maxRounds = 8

// Fit finds the whole numbers of cycles at which the predictions meet the figures: rounds of
// Gauss-Newton steps with differences for derivatives, until no parameter moves.
func (c *Calibration) Fit(r *Runner) (*Fit, error) {
	x := c.start()
	for round := range maxRounds {
		y, err := c.predict(r, x)
		if err != nil {
			return nil, err
		}
		c.log("round %d: parameters %v, predicted cycles %.1f, published %.1f", round, x, y,
			c.targets)
		next, err := c.step(r, x, y)
		if err != nil {
			return nil, err
		}
		if slices.Equal(next, x) {
			return c.fit(x, y), nil
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

// step makes one Gauss-Newton step from x, where the predictions are y.
func (c *Calibration) step(r *Runner, x []int64, y []float64) ([]int64, error) {
	jac := mat.NewDense(len(y), len(x), nil)
	for j := range x {
		moved := slices.Clone(x)
		moved[j] += probeStep
		z, err := c.predict(r, moved)
		if err != nil {
			return nil, err
		}
		for i := range z {
			jac.Set(i, j, (z[i]-y[i])/probeStep)
		}
	}
	miss := mat.NewVecDense(len(y), nil)
	for i := range y {
		miss.SetVec(i, c.targets[i]-y[i])
	}
	var d mat.VecDense
	if err := d.SolveVec(jac, miss); err != nil {
		return nil, fmt.Errorf("the figures %v do not determine the parameters: %w", c.figures, err)
	}
	next := slices.Clone(x)
	for j := range next {
		next[j] = max(0, x[j]+int64(math.Round(d.AtVec(j))))
	}
	return next, nil
}

func (c *Calibration) fit(x []int64, y []float64) *Fit {
	f := &Fit{Machine: c.machine, Params: c.params, Cycles: x}
	for i, name := range c.figures {
		f.Figures = append(f.Figures, FitFigure{name, y[i], c.targets[i]})
	}
	return f
}

// Proposal returns the fitted parameters as TOML, with what they give in comments.
func (f *Fit) Proposal() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# proposal for machine %s (%s)\n", f.Machine.Name, f.Machine.File)
	for _, g := range f.Figures {
		fmt.Fprintf(&b, "# %s: %.1f cycles a hit, published %.1f\n", g.Point, g.Predicted, g.Expected)
	}
	for i, p := range f.Params {
		fmt.Fprintf(&b, "\n[%s]\ncycles = %d # was %s\n", strings.TrimSuffix(p.Path, ".cycles"),
			f.Cycles[i], p.Value)
		fmt.Fprintf(&b, "fitted = [\"%s\"]\nsource = %q\n", strings.Join(p.Fitted, `", "`), p.Source)
	}
	return b.String()
}

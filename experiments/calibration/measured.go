package calibration

import (
	"fmt"
	"slices"
	"strings"

	"kprobesim/experiments/reports"
	"kprobesim/internal/doc"
	"kprobesim/results"
	"kprobesim/results/measured"
)

// deliveries are the keys of the machine's deliveries.
func (c *Calibration) deliveries() []string {
	for _, t := range c.loader.Targets {
		if t.Name == c.machine.ISA {
			return t.ISA.Deliveries
		}
	}
	return nil
}

// Kernel is the release of the kernel that has measured the figures, or "" of published ones.
func (c *Calibration) Kernel() string { return c.kernel }

// origin says where the figures come from.
func (c *Calibration) origin() string {
	if c.kernel != "" {
		return "measured"
	}
	return "published"
}

// findMeasured reads the figures that a kernel has measured on the machine, in cycles.
func (c *Calibration) findMeasured() error {
	for _, p := range c.params {
		if !slices.Contains(c.deliveries(), p.Path) {
			return fmt.Errorf("%s: %s is fitted on measured figures, and only these can be: %s", p.Pos, p.Path, strings.Join(c.deliveries(), ", "))
		}
	}
	k, err := reports.Load(c.machine.Measured)
	if err != nil {
		return fmt.Errorf("[calibration] measured of machine %s: %w", c.machine.Name, err)
	}
	for _, name := range c.figures {
		r, err := rowOf(k.Set, name)
		switch {
		case err != nil:
			return fmt.Errorf("machine %s is fitted on %s of %s: %w", c.machine.Name, name, k.Dir, err)
		case r.Role != results.Measured:
			return fmt.Errorf("%s: the figure of %s is %s, and not measured: nothing is fitted on it", k.Dir, name, r.Role)
		case r.Machine != c.machine.Name:
			return fmt.Errorf("%s has figures of machine %s, and nothing of %s is fitted on them (`kprobesim measure --read FILE --machine MACHINE` says whose they are)",
				k.Dir, r.Machine, c.machine.Name)
		}
		c.targets, c.kernel = append(c.targets, r.Value.Float()), r.Era
	}
	for _, set := range c.sets {
		if !strings.HasPrefix(strings.TrimSpace(set), "machine.") {
			return fmt.Errorf("--set %s: no experiment is run, as machine %s is fitted on measured figures; only keys of machine can be set", set, c.machine.Name)
		}
	}
	return nil
}

// rowOf finds the figure of a row that the module has timed.
func rowOf(s *results.Set, name string) (found results.Record, err error) {
	var have []string
	for r := range s.All() {
		switch {
		case r.Experiment != measured.Experiment || r.Metric != results.MetricCycles:
		case r.Probe == name:
			return r, nil
		default:
			have = append(have, r.Probe)
		}
	}
	return found, fmt.Errorf("there is no such row: %s%s", strings.Join(have, ", "), doc.Suggest(name, have))
}

// predictMeasured has the kernel time its probes with the parameters at x.
func (c *Calibration) predictMeasured(x []int64) ([]float64, error) {
	texts := slices.Clone(c.sets)
	for i, p := range c.params {
		texts = append(texts, fmt.Sprintf("machine.%s=%d", p.Path, x[i]))
	}
	var sets []doc.Setting
	for _, text := range texts {
		s, err := doc.ParseSetting(text)
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	m, err := c.loader.Machine(c.name, "", sets)
	if err != nil {
		return nil, err
	}
	s, err := c.Simulate(m)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(c.figures))
	for i, name := range c.figures {
		r, err := rowOf(s, name)
		if err != nil {
			return nil, fmt.Errorf("the simulated kernel: %w", err)
		}
		out[i] = r.Value.Float()
	}
	return out, nil
}

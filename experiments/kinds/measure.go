package kinds

import (
	"kprobesim/cpus"
	"kprobesim/experiments/schema"
	"kprobesim/sim"
)

// Measure boots a machine of its own for p and measures what the kind of the experiment says. Points
// share no state but the image, so they may be measured at the same time.
func Measure(p *schema.Point) (*Measurement, error) { return Observed(p, nil) }

// Observed is Measure with an observer that watch makes when the machine has booted; neither may
// change anything. Timelines use it.
func Observed(p *schema.Point, watch func(*sim.Machine) cpus.Observer) (*Measurement, error) {
	if alone := kindOf(p.Kind).alone; alone != nil {
		return alone(p, watch)
	}
	m := &Measurement{}
	err := boot(p, watch, func(s *session) error {
		err := kindOf(p.Kind).measure(s, m)
		m.Notes = append(m.Notes, s.facts...)
		if err == nil {
			err = s.unloadModules()
		}
		m.Console = s.m.Console()
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

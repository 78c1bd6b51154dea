package kinds

import (
	"slices"

	"kprobesim/experiments/schema"
	"kprobesim/modules"
	"kprobesim/workloads"
)

// register puts the point's probes into its kernel, behind the crowd or in front of it. A chain of the hash table
// begins with the probe that was registered last.
func (s *session) register() error {
	steps := []func() error{s.addCrowd, s.addOwn}
	if s.p.Crowd.Position == schema.Last {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// registerSettled registers the probes and waits until the optimizer has nothing left to do. Until then a hit of a probe
// that is to be optimized takes its breakpoint.
func (s *session) registerSettled() error {
	if err := s.register(); err != nil {
		return err
	}
	return s.probes.WaitOptimizer(s.call)
}

// addOwn registers the point's watchpoint, or its probes at the workload's target, and begins to count their hits.
func (s *session) addOwn() error {
	if w := s.p.Probe.Watch; w != nil {
		_, err := s.probes.AddWatch(s.call, w.Watch)
		return err
	}
	at := workloads.Site{Symbol: s.p.Workload.Target, Offset: s.p.Workload.Offset}
	if err := s.add(s.p.Probe.Registrations(), at); err != nil {
		return err
	}
	return s.count()
}

// add registers probes at each of some places. The handler of the last one at a place is called first. Modules that are
// loaded with probes come before, as they may have the handlers.
func (s *session) add(probes []schema.Registration, places ...workloads.Site) error {
	if err := s.loadModules(schema.LoadProbes); err != nil {
		return err
	}
	for _, at := range places {
		for _, r := range probes {
			p, err := s.probes.Add(s.call, r.Spec(at.Symbol, at.Offset))
			if err != nil {
				return err
			}
			s.active = append(s.active, registered{p, r})
		}
	}
	return nil
}

// loadModules loads the point's modules whose moment has come. A module is loaded once.
func (s *session) loadModules(moment string) error {
	waiting := s.waiting
	s.waiting = nil
	for _, m := range waiting {
		if m.Load != moment {
			s.waiting = append(s.waiting, m)
			continue
		}
		if err := s.loadModule(m); err != nil {
			return err
		}
	}
	return nil
}

// loadModule makes the machine's loader for the first module.
func (s *session) loadModule(m schema.Module) (err error) {
	if s.loader == nil {
		if s.loader, err = modules.New(s.m, s.k, s.probes); err != nil {
			return err
		}
	}
	mod, err := s.loader.Load(s.call, m.File, m.Parameters)
	if err != nil {
		return err
	}
	s.loaded = append(s.loaded, mod)
	return nil
}

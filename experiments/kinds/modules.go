package kinds

import (
	"fmt"

	"kprobesim/experiments/schema"
	"kprobesim/kprobes"
)

// unloadModules unloads the modules when all has been measured, so that their exit functions print what they have counted
// and a probe that is left behind is noticed. The point's own probes, whose handlers may be in a module, go first.
func (s *session) unloadModules() error {
	if s.loader == nil {
		return nil
	}
	for _, p := range s.active {
		if st, err := s.probes.State(p.Addr); err != nil || st.Mode == kprobes.Gone {
			continue // the kind of the experiment has removed it
		}
		if err := s.probes.Remove(s.call, p.Probe); err != nil {
			return fmt.Errorf("before the modules are unloaded: %w", err)
		}
	}
	return s.loader.UnloadAll(s.call)
}

// verifyPlanted notes the modes of the probes that modules have registered. The kernel chooses their mode, which is
// a fact beside the figure when the point asks for another one.
func (s *session) verifyPlanted() {
	for _, m := range s.loaded {
		for _, st := range s.loader.Probes(m) {
			if st.Mode != s.p.Probe.Mode {
				s.fact(fmt.Sprintf("the probe of module %s at %s+%#x is %s, not %s", m.Name, st.Symbol, st.Offset, st.Mode,
					schema.ModeWord(s.p.Probe.Mode)))
			}
		}
	}
}

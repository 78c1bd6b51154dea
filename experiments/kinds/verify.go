package kinds

import (
	"fmt"
	"slices"

	"kprobesim/experiments/schema"
	"kprobesim/internal/distinct"
	"kprobesim/kprobes"
)

// verify holds the probes against what the point wants to measure. A result for a probe in another mode would be wrong
// without a sign of it. Missed hits are counted, and shown beside the figure.
func (s *session) verify() error {
	s.verifyPlanted()
	for _, p := range s.active {
		st, err := s.probes.State(p.Addr)
		if err == nil {
			err = s.verifyOne(p, st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// verifyOne compares the state of a probe with the mode of the point. One that was registered disabled is
// to stay so.
func (s *session) verifyOne(p registered, st kprobes.State) error {
	want := s.p.Probe.Mode
	if p.Disabled {
		want = kprobes.Disabled
	}
	if st.Mode != want && len(s.p.Writes) == 0 { // a write changes the mode on purpose
		if err := s.otherMode(st, want); err != nil {
			return err
		}
	}
	return nil
}

// any reports whether one of the point's registrations is such.
func (s *session) any(such func(schema.Registration) bool) bool {
	return slices.ContainsFunc(s.p.Probe.Registrations(), such)
}

// otherMode says that a probe is in another mode than the point wants. A post handler changes the mode of
// every probe of its address, so there it is a fact beside the figure, and an error elsewhere. The error
// has the rule that refuses an optimization, so that the author of the experiment can choose another
// place.
func (s *session) otherMode(st kprobes.State, want kprobes.Mode) error {
	posted := s.any(func(r schema.Registration) bool { return r.Post != "" })
	why := map[kprobes.Mode]string{
		kprobes.Stepped:  "a post handler runs behind a single step, so there is nothing to boost or to optimize",
		kprobes.Emulated: "a post handler runs behind the emulation, and a detour calls none",
	}[st.Mode]
	if posted && why != "" && want != kprobes.Stepped {
		s.fact(fmt.Sprintf("asked for %s, reached %s: %s (rule %s)", want, st.Mode, why, kprobes.RulePostHandler))
		return nil
	}
	err := fmt.Errorf("the probe at %s+%#x is %s, not %s", st.Symbol, st.Offset, st.Mode, want)
	switch {
	case st.Refusal != nil && want == kprobes.Optimized:
		err = fmt.Errorf("%w: %s (rule %s)", err, st.Refusal.Text, st.Refusal.Rule)
	case st.Mode == kprobes.Stepped && want == kprobes.Emulated:
		err = fmt.Errorf("%w: the kernel's emulator does not do the instruction there", err)
	case want == kprobes.Ftrace && !s.probes.Traced():
		err = fmt.Errorf("%w: no function of kernel %s begins with a nop for the function tracer: choose another (`kprobesim list images`)", err, s.p.Image.Name)
	case want == kprobes.Ftrace:
		err = fmt.Errorf("%w: only the nop by which a function begins is called through ftrace: take offset 0 of a function that has one", err)
	}
	return err
}

// fact keeps a sentence for the notes of the measurement, once.
func (s *session) fact(text string) {
	s.facts = distinct.Append(s.facts, text)
}

package experiments

import (
	"bytes"
	"fmt"
	"io"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/sim"
)

// MeasurePoint boots a machine of its own for p and measures what the kind of the experiment says.
func MeasurePoint(p *Point) (*Measurement, error) { return observed(p, nil) }

// observed is MeasurePoint with an observer that watch makes when the machine has booted; neither may
// change anything.
func observed(p *Point, watch func(*sim.Machine) cpus.Observer) (*Measurement, error) {
	m := &Measurement{}
	err := boot(p, func(s *session) error {
		if watch != nil {
			s.observer = watch(s.m)
			s.observe(s.observer)
		}
		return kindOf(p.Kind).measure(s, m)
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// observe has every CPU's instructions told to o, nil for nobody.
func (s *session) observe(o cpus.Observer) {
	for i := range s.m.CPUs() {
		s.m.CPU(i).Observe(o)
	}
}

// overhead measures the loop without and with the probe.
func (s *session) overhead(m *Measurement) error {
	m.Hits = s.p.Workload.Hits
	if err := s.online(); err != nil {
		return err
	}
	plain, err := s.baseline(m)
	if err != nil {
		return fmt.Errorf("without the probe: %w", err)
	}
	if err := s.register(); err != nil {
		return err
	}
	return s.hits(m, plain)
}

// baseline measures the loop without a probe: warm-up, one call, and the measured number of calls.
// It returns the sum of the results.
func (s *session) baseline(m *Measurement) (sum uint64, err error) {
	if _, _, err = s.loop(max(1, s.p.Workload.Warmup)); err != nil {
		return 0, err
	}
	if m.Single, _, err = s.loop(1); err != nil {
		return 0, err
	}
	m.Base, sum, err = s.loop(m.Hits)
	return sum, err
}

// hits measures the first hit and, after warm-up, the measured number of hits. plain is the sum of
// the results without the probe.
func (s *session) hits(m *Measurement, plain uint64) (err error) {
	if m.First, _, err = s.loop(1); err != nil {
		return fmt.Errorf("first hit: %w", err)
	}
	if s.p.Workload.Warmup > 0 {
		if _, _, err = s.loop(s.p.Workload.Warmup); err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
	}
	var sum uint64
	before := s.read()
	if m.Probed, sum, err = s.loop(m.Hits); err != nil {
		return err
	}
	m.Accounts = s.account(before, s.read())
	if sum != plain {
		m.Notes = append(m.Notes,
			fmt.Sprintf("the calls returned other values with the probe (sum %#x, without %#x)",
				sum, plain))
	}
	if m.State, err = s.verify(); err != nil {
		return err
	}
	return s.profile(m)
}

// profiled is the number of hits that a profile is taken of.
const profiled = 64

// profile takes a profile of warm hits, after the measured ones.
func (s *session) profile(m *Measurement) error {
	p := sim.NewProfile(s.m.Image(), s.p.ISA)
	s.cpu().Observe(p)
	_, _, err := s.loop(min(profiled, m.Hits))
	s.cpu().Observe(s.observer)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	m.Profile = b.Bytes()
	return nil
}

// Trace boots a machine for p and writes hit number n, counted from 1, instruction by instruction:
// from the first instruction of the target to the return into the loop, or from the system call to the
// return from it when the loop is in user mode. Everything before is as
// MeasurePoint does it; the hit is the last of the calls after the first one.
func Trace(p *Point, n int64, w io.Writer) error {
	if p.Workload.Loop == "" {
		return fmt.Errorf("experiments of kind %s call no function again and again: look at them with timeline", p.Kind)
	}
	return boot(p, func(s *session) error {
		if err := s.online(); err != nil {
			return err
		}
		if _, err := s.baseline(&Measurement{Hits: p.Workload.Hits}); err != nil {
			return fmt.Errorf("without the probe: %w", err)
		}
		if err := s.register(); err != nil {
			return err
		}
		if n > 1 {
			if _, _, err := s.loop(1); err != nil {
				return err
			}
		}
		return s.traceLast(max(1, n-1), w)
	})
}

// traceLast runs n calls of the target and writes the last one.
func (s *session) traceLast(n int64, w io.Writer) error {
	t := sim.NewTracer(w, s.m.Image(), s.p.ISA)
	target, _ := s.m.Image().Symbol(s.p.Workload.Target) // the loop checks that it is there
	loop, _ := s.m.Image().Symbol(s.p.Workload.Loop)
	var calls cpus.Observer = &callFilter{to: t, target: target, loop: loop, skip: n - 1}
	if s.p.inUser() {
		entry, _ := s.m.Image().Symbol(callEntry)
		calls = &userFilter{to: t, entry: entry.Addr, skip: n - 1}
	}
	s.cpu().Observe(calls)
	_, _, err := s.loop(n)
	s.cpu().Observe(nil)
	if err != nil {
		return err
	}
	return t.Close()
}

// callFilter leaves out the calls of target that it is to skip, and passes the steps of the others:
// from the first instruction of target until the return into loop.
type callFilter struct {
	to           cpus.Observer
	target, loop image.Symbol
	skip         int64
	inside       bool
}

// Step implements cpus.Observer.
func (f *callFilter) Step(s *cpus.Step) {
	switch {
	case s.PC >= f.loop.Addr && s.PC < f.loop.Addr+f.loop.Size:
		f.inside = false
	case s.PC == f.target.Addr && !f.inside:
		f.inside = true
		f.skip--
	}
	if f.inside && f.skip < 0 {
		f.to.Step(s)
	}
}

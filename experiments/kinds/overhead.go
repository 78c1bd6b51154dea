package kinds

import (
	"bytes"
	"fmt"

	"kprobesim/cpus"
	"kprobesim/sim"
)

// overhead measures the loop without and with the probe. Machine, kernel and loop are the same in
// both, so the difference is the probe's. Where others have published the time of whole calls, the difference is not
// what they measured.
func (s *session) overhead(m *Measurement) error {
	m.Whole = s.p.Workload.Whole
	plain, err := s.baseline(m)
	if err != nil {
		return fmt.Errorf("without the probe: %w", err)
	}
	if err := s.registerSettled(); err != nil {
		return err
	}
	return s.hits(m, plain)
}

// baseline measures the loop without a probe: warm-up, one call, and the measured number of calls.
// It returns the sum of the results. At least one call warms up, so that the single call that the
// first hit is compared with is warm.
func (s *session) baseline(m *Measurement) (sum uint64, err error) {
	if _, _, err = s.loop(max(1, s.p.Workload.Warmup)); err != nil {
		return 0, err
	}
	if m.Single, _, err = s.loop(1); err != nil {
		return 0, err
	}
	m.Base, sum, err = s.stretch(s.p.Workload.Hits)
	return sum, err
}

// stretch makes the measured calls. Without a warm-up the first one stands alone, with the probe and
// without it, because hits begins with it: the cold hit is one of those that are measured.
func (s *session) stretch(n int64) (Sample, uint64, error) {
	if s.p.Workload.Warmup > 0 {
		return s.loop(n)
	}
	first, sum, err := s.loop(1)
	if err != nil || n == 1 {
		return first, sum, err
	}
	rest, more, err := s.loop(n - 1)
	return first.Add(rest), sum + more, err
}

// hits measures the first hit and, after warm-up, the measured number of hits; without a warm-up the
// first hit is one of them. plain is the sum of the results without the probe. A handler must not
// change what the function returns; the sum of results would show it.
func (s *session) hits(m *Measurement, plain uint64) error {
	if err := s.unprofiled(m, plain); err != nil || s.p.Further {
		return err // one profile a point: that of its first replicate
	}
	return s.profile(m)
}

// unprofiled is hits without the profile.
func (s *session) unprofiled(m *Measurement, plain uint64) (err error) {
	if s.p.Workload.Warmup > 0 {
		if m.First, _, err = s.loop(1); err != nil {
			return fmt.Errorf("first hit: %w", err)
		}
		if _, _, err = s.loop(s.p.Workload.Warmup); err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
	}
	before := s.read()
	sum, err := s.timed(m, func() (uint64, error) { return s.probed(m) })
	if err != nil {
		return err
	}
	m.Counts = m.Probed.Counts
	m.Accounts = s.account(before, s.read())
	m.noteOthers(sum, plain)
	return s.verify()
}

// noteOthers says of a sum of results that it is another one than without the probe: a handler has changed it.
func (m *Measurement) noteOthers(sum, plain uint64) {
	if sum != plain {
		m.Notes = append(m.Notes, fmt.Sprintf("the calls returned other values with the probe (sum %#x, without %#x)", sum, plain))
	}
}

// probed makes the measured calls, of which the first is the first hit when nothing was warmed up.
func (s *session) probed(m *Measurement) (sum uint64, err error) {
	n := s.p.Workload.Hits
	if s.p.Workload.Warmup > 0 {
		m.Probed, sum, err = s.knobs(n)
		return sum, err
	}
	if m.First, sum, err = s.loop(1); err != nil {
		return 0, fmt.Errorf("first hit: %w", err)
	}
	m.Notes = append(m.Notes, fmt.Sprintf("no warm-up: the first, cold hit is one of the %d measured", n))
	m.Probed = m.First
	if n == 1 {
		return sum, nil
	}
	rest, more, err := s.loop(n - 1)
	m.Probed = m.First.Add(rest)
	return sum + more, err
}

// profiled is the number of hits that a profile is taken of. It suffices because warm hits hardly
// differ.
const profiled = 64

// profile takes a profile of warm hits, after the measured ones. Counters and accounts have been
// read by then.
func (s *session) profile(m *Measurement) error {
	return s.profileOf(m, func(p cpus.Observer) error {
		s.tell(s.cpu(), p)
		_, _, err := s.loop(min(profiled, s.p.Workload.Hits))
		s.tell(s.cpu(), s.observer)
		return err
	})
}

// profileOf takes a profile of what run has an observer told of.
func (s *session) profileOf(m *Measurement, run func(cpus.Observer) error) error {
	p := sim.NewProfile(s.m.Image())
	var b bytes.Buffer
	err := run(p)
	if err == nil {
		err = p.Write(&b)
	}
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	m.Profile = b.Bytes()
	return nil
}

package kinds

import (
	"fmt"

	"kprobesim/internal/clock"
)

// Metrics of unregister-batch, in microseconds a probe.
const (
	MetricSingly   = "us_per_probe_singly"
	MetricTogether = "us_per_probe_together"
)

// unregister registers a batch twice and takes the time of unregistering it. One call each is
// measured on fewer probes when the workload says so, since every call waits for a grace period.
func (s *session) unregister(m *Measurement) error {
	stop, err := s.load()
	if err != nil {
		return err
	}
	n := min(s.p.Workload.Batch, s.p.Workload.Singly)
	took, err := s.unregisterOnce(n, s.removeSingly)
	if err != nil {
		return fmt.Errorf("one call each: %w", err)
	}
	s.share(m, MetricSingly, took, n)
	before := s.read()
	if took, err = s.unregisterOnce(s.p.Workload.Batch, s.removeTogether); err != nil {
		return fmt.Errorf("one call: %w", err)
	}
	m.Accounts = s.account(before, s.read())
	s.share(m, MetricTogether, took, s.p.Workload.Batch)
	return stop()
}

// unregisterOnce registers n probes, brings them into the mode of the point, and takes the time that
// remove needs. Registration and optimization are not part of that time.
func (s *session) unregisterOnce(n int64, remove func() error) (clock.Ticks, error) {
	if err := s.addSites(n); err != nil {
		return 0, err
	}
	if err := s.probes.WaitOptimizer(s.call); err != nil {
		return 0, err
	}
	if err := s.verify(); err != nil {
		return 0, err
	}
	from := s.m.Now()
	err := remove()
	return s.m.Now() - from, err
}

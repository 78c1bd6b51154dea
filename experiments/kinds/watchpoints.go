package kinds

import (
	"fmt"
	"io"

	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
)

// Metrics of watchpoints. A hit has its usual ones.
const (
	MetricWatch   = "us_to_register"
	MetricUnwatch = "us_to_unregister"
	// countedWatch is the handler that counts, and watchCount the calls that it is held against.
	countedWatch  = "kwatch_count"
	watchCounter  = "kwatch_hits"
	watchedChecks = 8
)

// watchpoints measures the loop without the watchpoint, registers it, measures the loop again, and unregisters it.
func (s *session) watchpoints(m *Measurement) error {
	w := s.aim()
	plain, err := s.baseline(m)
	if err != nil {
		return fmt.Errorf("without the watchpoint: %w", err)
	}
	var nr int
	err = s.took(m, MetricWatch, func() (err error) {
		nr, err = s.probes.AddWatch(s.call, w.Watch)
		return err
	})
	if err == nil {
		err = s.countWatch(w)
	}
	if err == nil {
		err = s.unprofiled(m, plain)
	}
	if err == nil {
		err = s.took(m, MetricUnwatch, func() error { return s.probes.RemoveWatch(s.call, nr) })
	}
	if err != nil {
		return err
	}
	if m.Hits > 0 {
		m.noteHit()
	} else { // what code pays that does not hit it
		m.noteOver(m.Counts.Calls, 1)
	}
	if err := s.verifyWatch(w); err != nil || s.p.Further {
		return err
	}
	if _, err := s.probes.AddWatch(s.call, w.Watch); err != nil {
		return err
	}
	return s.profile(m)
}

// countWatch begins to count the hits of the point's watchpoint, and the calls of what it calls.
func (s *session) countWatch(w *schema.Watchpoint) error {
	t, err := s.probes.NewWatchTally(w.Handler)
	if err == nil {
		s.countBy(t, s.p.Workload.Target, s.p.Workload.Loop)
	}
	return err
}

// aim makes the function that the point calls the workload's target.
func (s *session) aim() *schema.Watchpoint {
	p := *s.p
	p.Workload.Target = p.Probe.Watch.Calls
	s.p = &p
	return p.Probe.Watch
}

// traceWatch traces a call of what the point calls.
func (s *session) traceWatch(n int64, w io.Writer) error {
	s.aim()
	return s.traceCall(n, w)
}

// took notes how long something takes on the CPU that does it.
func (s *session) took(m *Measurement, metric string, do func() error) error {
	from := s.m.Now()
	err := do()
	s.micros(m, metric, clock.Ticks(s.m.Now()-from))
	return err
}

// verifyWatch counts hits by a handler of its own: a watchpoint that is not hit as the point says is an error.
func (s *session) verifyWatch(w *schema.Watchpoint) error {
	counting := w.Watch
	counting.Handler = countedWatch
	nr, err := s.probes.AddWatch(s.call, counting)
	if err != nil {
		return err
	}
	before := s.hitsOfWatch()
	if _, _, err := s.loop(watchedChecks); err != nil {
		return err
	}
	want := uint64(0)
	if w.Hits {
		want = watchedChecks
	}
	if got := s.hitsOfWatch() - before; got != want {
		return fmt.Errorf("%d calls of %s hit the watchpoint at %s+%#x %d times; want %d", watchedChecks, w.Calls, w.Symbol, w.Offset, got, want)
	}
	return s.probes.RemoveWatch(s.call, nr)
}

func (s *session) hitsOfWatch() uint64 {
	at, ok := s.m.Image().Symbol(watchCounter)
	if !ok {
		return 0
	}
	v, _ := s.m.Load(at.Addr, s.m.ISA().Bits/8)
	return v
}

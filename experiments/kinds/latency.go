package kinds

import (
	"fmt"

	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/smp"
)

// Metrics of optimize-latency, all in microseconds.
const (
	MetricOptimized = "us_to_optimized" // from the end of the registration
	MetricDelay     = "us_delay"        // until the optimizer waits for its grace period
	MetricGrace     = "us_grace_period"
	MetricTurn      = "us_turn"  // until the optimizer runs again
	MetricPatch     = "us_patch" // from there until the jump stands
)

// forced is the number of jiffies after which a grace period asks busy CPUs to reschedule, and patience
// the longest sleep while a probe has not become optimized.
const (
	forced   = 3
	patience = 50
)

// loadEarly is how many jiffies before the end of the optimizer's delay CPUs become busy: the delay is a
// timer, and what they do until then does not change it.
const loadEarly = 1

// latency registers the probe and sleeps until it is optimized, while all CPUs idle or from shortly
// before the end of the delay on are busy, in the kernel or in user mode. The probe need not be hit:
// the optimizer works for probes that are registered.
func (s *session) latency(m *Measurement) error {
	seen := s.listen(kprobes.EventProbe, smp.EventGraceBegin, smp.EventGraceEnd, smp.EventStop, kprobes.EventPatch)
	if err := s.k.Sleep(s.call, 1); err != nil { // a jiffy begins
		return err
	}
	before := s.read()
	if err := s.register(); err != nil {
		return err
	}
	registered := s.m.Now()
	seen.forget()
	stop := func() error { return nil }
	if load := s.p.Workload.Load; load != schema.LoadIdle {
		err := s.k.Sleep(s.call, probeOptions(s.p).Delay-loadEarly)
		if err == nil {
			stop, err = s.occupy(s.call, load, 0)
		}
		if err != nil {
			return err
		}
	}
	// Who waits must not switch tasks while the grace period lasts: that would be a quiescent state.
	for jiffies := int64(loadEarly + forced + 1); !seen.has(kprobes.EventProbe, "optimized") && jiffies <= patience; jiffies++ {
		if err := s.k.Sleep(s.call, jiffies); err != nil {
			return err
		}
	}
	m.Accounts = s.account(before, s.read())
	if err := s.latencyParts(m, seen, registered); err != nil {
		return err
	}
	return stop()
}

// latencyParts notes the parts of the time since the registration. Protocols that stop the machine
// begin their change with that, the others with the first change of text.
func (s *session) latencyParts(m *Measurement, seen *events, registered clock.Ticks) error {
	var at [4]clock.Ticks
	change := kprobes.EventPatch
	if seen.has(smp.EventStop, "") {
		change = smp.EventStop
	}
	for i, e := range [...]struct {
		kind sim.EventKind
		name string
	}{{smp.EventGraceBegin, ""}, {smp.EventGraceEnd, ""}, {change, ""}, {kprobes.EventProbe, "optimized"}} {
		var err error
		if at[i], err = seen.first(e.kind, e.name); err != nil {
			return fmt.Errorf("the probe was not optimized: %w; %s", err, s.refusal())
		}
	}
	s.micros(m, MetricOptimized, at[3]-registered)
	s.micros(m, MetricDelay, at[0]-registered)
	s.micros(m, MetricGrace, at[1]-at[0])
	s.micros(m, MetricTurn, at[2]-at[1])
	s.micros(m, MetricPatch, at[3]-at[2])
	return nil
}

// refusal says why the probe is not optimized. It goes into the error of a point whose probe stays
// as it was.
func (s *session) refusal() string {
	st, err := s.probes.State(s.active[0].Addr)
	if err != nil || st.Refusal == nil {
		return "nothing refuses it"
	}
	return fmt.Sprintf("it is %s: %s (rule %s)", st.Mode, st.Refusal.Text, st.Refusal.Rule)
}

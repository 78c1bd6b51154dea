package kinds

import (
	"errors"
	"fmt"
	"slices"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// Metrics of irq-off; "_plain" stands behind the metrics of the same calls without the probe.
const (
	MetricOff      = "us_irqs_off_max"
	MetricLate     = "us_timer_late_max"
	metricLate99   = "us_timer_late_p99"
	MetricLateMean = "us_timer_late_mean"
	Plain          = "_plain"
)

// irqOff measures without the probe and with it: the longest stretch with interrupts disabled in calls
// that nothing interrupts, then how late a periodic timer's interrupts come. Both are taken on one
// machine, so that nothing differs but the probe.
func (s *session) irqOff(m *Measurement) error {
	if err := s.irqOffOnce(m, Plain); err != nil {
		return fmt.Errorf("without the probe: %w", err)
	}
	if err := s.registerSettled(); err != nil {
		return err
	}
	if _, _, err := s.loop(1); err != nil {
		return err
	}
	counts, err := s.counted(func() error { return s.irqOffOnce(m, "") }, s.call.CPU())
	if err != nil {
		return err
	}
	m.Counts = counts
	return s.verify()
}

// irqOffOnce measures the stretch before the timer runs: an interrupt's own entry has interrupts
// disabled too.
func (s *session) irqOffOnce(m *Measurement, suffix string) error {
	if _, _, err := s.loop(max(1, s.p.Workload.Warmup)); err != nil {
		return err
	}
	w := &irqWatch{timer: s.timer(), period: s.timerPeriod()}
	w.owner, _ = s.cpu().(cpus.TimerOwner)
	if err := s.watched(w, func() bool { return true }); err != nil {
		return err
	}
	s.micros(m, MetricOff+suffix, w.longest)
	if _, err := s.call.InvokeSym("timer_start", s.timerCount(), 1); err != nil {
		return err
	}
	s.call.Charge(s.p.Layout().Wait(s.timerPeriod()).Cycles()) // where in a period the calls begin
	err := s.watched(w, func() bool { return len(w.taken) >= int(s.p.Workload.Interrupts) })
	if _, stopErr := s.call.InvokeSym("timer_stop"); err == nil {
		err = stopErr
	}
	if err != nil {
		return err
	}
	late, err := w.late()
	if err != nil {
		return err
	}
	s.noteLate(m, suffix, late)
	return nil
}

// watched runs the measured calls, again and again until enough, with an observer beside the session's
// own. Observing an instruction changes no time, so the calls take what they take unobserved.
func (s *session) watched(w *irqWatch, enough func() bool) error {
	w.next = s.observer
	s.tell(s.cpu(), w)
	defer s.tell(s.cpu(), s.observer)
	for {
		if _, _, err := s.loop(s.p.Workload.Hits); err != nil || enough() {
			return err
		}
	}
}

// timer is the guest's entry for the timer's interrupt. Its first instruction is when the interrupt
// is taken, before any work of the kernel.
func (s *session) timer() uint64 {
	f, _ := s.m.Image().Func("timer_interrupt_entry")
	return f.Entry
}

// timerCount is the period in ticks of the timer's clock, and timerPeriod the same in simulated time.
func (s *session) timerCount() uint64 {
	return uint64(max(1, s.p.Workload.Period*s.p.Machine.TimerHz/perSecond))
}

// timerPeriod follows the rounded count and not the period asked for: the hardware knows
// no other.
func (s *session) timerPeriod() clock.Ticks {
	perCount := clock.Ticks(s.p.Machine.CPU.Hz) * clock.PerCycle / clock.Ticks(s.p.Machine.TimerHz)
	return clock.Ticks(s.timerCount()) * perCount
}

// irqWatch observes when interrupts are disabled, and when the timer's are taken. Times are in
// ticks. Interrupts that cannot be disabled are not looked at.
type irqWatch struct {
	next    cpus.Observer // is told of every instruction, too
	timer   uint64
	owner   cpus.TimerOwner // nil for a timer that goes on by itself
	period  clock.Ticks
	off     bool
	since   clock.Ticks
	longest clock.Ticks
	first   clock.Ticks   // when the timer's first interrupt was taken
	taken   []clock.Ticks // how late all of them were
}

// Step implements cpus.Observer. A stretch ends with the instruction behind which interrupts are
// enabled again.
func (w *irqWatch) Step(s *cpus.Step) {
	if w.next != nil {
		w.next.Step(s)
	}
	if s.PC == w.timer {
		w.taken = append(w.taken, s.Start-w.due(s.Start))
	}
	switch {
	case s.Masked && !w.off:
		w.since = s.Start
	case !s.Masked && w.off:
		w.longest = max(w.longest, s.End-w.since)
	}
	w.off = s.Masked
}

// due is when the timer's interrupt was due that is taken now. A timer that goes on by itself has one in every period
// behind the first, since its next one is not due before the last one was taken. A kernel that sets its timer anew
// does so some cycles late each time, which is no delay of an interrupt.
func (w *irqWatch) due(now clock.Ticks) clock.Ticks {
	if w.owner != nil {
		return w.owner.TimerDue()
	}
	if len(w.taken) == 0 {
		w.first = now
	}
	return w.first + clock.Ticks(len(w.taken))*w.period
}

// late returns how much later than the earliest every interrupt came, in order of size.
func (w *irqWatch) late() ([]clock.Ticks, error) {
	out := slices.Sorted(slices.Values(w.taken))
	least := out[0]
	for i := range out {
		if w.taken[i]-w.taken[0] >= w.period {
			return nil, errors.New("the timer's interrupts come later than its period: set a longer one")
		}
		out[i] -= least
	}
	return out, nil
}

// The 99th percentile is the smallest value that at least 99 % of the interrupts do not exceed.
func (s *session) noteLate(m *Measurement, suffix string, late []clock.Ticks) {
	var sum clock.Ticks
	for _, v := range late {
		sum += v
	}
	s.share(m, MetricLateMean+suffix, sum, int64(len(late)))
	s.micros(m, metricLate99+suffix, late[(len(late)*99-1)/100])
	s.micros(m, MetricLate+suffix, late[len(late)-1])
}

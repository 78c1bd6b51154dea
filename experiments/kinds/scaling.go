package kinds

import (
	"fmt"

	"kprobesim/internal/clock"
	"kprobesim/smp"
)

// Metrics of scaling.
const (
	MetricRate   = "hits_per_second"
	metricPerHit = "cycles_per_hit_and_cpu"
	MetricMoved  = "transfers_per_hit" // of lines from another CPU's cache
	metricTaken  = "upgrades_per_hit"  // of lines that others had, too
	barrierFn    = "barrier_wait"
)

// scaling has every CPU call the probed function at the same time.
func (s *session) scaling(m *Measurement) error {
	if err := s.registerSettled(); err != nil {
		return err
	}
	hitters, err := s.hitters()
	if err != nil {
		return err
	}
	if err := s.k.Join(s.call, hitters.tasks...); err != nil {
		return err
	}
	if err := s.verify(); err != nil {
		return err
	}
	s.noteRate(m, hitters)
	return nil
}

// hitters are the tasks that call the probed function, one on each CPU. All of them are native
// threads, of which one runs at a time, so they share it without locks.
type hitters struct {
	tasks      []uint64
	begin, end clock.Ticks // the first call of any, the last return
	from, to   reading
	was, is    Counts
	ended      int
}

// hitters starts them. They wait for each other after the warm-up.
func (s *session) hitters() (*hitters, error) {
	h := &hitters{}
	target, ok := s.m.Image().Func(s.p.Workload.Target)
	if !ok {
		return nil, fmt.Errorf("image %s has no function %s", s.m.Image().Name, s.p.Workload.Target)
	}
	if s.p.InUser() {
		return nil, fmt.Errorf("workload.loop %s runs in user mode: kind %s has loops in the kernel", s.p.Workload.Loop, s.p.Kind)
	}
	for i := range s.m.CPUs() {
		task, err := s.k.GoOn(s.call, i, fmt.Sprintf("hitter/%d", i), func(c smp.Caller) error {
			return s.hitter(c, h, target.Pointer)
		})
		if err != nil {
			return nil, err
		}
		h.tasks = append(h.tasks, task)
	}
	return h, nil
}

// hitter warms up, waits for the others, and calls the function as often as is measured. Warm-up and
// barrier keep cold caches and the start of tasks out of the rate.
func (s *session) hitter(c smp.Caller, h *hitters, target uint64) error {
	call := func(n int64) error {
		_, err := c.InvokeSym(s.p.Workload.Loop, append([]uint64{target, uint64(n)}, s.p.Workload.Args[:]...)...)
		return err
	}
	if err := call(max(1, s.p.Workload.Warmup)); err != nil {
		return err
	}
	if _, err := c.InvokeSym(barrierFn, uint64(s.m.CPUs())); err != nil {
		return err
	}
	if h.from.all == nil {
		var err error
		h.begin, h.from = s.m.Now(), s.read()
		if h.was, err = s.counts(); err != nil {
			return err
		}
	}
	if err := call(s.p.Workload.Hits); err != nil {
		return err
	}
	h.end = max(h.end, s.m.Now())
	if h.ended++; h.ended < s.m.CPUs() {
		return nil
	}
	h.to = s.read()
	var err error
	h.is, err = s.counts()
	return err
}

// noteRate divides by the time from the first start to the last end, so a slow CPU lowers the rate
// of all.
func (s *session) noteRate(m *Measurement, h *hitters) {
	m.Counts = h.is.Sub(h.was)
	n := m.Hits
	took := h.end - h.begin
	cycles := int64(took / clock.PerCycle)
	// Hits a second are n * Hz / cycles; in millions, so that the numbers stay small.
	m.note(MetricRate, "million hits", n*(s.p.Machine.CPU.Hz/1000), cycles*1000)
	m.cyclesOver(metricPerHit, took*clock.Ticks(s.m.CPUs()), n)
	var moved, taken int64
	for i := range h.to.all {
		d := h.to.all[i].Sub(&h.from.all[i])
		moved += int64(d.Transfers)
		taken += int64(d.Upgrades)
	}
	m.note(MetricMoved, "lines", moved, n)
	m.note(metricTaken, "lines", taken, n)
	m.Accounts = s.account(h.from, h.to)
}

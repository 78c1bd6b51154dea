package kinds

import (
	"fmt"

	"kprobesim/results"
	"kprobesim/smp"
)

// Metrics of missed.
const (
	MetricMissed    = "calls_missed"
	MetricMissShare = "calls_missed_pct"
)

// missed has several tasks call the probed function at the same time, on whatever CPU they are put.
// Unseen counts calls whose return no instance was free for. Their hits took place, so they are not
// those that nmissed counts for a kprobe.
func (s *session) missed(m *Measurement) error {
	if err := s.registerSettled(); err != nil {
		return err
	}
	before := s.read()
	calls := int64(0)
	counts, err := s.counted(func() error { return s.callers(&calls) })
	if err != nil {
		return err
	}
	m.Counts = counts
	m.Counts.Calls = calls
	if err := s.settle(); err != nil {
		return err
	}
	m.Accounts = s.account(before, s.read())
	m.note(results.MetricCalls, "calls", calls, 1)
	m.note(MetricMissed, "calls", m.Returns, 1)
	m.note(MetricMissShare, "%", 100*m.Returns, max(m.Hits, 1))
	m.Counts.Returns = 0 // which these are
	return nil
}

// callers starts the tasks, waits for their ends and counts their calls. They are not bound, and interleave by sleeping
// in the function or by preemption.
func (s *session) callers(calls *int64) error {
	var tasks []uint64
	for i := range s.p.Workload.Tasks {
		task, err := s.k.Go(s.call, fmt.Sprintf("caller/%d", i), func(c smp.Caller) error {
			for range s.p.Workload.Hits {
				if _, err := c.InvokeSym(s.p.Workload.Target, s.p.Workload.Args[:]...); err != nil {
					return err
				}
				*calls++
			}
			return nil
		})
		if err != nil {
			return err
		}
		tasks = append(tasks, task)
	}
	return s.k.Join(s.call, tasks...)
}

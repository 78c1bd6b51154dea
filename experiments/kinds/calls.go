package kinds

import (
	"fmt"
	"slices"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/internal/clock"
)

// callWatch observes how long every call of a function by a loop takes: from the start of its first instruction
// to the end of the last one before the loop goes on. What happens meanwhile counts: the probe, interrupts,
// and on the way from a loop in user mode the return from the system call. The call and the loop's own
// instructions do not.
type callWatch struct {
	next         cpus.Observer // is told of every instruction, too; may be nil
	target, loop image.Func
	inside       bool
	begin, end   clock.Ticks
	taken        []clock.Ticks
}

// Step implements cpus.Observer.
func (w *callWatch) Step(s *cpus.Step) {
	if w.next != nil {
		w.next.Step(s)
	}
	switch {
	case s.PC >= w.loop.Entry && s.PC < w.loop.Entry+w.loop.Size:
		if w.inside {
			w.taken = append(w.taken, w.end-w.begin)
		}
		w.inside = false
	case s.PC == w.target.Entry && !w.inside:
		w.inside, w.begin = true, s.Start
	}
	w.end = s.End
}

// timed runs body, and times the calls within it when the experiment asks for that. Observing an instruction
// changes no time, so the calls take what they take unobserved.
func (s *session) timed(m *Measurement, body func() (uint64, error)) (sum uint64, err error) {
	if !s.p.Workload.Latencies {
		return body()
	}
	w := &callWatch{next: s.observer}
	w.target, _ = s.m.Image().Func(s.p.Workload.Target) // the loop checks that it is there
	w.loop, _ = s.m.Image().Func(s.p.Workload.Loop)
	s.tell(s.cpu(), w)
	sum, err = body()
	s.tell(s.cpu(), s.observer)
	if n := s.p.Workload.Hits; err == nil && int64(len(w.taken)) != n {
		err = fmt.Errorf("%d of %d calls were timed: loop %s does not call target %s itself", len(w.taken), n,
			s.p.Workload.Loop, s.p.Workload.Target)
	}
	slices.Sort(w.taken)
	m.Taken = w.taken
	return sum, err
}

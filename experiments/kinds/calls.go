package kinds

import (
	"fmt"
	"slices"

	"kprobesim/cpus"
	"kprobesim/experiments/schema"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/internal/doc"
	"kprobesim/results"
	"kprobesim/results/figures"
)

// FigureCalls is the figure of the distribution of the calls' times.
const FigureCalls = "calls"

// mostTimed bounds the calls that are timed one by one. Their times are kept until the percentiles are taken.
const mostTimed = 1_000_000

// readOverhead reads [workload], which for this kind may ask that every call be timed, and that whole calls count.
func readOverhead(r *doc.Reader) schema.Workload {
	timed, whole := doc.Opt(r, "latencies", false, doc.Flag), doc.Opt(r, "loop_included", false, doc.Flag)
	w := schema.ReadWorkload(r)
	if timed && w.Hits > mostTimed {
		r.Errorf("hits", "%d calls: at most %d are timed one by one (latencies)", w.Hits, mostTimed)
	}
	w.Latencies, w.Whole = timed, whole
	return w
}

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

// calls records the percentiles of the calls' times: the smallest time that at least a share of them does not
// exceed.
func (w *recorder) calls(sorted []clock.Ticks) {
	if len(sorted) == 0 {
		return
	}
	for _, share := range results.CallShares() {
		i := max((len(sorted)*share+999)/1000-1, 0)
		w.ratio(results.CallMetric(share), "cycles", int64(sorted[i]), int64(clock.PerCycle))
	}
}

// drawCalls charts the distribution of the calls' times.
func drawCalls(s *results.Set) (figures.Figure, error) {
	return figures.CallCurves(s, figures.Frame{
		Title:  "How long calls with a probe take: " + place(s.Points()[0]),
		XLabel: "cycles of a call", YLabel: "calls no longer, %",
		Caption: []string{"from the first instruction of the called function to its return, with all that interrupts it; " +
			"both axes are logarithmic, that of shares in what is left to 100 %"},
	})
}

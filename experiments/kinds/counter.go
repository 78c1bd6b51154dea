package kinds

import (
	"slices"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/kprobes"
)

// counter is the observer that counts calls and hits. It is told of the code of loops, of the first instructions of
// functions, and of probed instructions. All other code runs unobserved.
type counter struct {
	tally  *kprobes.Tally
	probes []uint64 // whose missed returns the guest counts
	loops  []image.Func
	target image.Func
	spans  [][2]uint64
	cpus   []calling
}

// calling counts the calls of a CPU.
type calling struct {
	inLoop bool // the last instruction was a loop's
	calls  int64
}

// Step implements cpus.Observer. A call is the way from a loop to the target's first instruction.
func (c *counter) Step(s *cpus.Step) {
	on := &c.cpus[s.CPU]
	switch {
	case slices.ContainsFunc(c.loops, func(f image.Func) bool { return s.PC-f.Entry < f.Size }):
		on.inLoop = true
	case s.PC == c.target.Entry && on.inLoop:
		on.inLoop = false
		on.calls++
	}
	c.tally.Step(s)
}

// count begins to count the hits of the point's probes, those that modules have registered included, and the calls of
// them.
func (s *session) count() error {
	var probes []uint64
	for _, p := range s.active {
		probes = append(probes, p.Addr)
	}
	for _, m := range s.loaded {
		for _, st := range s.loader.Probes(m) {
			probes = append(probes, st.Probe)
		}
	}
	return s.countOf(probes, s.p.Workload.Target, s.p.Workload.Loop)
}

// countOf begins to count the hits of probes, by the addresses of their struct kprobe, and calls of a function by loops.
func (s *session) countOf(probes []uint64, target string, loops ...string) error {
	t, err := s.probes.NewTally(probes...)
	if err == nil {
		s.countBy(t, target, loops...)
		s.counter.probes = probes
	}
	return err
}

// countBy counts hits by a tally, and calls of a function by loops, as far as there are such functions.
func (s *session) countBy(t *kprobes.Tally, target string, loops ...string) {
	c := &counter{tally: t, spans: t.Spans(), cpus: make([]calling, s.m.CPUs())}
	for _, loop := range loops {
		if fn, ok := s.m.Image().Func(loop); ok {
			c.loops = append(c.loops, fn)
			c.spans = append(c.spans, [2]uint64{fn.Entry, fn.Entry + fn.Size})
		}
	}
	if fn, ok := s.m.Image().Func(target); ok {
		c.target = fn
		c.spans = append(c.spans, [2]uint64{fn.Entry, fn.Entry + 1})
	}
	s.counter = c
	s.observe(s.observer)
}

// observe has every CPU's instructions told to o, nil for nobody. The observer tells CPUs apart by
// the step.
func (s *session) observe(o cpus.Observer) {
	for i := range s.m.CPUs() {
		s.tell(s.m.CPU(i), o)
	}
}

// tell has the instructions of a CPU told to o, nil for nobody, and to what counts.
func (s *session) tell(cpu cpus.CPU, o cpus.Observer) {
	switch {
	case s.counter == nil:
		cpu.Observe(o)
	case o == nil:
		cpu.ObserveCode(s.counter, s.counter.spans, false)
	default:
		cpu.Observe(&twoObservers{s.counter, o})
	}
}

// counts sums up the counts of a CPU, or of all CPUs where none is named. They are zero until a probe is registered.
func (s *session) counts(on ...int) (sum Counts, err error) {
	if s.counter == nil {
		return sum, nil
	}
	for i, c := range s.counter.cpus {
		if len(on) > 0 && i != on[0] {
			continue
		}
		hits := s.counter.tally.Of(i)
		sum = sum.Add(Counts{Calls: c.calls, Hits: hits.All, Missed: hits.Missed})
	}
	sum.Returns, err = s.returnsMissed()
	return sum, err
}

// returnsMissed is how many returns the probes have missed, as the guest has counted them.
func (s *session) returnsMissed() (n int64, err error) {
	for _, p := range s.counter.probes {
		st, err := s.probes.State(p)
		if err != nil {
			return 0, err
		}
		n += int64(st.Unseen)
	}
	return n, nil
}

// counted runs body and returns what was counted meanwhile, on one CPU or on all.
func (s *session) counted(body func() error, on ...int) (Counts, error) {
	from, err := s.counts(on...)
	if err == nil {
		err = body()
	}
	if err != nil {
		return Counts{}, err
	}
	to, err := s.counts(on...)
	return to.Sub(from), err
}

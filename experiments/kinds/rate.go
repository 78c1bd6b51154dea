package kinds

import (
	"fmt"
	"math/rand/v2"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/workloads"
)

// Metrics of event-rate. A hit has its usual ones, of calls that follow each other without a gap.
const (
	MetricEvent   = "cycles_per_event"         // with the gap
	MetricProduct = "overhead_percent_product" // the rate times the cycles of hits without a gap
)

// An experiment measures the events of so many milliseconds, and a few where that is none.
const (
	measuredMillis = 2
	leastEvents    = 8
)

// eventRate measures hits without a gap, and events at a rate without the probe and with it. Both have the same work between
// the same events, so what the second takes more is the probe's: its own instructions, and what it does to caches and
// predictors of the work and the work to its own.
func (s *session) eventRate(m *Measurement) error {
	plain, err := s.baseline(m)
	if err != nil {
		return fmt.Errorf("without the probe: %w", err)
	}
	g, err := s.newGap()
	if err != nil {
		return err
	}
	n := min(max(leastEvents, s.p.Workload.Rate*measuredMillis/1000), s.p.Workload.Hits)
	warm := max(1, n/8)
	without, err := g.events(warm, n, nil)
	if err != nil {
		return fmt.Errorf("events without the probe: %w", err)
	}
	if err := s.registerSettled(); err != nil {
		return err
	}
	if err := s.unprofiled(m, plain); err != nil {
		return err
	}
	with, err := g.events(warm, n, without.pieces)
	if err != nil {
		return err
	}
	if with.Hits != n || !with.Plain() {
		return fmt.Errorf("%d events had %d hits, of which %d were missed", n, with.Hits, with.Missed+with.Returns)
	}
	if with.sum != without.sum {
		return fmt.Errorf("the events returned other values with the probe (sum %#x, without %#x)", with.sum, without.sum)
	}
	m.noteHit()
	s.noteEvents(m, n, without, with)
	return s.verify()
}

// noteEvents notes what n events cost beyond those without the probe.
func (s *session) noteEvents(m *Measurement, n int64, without, with *paced) {
	base := without.cost.Total()
	more := with.cost.Sub(&without.cost)
	hit := m.Probed.Sub(m.Base).Time
	m.note(metricEventRate, "events", n*s.p.Machine.CPU.Hz, base.Cycles())
	m.note(MetricOverhead, "%", int64(more.Total())*100, int64(base))
	m.note(MetricProduct, "%", int64(hit)*100*n, int64(base)*m.Hits)
	m.cyclesOver(MetricEvent, more.Total(), n)
	for _, c := range eventCounts() {
		m.note(c.metric, "events", int64(c.of(&with.cost))-int64(c.of(&without.cost)), n)
	}
}

// gap is the work that a CPU does between two events: look-ups in tables of the kernel, functions of straight code that are
// more than a first-level cache holds, and loads from all over the footprint that wait for each other.
type gap struct {
	s    *session
	at   uint64 // the word that is loaded next
	next uint64 // number of the next piece of work
	// random chooses what a piece works on. Work in a fixed order would bring caches into states that one hit changes for ever.
	random rand.PCG
}

// newGap makes the code and the data of the work, and does the work until all of it is in the caches that has room there.
func (s *session) newGap() (*gap, error) {
	if err := s.callableCrowd(); err != nil {
		return nil, err
	}
	line := int64(s.p.Machine.CPU.L1D.Line)
	lines := s.p.Workload.Footprint / line
	at, err := s.m.Alloc(uint64(s.p.Workload.Footprint), 1<<12)
	if err != nil {
		return nil, fmt.Errorf("workload.footprint: %w", err)
	}
	if err := s.linkLines(at, line, lines); err != nil {
		return nil, err
	}
	g := &gap{s: s, at: at}
	if err := g.follow(uint64(lines)); err != nil {
		return nil, err
	}
	return g, g.settle(rounds)
}

// rounds are enough for work that is chosen at random to have found nearly all of its tables.
const rounds = 8

// settle does each kind of work some rounds. In one it does as much as there is straight code.
func (g *gap) settle(rounds int) error {
	for range rounds * kindsOfWork * workloads.CrowdFunctions {
		if err := g.piece(); err != nil {
			return err
		}
	}
	return nil
}

// linkLines links the first words of lines into one cycle in random order (Sattolo).
func (s *session) linkLines(at uint64, line, n int64) error {
	next := make([]uint64, n)
	for i := range next {
		next[i] = uint64(i)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := n - 1; i > 0; i-- {
		j := r.Int64N(i)
		next[i], next[j] = next[j], next[i]
	}
	for i, to := range next {
		if err := s.m.Store(at+uint64(int64(i)*line), s.m.ISA().Bits/8, at+to*uint64(line)); err != nil {
			return err
		}
	}
	return nil
}

// callableCrowd makes functions that do nothing much of the text for a crowd of probes: each ends in what catch_up is.
func (s *session) callableCrowd() error {
	if _, err := s.crowdText(); err != nil {
		return err
	}
	im := s.m.Image()
	end, _ := im.Func("catch_up")
	pattern, _ := im.Symbol(workloads.CrowdPattern)
	code, err := s.m.ReadBytes(end.Entry, int(end.Size))
	if err != nil {
		return err
	}
	room := (uint64(len(code)) + pattern.Size - 1) / pattern.Size * pattern.Size
	for i := 0; ; i++ {
		f, ok := im.Func(crowdFunction(i))
		if !ok {
			return nil
		}
		if err := s.m.WriteBytes(f.Entry+f.Size-room, code); err != nil {
			return err
		}
	}
}

func crowdFunction(i int) string { return fmt.Sprintf("crowd_%d", i) }

// follow loads n words, each from where the one before says.
func (g *gap) follow(n uint64) error {
	moved, err := g.s.call.InvokeSym("speed_chase", n, g.at)
	g.at += moved
	return err
}

// kindsOfWork is the number of pieces that differ in kind. A quarter of them runs the functions of straight code.
const kindsOfWork = 8

// piece does the next piece of work.
func (g *gap) piece() error {
	i, x := g.next%kindsOfWork, g.random.Uint64()
	g.next++
	a, b := x>>40, x>>20&0xfff
	var err error
	switch i {
	case 0, 4:
		return g.follow(1)
	case 2, 6:
		_, err = g.s.call.InvokeSym(crowdFunction(int(x % workloads.CrowdFunctions)))
	case 1:
		_, err = g.s.call.InvokeSym("work_hash_lookup", a, b)
	case 3:
		_, err = g.s.call.InvokeSym("work_list_walk", a, b)
	case 5:
		_, err = g.s.call.InvokeSym("work_switch", a, b)
	case 7:
		_, err = g.s.call.InvokeSym("work_checksum", a&31, b)
	}
	return err
}

// paced is a number of events and the work between them.
type paced struct {
	Counts
	cost   cpus.Counters
	pieces []int64 // of work, before each event
	sum    uint64  // of what the events returned
}

// events makes some events to warm up and n that count. Without pieces it does as much work before each as there is time for
// until the event is due, else so many pieces as it is told.
func (g *gap) events(warm, n int64, pieces []int64) (*paced, error) {
	s, cpu := g.s, g.s.cpu()
	target, _ := s.m.Image().Func(s.p.Workload.Target) // the loops without a gap have found it
	args := append([]uint64{target.Pointer, 1}, s.p.Workload.Args[:]...)
	out := &paced{}
	g.next = 0
	g.random.Seed(1, 2)
	if err := g.settle(1); err != nil {
		return nil, err
	}
	begin := s.call.Now()
	run := func(from, to int64) error {
		for i := from; i < to; i++ {
			due := begin + clock.FromCycles((i+1)*s.p.Machine.CPU.Hz/s.p.Workload.Rate)
			done := int64(0)
			for ; pieces == nil && s.call.Now() < due || pieces != nil && done < pieces[i]; done++ {
				if done > 0 {
					s.call.Charge(0) // what is in flight retires, as it does around an event
				}
				if err := g.piece(); err != nil {
					return err
				}
			}
			out.pieces = append(out.pieces, done)
			v, err := s.call.InvokeSym(s.p.Workload.Loop, args...)
			if err != nil {
				return err
			}
			out.sum += v
		}
		return nil
	}
	if err := run(0, warm); err != nil {
		return nil, err
	}
	before := *cpu.Counters()
	var err error
	out.Counts, err = s.counted(func() error { return run(warm, warm+n) })
	out.cost = cpu.Counters().Sub(&before)
	return out, err
}

package kinds

import (
	"fmt"
	"io"

	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/results"
	"kprobesim/results/figures"
	"kprobesim/results/tables"
)

// Watchpoints measures what a hit of a watchpoint costs, what an armed one costs code that does not hit it, and what
// setting the registers of all CPUs takes.
const Watchpoints = "watchpoints"

// Metrics of watchpoints beside those of a hit.
const (
	MetricWatch   = "us_to_register"
	MetricUnwatch = "us_to_unregister"
	// countedWatch is the handler that counts, and watchCount the calls that it is held against.
	countedWatch  = "kwatch_count"
	watchCounter  = "kwatch_hits"
	watchedChecks = 8
)

func watchpointsKind() Kind {
	return Kind{
		Name: Watchpoints, Workload: schema.ReadWorkload, measure: (*session).watchpoints, trace: (*session).traceWatch,
		Check:   watchpointsOnly,
		figures: []Figure{{Watchpoints, drawWatchpoints}, {"watchpoints-registering", drawWatching}},
		Columns: []tables.ColumnSpec{
			{Title: "cycles\na call more", Metric: results.MetricCycles, Decimals: 1},
			{Title: "instrs\na call more", Metric: results.MetricInstructions, Decimals: 1},
			{Title: "first hit\ncycles", Metric: results.MetricFirst, Decimals: 0},
			{Title: "register\nus", Metric: MetricWatch, Decimals: 3},
			{Title: "unregister\nus", Metric: MetricUnwatch, Decimals: 3},
		},
		Notes: []string{
			"register, unregister: until every CPU has set its debug register; nobody has published figures of watchpoints",
			"a hundredth of a cycle beside a watchpoint is the branch predictor's: registering has left other branches in it",
		},
	}
}

// watchpointsOnly refuses points that are probes.
func watchpointsOnly(e *schema.Experiment) []Mistake {
	return append(warmOnly(e), probesWith(e, func(p *schema.Probe) string {
		if p.Watch == nil {
			return "kind watchpoints measures watchpoints alone: write what to watch"
		}
		return ""
	}, "name")...)
}

// probesOnly refuses watchpoints among the probes of other kinds.
func probesOnly(e *schema.Experiment) []Mistake {
	return probesWith(e, func(p *schema.Probe) string {
		if p.Watch != nil {
			return "a watchpoint is measured by kind " + Watchpoints
		}
		return ""
	}, "watch")
}

// Mistakes finds what the kind of an experiment cannot measure.
func Mistakes(e *schema.Experiment) (all []Mistake) {
	if e.Kind != Watchpoints {
		all = probesOnly(e)
	}
	if check := Of(e.Kind).Check; check != nil {
		all = append(all, check(e)...)
	}
	return all
}

// watchpoints measures the loop without the watchpoint, registers it, measures the loop again, and unregisters it.
func (s *session) watchpoints(m *Measurement) error {
	w := s.aim()
	if err := s.online(); err != nil {
		return err
	}
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

// drawWatchpoints charts the cycles of each kind of watchpoint as bars, without those that cost nothing.
func drawWatchpoints(s *results.Set) (figures.Figure, error) {
	chart := figures.BarChart{
		Frame: figures.Frame{
			Title:   "Watchpoints: " + place(s.Points()[0]),
			YLabel:  "cycles a call more",
			Caption: []string{"a call stores, loads or is executed where a debug register watches; nobody has published figures"},
		},
		Bars: []figures.BarMetric{{Metric: results.MetricCycles}},
		Keep: func(p results.Point) bool {
			r, ok := s.Get(p, results.MetricCycles)
			return ok && r.Value.Float() >= 1
		},
	}
	return chart.Draw(s)
}

// drawWatching charts over the number of CPUs how long it takes to set and to clear the registers of all. It takes the
// last watchpoint of the file: what is watched does not matter to it.
func drawWatching(s *results.Set) (figures.Figure, error) {
	points := s.Points()
	line := func(metric, what string) figures.SweepLine {
		return figures.SweepLine{Metric: metric, Series: func(p results.Point) string {
			if p.Name() != points[len(points)-1].Name() {
				return ""
			}
			return what
		}}
	}
	return overCPUs("Time to set and to clear a watchpoint on all CPUs: "+place(points[0]), nil,
		line(MetricWatch, "registering"), line(MetricUnwatch, "unregistering")).Draw(s)
}

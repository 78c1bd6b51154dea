package kinds

import (
	"fmt"

	"kprobesim/experiments/schema"
	"kprobesim/internal/doc"
	"kprobesim/kprobes"
	"kprobesim/results"
	"kprobesim/results/figures"
	"kprobesim/results/tables"
	"kprobesim/smp"
)

// Missed measures how many calls a return probe misses because all its instances are out.
const Missed = "missed"

// Metrics of missed.
const (
	MetricMissed    = "calls_missed"
	MetricMissShare = "calls_missed_pct"
)

// missedKind shows calls and misses beside their share, so that a share of few calls can be told.
func missedKind() Kind {
	return Kind{
		Name: Missed, Workload: readMissed, measure: (*session).missed, Check: returnsOnly,
		figures: []Figure{{"missed", drawMissed}, {"missed-default", drawMissedDefault}},
		Columns: []tables.ColumnSpec{
			{Title: "calls", Metric: results.MetricCalls, Decimals: 0},
			{Title: "missed", Metric: MetricMissed, Decimals: 0},
			{Title: "missed\n%", Metric: MetricMissShare, Decimals: 1},
		},
		Notes: []string{"maxactive 0 is the kernel's default"},
		Once:  "which calls are missed follows from tasks and instances, and not from where things lie",
	}
}

// returnsOnly holds points to return probes.
func returnsOnly(e *schema.Experiment) []Mistake {
	return probesWith(e, func(p *schema.Probe) string {
		if p.Kind == kprobes.Kretprobe {
			return ""
		}
		return fmt.Sprintf("kind %s measures a %s, not a %s", e.Kind, kprobes.Kretprobe, p.Kind)
	}, "kind")
}

// Tasks beyond the instances of the probe are what makes it miss.
func readMissed(r *doc.Reader) schema.Workload {
	defer r.Done()
	w := schema.Workload{
		Target: doc.Need(r, "target", doc.Text),
		Args:   doc.Opt(r, "args", nil, doc.ListOf(schema.Word)),
		Tasks:  doc.Need(r, "tasks", doc.Int(1, 1000)),
		Hits:   doc.Need(r, "hits", doc.Int(1, 1_000_000)),
	}
	if len(w.Args) > schema.MaxArgs {
		r.Errorf("args", "%d arguments: the tasks pass at most %d", len(w.Args), schema.MaxArgs)
	}
	return w
}

// missed has several tasks call the probed function at the same time, on whatever CPU they are put.
// Unseen counts calls whose return no instance was free for. Their hits took place, so they are not
// those that nmissed counts for a kprobe.
func (s *session) missed(m *Measurement) error {
	if err := s.online(); err != nil {
		return err
	}
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
				if _, err := c.InvokeSym(s.p.Workload.Target, s.p.Workload.Args...); err != nil {
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
	for _, t := range tasks {
		if err := s.k.Join(s.call, t); err != nil {
			return err
		}
	}
	return nil
}

// missedLines are the keys that lines tell. What the probed function does has panels.
func missedLines() []string { return []string{"kernel.preempt"} }

// byPreemption names a line by the preemption of kernel code.
func byPreemption(p results.Point) string {
	return lineName(p, labelled("preemption ", p.Swept("kernel.preempt")))
}

// maxActive returns the value of the swept maxactive of whatever point.
func maxActive(p results.Point) (key, value string) {
	key = "points." + p.Name() + ".maxactive"
	return key, p.Swept(key)
}

// drawMissed shows the last number of CPUs, the largest of the sweep, and leaves out the default,
// which has a figure of its own.
func drawMissed(s *results.Set) (figures.Figure, error) {
	points := s.Points()
	last := points[len(points)-1]
	key, _ := maxActive(last)
	chart := figures.SweepChart{Over: key, Lines: missedLines(), LogX: true, Frame: figures.Frame{
		Title:  fmt.Sprintf("Calls that a return probe misses, %d CPUs: %s", last.CPUs, place(last)),
		XLabel: "maxactive: instances of the probe", YLabel: "calls missed, %",
	}}
	chart.Metrics = missedLine(func(p results.Point) bool {
		_, value := maxActive(p)
		return p.CPUs == last.CPUs && value != "0"
	})
	return chart.Draw(s)
}

// drawMissedDefault goes over the number of CPUs, because the default grows with it.
func drawMissedDefault(s *results.Set) (figures.Figure, error) {
	chart := figures.SweepChart{Over: "kernel.cpus", Lines: missedLines(), LogX: true, Frame: figures.Frame{
		Title:  "Calls that a return probe with the default maxactive misses: " + place(s.Points()[0]),
		XLabel: "CPUs", YLabel: "calls missed, %",
	}}
	chart.Metrics = missedLine(func(p results.Point) bool {
		_, value := maxActive(p)
		return value == "0"
	})
	return chart.Draw(s)
}

// missedLine draws the points for which keep says so.
func missedLine(keep func(results.Point) bool) []figures.SweepLine {
	return []figures.SweepLine{{
		Metric: MetricMissShare,
		Series: func(p results.Point) string {
			if !keep(p) {
				return ""
			}
			return byPreemption(p)
		},
		Style: func(p results.Point) figures.LineStyle {
			return figures.LineStyle{
				Group: byPreemption(p), Dash: dashedIf(p.Swept("kernel.preempt") == schema.PreemptNone),
			}
		},
	}}
}

package kinds

import (
	"fmt"
	"slices"
	"strings"

	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/internal/doc"
	"kprobesim/kprobes"
	"kprobesim/results"
	"kprobesim/results/figures"
	"kprobesim/results/tables"
	"kprobesim/sim"
	"kprobesim/smp"
)

// Latency measures how long it takes from registering a probe until it is optimized, and what
// that time consists of.
const Latency = "optimize-latency"

// Metrics of optimize-latency, all in microseconds.
const (
	MetricOptimized = "us_to_optimized" // from the end of the registration
	MetricDelay     = "us_delay"        // until the optimizer waits for its grace period
	MetricGrace     = "us_grace_period"
	MetricTurn      = "us_turn"  // until the optimizer runs again
	MetricPatch     = "us_patch" // from there until the jump stands
)

// latencyKind has no column for the load of CPUs: that is a key of the workload, which the sweep
// shows.
func latencyKind() Kind {
	return Kind{
		Name: Latency, Workload: readLatency, measure: (*session).latency, Check: optimizedOnly,
		figures: []Figure{{"latency", drawLatency}, {"latency-parts", drawLatencyParts}},
		Columns: []tables.ColumnSpec{
			{Title: "optimized\nafter us", Metric: MetricOptimized, Decimals: 0},
			{Title: "delay\nus", Metric: MetricDelay, Decimals: 0},
			{Title: "grace period\nus", Metric: MetricGrace, Decimals: 1},
			{Title: "its turn\nus", Metric: MetricTurn, Decimals: 1},
			{Title: "text change\nus", Metric: MetricPatch, Decimals: 1},
		},
	}
}

// optimizedOnly holds points to what can be optimized. A probe of another mode would never become
// optimized, which a run would show only at its end.
func optimizedOnly(e *schema.Experiment) []Mistake {
	return probesWith(e, func(p *schema.Probe) string {
		if p.Mode == kprobes.Optimized {
			return ""
		}
		return fmt.Sprintf("kind %s measures probes of mode %s, not %s", e.Kind, kprobes.Optimized, p.Mode)
	}, "mode")
}

// readLatency reads [workload]: where the probe sits and what the CPUs do. The offset is in bytes
// from the target's entry.
func readLatency(r *doc.Reader) schema.Workload {
	defer r.Done()
	return schema.Workload{
		Target: doc.Need(r, "target", doc.Text),
		Offset: uint64(doc.Opt(r, "offset", 0, doc.Int(0, 1<<20))),
		Load:   doc.Need(r, "load", doc.OneOf(loads()...)),
	}
}

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
	if err := s.online(); err != nil {
		return err
	}
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
	if load := s.p.Workload.Load; load != LoadIdle {
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

// byLoad tells the lines of a group apart by what the CPUs do. Colours follow the group and dashes
// the load, so that both can be read off one chart.
func byLoad(group string, p results.Point) figures.LineStyle {
	dash := map[string]figures.Dash{LoadIdle: figures.Dashed, LoadUser: figures.Dotted}[p.Swept("workload.load")]
	return figures.LineStyle{Group: group, Dash: dash}
}

// dashedIf draws a line dashed on a condition.
func dashedIf(condition bool) figures.Dash {
	if condition {
		return figures.Dashed
	}
	return figures.Solid
}

// lineName joins the words that there are into the name of a line; without any it is the point's. A
// sweep that has only one value of a key says nothing of it.
func lineName(p results.Point, all ...string) string {
	if name := words(all...); name != "" {
		return name
	}
	return p.Name()
}

// words joins those of several words that there are.
func words(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), ", ")
}

// labelled puts a label before a value that there is.
func labelled(prefix, value string) string {
	if value == "" {
		return ""
	}
	return prefix + value
}

// overCPUs charts microseconds over the number of CPUs, which are swept in powers of two.
func overCPUs(title string, lines []string, metrics ...figures.SweepLine) *figures.SweepChart {
	return &figures.SweepChart{
		Frame: figures.Frame{Title: title, XLabel: "CPUs", YLabel: "microseconds"},
		Over:  "kernel.cpus", Lines: lines, LogX: true, LogY: true, Metrics: metrics,
	}
}

// drawLatency has one line for each load, and a panel for each length of a jiffy, since the delay is counted in
// jiffies.
func drawLatency(s *results.Set) (figures.Figure, error) {
	return overCPUs("From registering a probe to its optimization: "+place(s.Points()[0]), []string{"workload.load"},
		figures.SweepLine{
			Metric: MetricOptimized,
			Series: func(p results.Point) string { return lineName(p, loadText(p)) },
			Style:  func(p results.Point) figures.LineStyle { return byLoad(loadText(p), p) },
		}).Draw(s)
}

// loadText says what the CPUs do at a point, "" when that is not swept.
func loadText(p results.Point) string {
	return map[string]string{
		LoadIdle: "CPUs idle", LoadUser: "CPUs busy in user mode", LoadBusy: "CPUs busy in the kernel",
	}[p.Swept("workload.load")]
}

// drawLatencyParts has a line for each part and a panel for each load. It shows one length of a jiffy only, that of
// the last point: another one changes the delay and the grace period by its length.
func drawLatencyParts(s *results.Set) (figures.Figure, error) {
	points := s.Points()
	hz := points[len(points)-1].Swept("kernel.hz")
	part := func(metric, what string) figures.SweepLine {
		return figures.SweepLine{Metric: metric, Series: func(p results.Point) string {
			if p.Swept("kernel.hz") != hz {
				return ""
			}
			return what
		}}
	}
	title := words("Parts of the time to optimization", labelled("HZ ", hz)) + ": " + place(points[0])
	return overCPUs(title, nil,
		part(MetricDelay, "delay"), part(MetricGrace, "grace period"), part(MetricPatch, "change of text")).Draw(s)
}

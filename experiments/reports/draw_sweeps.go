package reports

import (
	"cmp"
	"slices"
	"strings"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/results"
	"kprobesim/results/figures"
)

// byLoad tells the lines of a group apart by what the CPUs do. Colours follow the group and dashes
// the load, so that both can be read off one chart.
func byLoad(group string, p results.Point) figures.LineStyle {
	dash := map[string]figures.Dash{schema.LoadIdle: figures.Dashed, schema.LoadUser: figures.Dotted}[p.Swept("workload.load")]
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

// words joins the words that are not empty.
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
			Metric: kinds.MetricOptimized,
			Series: func(p results.Point) string { return lineName(p, loadText(p)) },
			Style:  func(p results.Point) figures.LineStyle { return byLoad(loadText(p), p) },
		}).Draw(s)
}

// loadText says what the CPUs do at a point, "" when that is not swept.
func loadText(p results.Point) string {
	return map[string]string{
		schema.LoadIdle: "CPUs idle", schema.LoadUser: "CPUs busy in user mode", schema.LoadBusy: "CPUs busy in the kernel",
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
		part(kinds.MetricDelay, "delay"), part(kinds.MetricGrace, "grace period"), part(kinds.MetricPatch, "change of text")).Draw(s)
}

// drawBystander charts cycles over the size of the batch, both logarithmic, since fixed costs spread
// over the batch. What is done to the probes and the number of CPUs have panels, ways of changing text have lines.
func drawBystander(s *results.Set) (figures.Figure, error) {
	chart := figures.SweepChart{Over: "workload.batch", Lines: []string{"kernel.patching"}, LogX: true, LogY: true, Frame: figures.Frame{
		Title:  "What changing probes takes from an uninvolved CPU: " + place(s.Points()[0]),
		XLabel: "probes in the batch", YLabel: "cycles a probe",
	}}
	for _, op := range kinds.Operations() {
		chart.Metrics = append(chart.Metrics, figures.SweepLine{
			Metric: kinds.BystanderMetric(op), Panel: op,
			Series: func(p results.Point) string { return lineName(p, p.Swept("kernel.patching")) },
		})
	}
	return chart.Draw(s)
}

// drawScaling draws the variants with a shared counter dashed beside those with one of each CPU.
func drawScaling(s *results.Set) (figures.Figure, error) {
	chart := figures.SweepChart{Over: "kernel.cpus", LogX: true, LogY: true, Frame: figures.Frame{
		Title:  "Hits of one probe by several CPUs: " + place(s.Points()[0]),
		XLabel: "CPUs", YLabel: "million hits a second",
		Caption: []string{"the entry of r is boosted; shared: the handler counts in one counter of all CPUs instead of the CPU's own"},
	}}
	chart.Metrics = []figures.SweepLine{{
		Metric: kinds.MetricRate, Series: results.Point.Name,
		Style: func(p results.Point) figures.LineStyle {
			name, shared := strings.CutSuffix(p.Name(), "-shared")
			return figures.LineStyle{Group: name, Dash: dashedIf(shared)}
		},
	}}
	return chart.Draw(s)
}

// drawUnregister tells both ways apart by dashes and probes by colours. Loads have panels.
func drawUnregister(s *results.Set) (figures.Figure, error) {
	line := func(metric, how string, dash figures.Dash) figures.SweepLine {
		return figures.SweepLine{
			Metric: metric,
			Series: func(p results.Point) string { return p.Name() + ", " + how },
			Style:  func(p results.Point) figures.LineStyle { return figures.LineStyle{Group: p.Name(), Dash: dash} },
		}
	}
	chart := figures.SweepChart{Over: "workload.batch", LogX: true, LogY: true, Frame: figures.Frame{
		Title:  "Unregistering probes: " + place(s.Points()[0]),
		XLabel: "probes", YLabel: "microseconds a probe",
	}}
	chart.Metrics = []figures.SweepLine{
		line(kinds.MetricTogether, "one call", figures.Solid), line(kinds.MetricSingly, "one call each", figures.Dashed),
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
		line(kinds.MetricWatch, "registering"), line(kinds.MetricUnwatch, "unregistering")).Draw(s)
}

// drawEventRate draws the overhead of each probe, and dashed what the rate times the cost of hits without a gap gives.
func drawEventRate(s *results.Set) (figures.Figure, error) {
	line := func(metric, what string, dash figures.Dash) figures.SweepLine {
		return figures.SweepLine{
			Metric: metric,
			Series: func(p results.Point) string { return words(p.Name(), what) },
			Style:  func(p results.Point) figures.LineStyle { return figures.LineStyle{Group: p.Name(), Dash: dash} },
		}
	}
	chart := figures.SweepChart{Over: "workload.rate", LogX: true, LogY: true, Frame: figures.Frame{
		Title:  "Overhead by the rate of events: " + place(s.Points()[0]),
		XLabel: "events a second", YLabel: "overhead, %",
		Caption: []string{"dashed: the rate times the cycles of hits that follow each other without a gap"},
	}}
	chart.Metrics = []figures.SweepLine{
		line(kinds.MetricOverhead, "", figures.Solid), line(kinds.MetricProduct, "product", figures.Dashed),
	}
	return chart.Draw(s)
}

// drawAttachTime has a panel for each step and a line for each probe. It shows one load of the other CPUs, that of the last
// point.
func drawAttachTime(s *results.Set) (figures.Figure, error) {
	const key = "workload.load"
	points := s.Points()
	load := points[len(points)-1].Swept(key)
	chart := figures.SweepChart{Over: "workload.batch", LogX: true, LogY: true, Columns: 2, Frame: figures.Frame{
		Title:  words("Attaching and removing probes", loadText(points[len(points)-1])) + ": " + place(points[0]),
		XLabel: "probes", YLabel: "microseconds", Caption: []string{"each step begins where the one before ends; all probes together, but for the last"},
	}}
	titles := map[string]string{
		kinds.StepOptimize: "until all are optimized", kinds.StepRemove: "remove by one call",
		kinds.StepClean: "until all jumps are gone", kinds.StepSingly: "remove one by a call of its own",
	}
	for _, step := range kinds.AttachSteps() {
		chart.Metrics = append(chart.Metrics, figures.SweepLine{
			Metric: kinds.MetricStep(step), Panel: cmp.Or(titles[step], step),
			Series: func(p results.Point) string {
				if p.Swept(key) != load {
					return ""
				}
				return p.Name()
			},
			Style: func(p results.Point) figures.LineStyle { return figures.LineStyle{Group: p.Name()} },
		})
	}
	return chart.Draw(s)
}

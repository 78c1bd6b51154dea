package reports

import (
	"fmt"
	"slices"
	"strings"

	"kprobesim/internal/distinct"
	"kprobesim/results"
	"kprobesim/results/figures"
)

// phasesOf returns the phases that the records of a set tell of, in the order of the records. Files
// of other versions may lack a phase or have one more.
func phasesOf(s *results.Set) []string {
	head := results.PhaseMetric("")
	var out []string
	for r := range s.All() {
		if name, ok := strings.CutPrefix(r.Metric, head); ok {
			out = distinct.Append(out, name)
		}
	}
	return out
}

// drawOverhead makes a panel of each experiment for a collection.
func drawOverhead(s *results.Set) (figures.Figure, error) {
	if several(s) {
		return figures.OverheadPanels(s, figures.Frame{
			Title: overheadTitle(s), YLabel: "microseconds per hit",
			Width: 165,
		}, place)
	}
	return figures.OverheadBars(s, figures.Frame{
		Title: "Overhead of a probe hit: " + place(s.Points()[0]), YLabel: "microseconds per hit",
	}, false)
}

// overheadTitle says whether a set has published figures to compare with.
func overheadTitle(s *results.Set) string {
	title := "Overhead of a probe hit"
	if slices.ContainsFunc(s.Points(), func(p results.Point) bool {
		_, ok := s.Get(p, results.MetricPublished)
		return ok
	}) {
		return title + ", published and simulated"
	}
	return title
}

// drawPhases stacks phases, for which none may be far below zero.
func drawPhases(s *results.Set) (figures.Figure, error) {
	phases, caption := stackable(s)
	if several(s) {
		return figures.PhasePanels(s, phases, figures.Frame{
			Title: "Where the cycles of a probe hit go", YLabel: "cycles per hit", Caption: caption,
			Width: 165,
		}, place)
	}
	return figures.PhaseStack(s, phases, figures.Frame{
		Title:  "Where the cycles of a probe hit go: " + place(s.Points()[0]),
		YLabel: "cycles per hit", Caption: caption,
	})
}

// place says where the figures of an experiment are from. Titles end with it, since a cost means
// nothing without the machine and the kernel's era.
func place(p results.Point) string { return fmt.Sprintf("%s, %s, %s", p.Machine, p.ISA, p.Era) }

// drawWished draws the figure of the table [figure]. Of a collection it says where the points are from that have its metric.
func drawWished(s *results.Set) (figures.Figure, error) {
	if s.Wish.Metric == "" || !several(s) {
		return figures.Wished(s, s.Wish, places(s))
	}
	of := s.Only(func(p results.Point) bool { _, ok := s.Get(p, s.Wish.Metric); return ok })
	if len(of.Points()) == 0 {
		of = s // whose error names the metric
	}
	return figures.Wished(of, s.Wish, places(of))
}

// places says where the figures of a set are from, or from how many places.
func places(s *results.Set) string {
	points := s.Points()
	if !results.Differ(points, place) {
		return place(points[0])
	}
	all := map[string]bool{}
	for _, p := range points {
		all[place(p)] = true
	}
	return fmt.Sprintf("%d machines and kernels", len(all))
}

// several reports whether a set holds more than one experiment, as that of a collection does.
// Figures of several experiments have panels.
func several(s *results.Set) bool {
	p := s.Points()
	return slices.ContainsFunc(p, func(q results.Point) bool { return q.Experiment != p[0].Experiment })
}

// stackable returns the phases that can be stacked, and what the caption says of the others: code
// that runs with and without the probe, the workload's own, may take a few cycles less when a
// probe's work overlaps it. Less than a cycle below zero is drawn as zero.
func stackable(s *results.Set) (phases, caption []string) {
	for _, name := range phasesOf(s) {
		var least results.Value
		for _, p := range s.Points() {
			if r, ok := s.Get(p, results.PhaseMetric(name)); ok && r.Value.Cmp(least) < 0 {
				least = r.Value
			}
		}
		if least.Float() >= -1 {
			phases = append(phases, name)
			continue
		}
		caption = append(caption,
			fmt.Sprintf("not drawn: %s, which overlaps the probe's work (down to %s cycles)", name,
				least.Round(1)))
	}
	return phases, caption
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

// tornadoBars bounds the bars of a panel, so that names can be read.
const tornadoBars = 8

// drawTornado draws a panel for each row. Every two rows take one more height.
func drawTornado(s *results.Set) (figures.Figure, error) {
	if len(s.Points()) == 0 {
		return nil, figures.ErrNotSwept
	}
	first := s.Points()[0]
	frame := figures.Frame{
		Title:  "What moves the overhead of a hit most: " + place(first),
		XLabel: "change of the cycles of a hit, %", Width: 165,
		Caption: []string{"each number alone at the low and the high end of its uncertainty"},
	}
	if r, ok := s.Get(first, results.MetricRefitted); ok {
		frame.Caption = append(frame.Caption, fmt.Sprintf("behind each change %s numbers were fitted again, so that the figures that they are fitted on stay", r.Value))
	}
	return figures.TornadoOf(s, frame, tornadoBars)
}

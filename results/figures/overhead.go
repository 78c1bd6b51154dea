package figures

import (
	"errors"
	"slices"
	"strings"

	"kprobesim/results"
)

// OverheadBars charts the microseconds of each probe beside the published figure where there is one:
// fitted bars hatched, whiskers from the digits that the publication printed. The caption gains the
// sources of the set.
func OverheadBars(s *results.Set, frame Frame, log bool) (Figure, error) {
	points := slices.DeleteFunc(s.Points(), func(p results.Point) bool { return !hasMicros(s, p) })
	if len(points) == 0 {
		return nil, errors.New("no microseconds to chart")
	}
	f, err := barPanels(points, captioned(frame, s), func(points []results.Point, frame Frame, group func(results.Point) string) Panel {
		return overheadBars(s, points, frame, log, group)
	})
	if err != nil {
		return nil, err
	}
	hidePublished(f)
	return f, nil
}

func hasMicros(s *results.Set, p results.Point) bool {
	_, micros := s.Get(p, results.MetricMicros)
	_, published := s.Get(p, results.MetricPublished)
	return micros || published
}

// hidePublished takes the places of published figures away where no bar has one.
func hidePublished(f Figure) {
	all := chartsOf[*Bars](f)
	if slices.ContainsFunc(all, func(b *Bars) bool { plain, _ := b.Series[0].kinds(); return plain }) {
		return
	}
	for _, b := range all {
		b.Series, b.firstFill = b.Series[1:], 1
	}
}

// chartsOf lists the charts of a figure: its panels', or itself.
func chartsOf[T Panel](f Figure) (all []T) {
	switch f := f.(type) {
	case *Panels:
		for _, p := range f.Panels {
			all = append(all, chartsOf[T](p)...)
		}
	case T:
		all = append(all, f)
	}
	return all
}

// overheadBars charts some points of a set: the published figures, which may all be absent, and what
// was simulated.
func overheadBars(s *results.Set, points []results.Point, frame Frame, log bool, group func(results.Point) string) *Bars {
	b := &Bars{Frame: frame, Log: log}
	published := BarSeries{Name: "published"}
	simulated := BarSeries{Name: plainName(s, points), HatchedName: "fitted"}
	for _, p := range points {
		micros, ok := s.Get(p, results.MetricMicros)
		measured, okPublished := s.Get(p, results.MetricPublished)
		if !ok && !okPublished {
			continue
		}
		b.Groups = append(b.Groups, group(p))
		published.Bars = append(published.Bars, printedBar(s, measured, okPublished))
		bar := simulatedBar(micros, measured, ok)
		bar.Label += s.Mark(p, results.MetricMicros)
		bar.Kind = p.Name()
		simulated.Bars = append(simulated.Bars, bar)
	}
	b.Series = []BarSeries{published, simulated}
	return b
}

// plainName names plain bars: predictions, when each of them is one.
func plainName(s *results.Set, points []results.Point) string {
	for _, p := range points {
		if r, ok := s.Get(p, results.MetricMicros); ok && r.Role == results.Simulated {
			return string(results.Simulated)
		}
	}
	return string(results.Predicted)
}

// OverheadPanels is OverheadBars with a panel for each setup of the set, two beside each other. Function title
// makes its title of the panel's first point. Where two experiments of one setup have probes of the same name, each
// experiment has a panel by its own name. All panels have a place for published figures, or none has. The
// page is higher than the frame says when its rows of panels need it.
func OverheadPanels(s *results.Set, frame Frame, title func(results.Point) string) (*Panels, error) {
	p := panelsOf(captioned(frame, s))
	groups, title := setups(s, title)
	for _, points := range groups {
		b := overheadBars(s, points, Frame{Title: title(points[0]), YLabel: frame.YLabel}, false, settingsName)
		if len(b.Groups) > 0 {
			p.Panels = append(p.Panels, b)
		}
	}
	hidePublished(p)
	return p, p.nonempty()
}

// settingsName names a point of several experiments, with what was swept.
func settingsName(p results.Point) string {
	return strings.Join(append([]string{p.Name()}, settingsOf(p)...), " ")
}

func settingsOf(p results.Point) (texts []string) {
	for _, x := range p.Settings() {
		texts = append(texts, settingText(x.Key, x.Value))
	}
	return texts
}

// panelsOf is a page without panels yet. Axes are labelled beside the first panel of a row.
func panelsOf(frame Frame) *Panels {
	frame.YLabel = ""
	return &Panels{Frame: frame, Columns: mostColumns}
}

// mostColumns is how many panels stand beside each other at most.
const mostColumns = 3

func (p *Panels) nonempty() error {
	if len(p.Panels) == 0 {
		return errors.New("nothing to chart")
	}
	return nil
}

// setups groups the points of a set for panels, each by its setup and with its title.
func setups(s *results.Set, title func(results.Point) string) ([][]results.Point, func(results.Point) string) {
	if setupsClash(s) {
		byName := func(p results.Point) results.Point { return results.Point{Experiment: p.Experiment} }
		return grouped(s, byName), func(p results.Point) string { return p.Experiment }
	}
	return grouped(s, setupOf), title
}

// setupOf returns the setup that the points of one panel have in common.
func setupOf(p results.Point) results.Point {
	return results.Point{Machine: p.Machine, ISA: p.ISA, Era: p.Era}
}

// setupsClash reports whether two experiments of one setup have a probe of the same name.
func setupsClash(s *results.Set) bool {
	from := map[results.Point]string{}
	for _, p := range s.Points() {
		k := setupOf(p)
		k.Probe = p.Probe
		if e, ok := from[k]; ok && e != p.Experiment {
			return true
		}
		from[k] = p.Experiment
	}
	return false
}

// grouped returns the points of each key, in the order of the set.
func grouped(s *results.Set, key func(results.Point) results.Point) [][]results.Point {
	var out [][]results.Point
	at := map[results.Point]int{}
	for _, p := range s.Points() {
		i, ok := at[key(p)]
		if !ok {
			i = len(out)
			at[key(p)] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], p)
	}
	return out
}

func captioned(frame Frame, s *results.Set) Frame {
	frame.Caption = append([]string(nil), frame.Caption...)
	frame.Caption = append(frame.Caption, results.ExplainProbes(s.Points())...)
	if s.Has(func(r results.Record) bool { return r.Role == results.Fitted }) {
		frame.Caption = append(frame.Caption, "fitted (hatched): a number of the machine was fitted on the published figure")
	}
	if sources := s.Sources(); len(sources) > 0 {
		frame.Caption = append(frame.Caption, "published: "+strings.Join(sources, "; "))
		frame.Caption = append(frame.Caption, whiskers(s))
	}
	return frame
}

// whiskers says what the whiskers of published bars hold.
func whiskers(s *results.Set) string {
	if s.Has(func(r results.Record) bool { return r.Metric == results.MetricRepeats && !r.Value.IsZero() }) {
		return "whiskers: the rounding of the published figures, and by how much they differ when they are measured again"
	}
	return "whiskers: the rounding of the published figures"
}

// printedBar is a published figure. Its whisker holds what the printed digits leave open and, where that is
// known, by how much a second measurement differed.
func printedBar(s *results.Set, r results.Record, ok bool) Bar {
	if !ok {
		return Bar{Absent: true}
	}
	low, high := r.Value.Bounds()
	if again, known := s.Get(r.Point, results.MetricRepeats); known {
		low, high = low.Sub(again.Value), high.Add(again.Value)
	}
	return Bar{Value: r.Value.Float(), Low: low.Float(), High: high.Float(), Label: r.Value.String()}
}

// simulatedBar labels a prediction with one digit more than the figure it is compared with.
func simulatedBar(r, published results.Record, ok bool) Bar {
	if !ok {
		return Bar{Absent: true}
	}
	digits := max(2, published.Value.Decimals()) + 1
	low, high := r.Spread.Whisker()
	return Bar{
		Value: r.Value.Float(), Low: low, High: high, Label: r.Value.Round(digits).String(), Hatched: r.Role == results.Fitted,
	}
}

// PhaseStack charts the cycles by phase of each probe, phases in the given order from the bottom. A
// phase that is zero or absent everywhere is left out, and so is a probe without phases.
func PhaseStack(s *results.Set, phases []string, frame Frame) (Figure, error) {
	drawn := drawnPhases(s, phases)
	points := slices.DeleteFunc(s.Points(), func(p results.Point) bool { return !hasPhase(s, p, drawn) })
	if len(drawn) == 0 || len(points) == 0 {
		return nil, errors.New("no cycles by phase to chart")
	}
	frame.Caption = append(slices.Clone(frame.Caption), results.ExplainProbes(points)...)
	return barPanels(points, frame, func(points []results.Point, frame Frame, group func(results.Point) string) Panel {
		return phaseStack(s, points, drawn, frame, group)
	})
}

// PhasePanels is PhaseStack with a panel for each setup of the set, as OverheadPanels has them.
func PhasePanels(s *results.Set, phases []string, frame Frame, title func(results.Point) string) (*Panels, error) {
	p, drawn := panelsOf(frame), drawnPhases(s, phases)
	p.Caption = append(slices.Clone(p.Caption), results.ExplainProbes(s.Points())...)
	groups, title := setups(s, title)
	for _, points := range groups {
		st := phaseStack(s, points, drawn, Frame{Title: title(points[0]), YLabel: frame.YLabel}, settingsName)
		if len(st.Groups) > 0 {
			p.Panels = append(p.Panels, st)
		}
	}
	return p, p.nonempty()
}

// drawnPhases are those that any probe of a set spends cycles in.
func drawnPhases(s *results.Set, phases []string) (drawn []string) {
	for _, phase := range phases {
		if slices.ContainsFunc(s.Points(), func(p results.Point) bool { return phaseCycles(s, p, phase) != 0 }) {
			drawn = append(drawn, phase)
		}
	}
	return drawn
}

// phaseCycles are the cycles that a stack has place for: a phase below zero is none; the caller says so.
func phaseCycles(s *results.Set, p results.Point, phase string) float64 {
	r, _ := s.Get(p, results.PhaseMetric(phase))
	return max(r.Value.Float(), 0)
}

// phaseStack charts some points of a set, with all of the phases.
func phaseStack(s *results.Set, points []results.Point, phases []string, frame Frame, group func(results.Point) string) *Stack {
	st := &Stack{Frame: frame}
	points = slices.DeleteFunc(slices.Clone(points), func(p results.Point) bool { return !hasPhase(s, p, phases) })
	for _, p := range points {
		st.Groups = append(st.Groups, group(p)+s.Mark(p, results.MetricCycles))
		if r, ok := s.Get(p, results.MetricCycles); ok {
			st.Totals = append(st.Totals, r.Value.Float())
		}
	}
	if len(st.Totals) != len(st.Groups) {
		st.Totals = nil
	}
	for _, phase := range phases {
		l := Layer{Name: phase}
		for _, p := range points {
			l.Values = append(l.Values, phaseCycles(s, p, phase))
		}
		st.Layers = append(st.Layers, l)
	}
	return st
}

func hasPhase(s *results.Set, p results.Point, phases []string) bool {
	return slices.ContainsFunc(phases, func(phase string) bool {
		_, ok := s.Get(p, results.PhaseMetric(phase))
		return ok
	})
}

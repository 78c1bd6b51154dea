package figures

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"kprobesim/internal/distinct"
	"kprobesim/results"
)

// ErrNotSwept says that a set has nothing that a chart of lines could show: what is to be its x axis does
// not vary.
var ErrNotSwept = errors.New("not swept, so that there is nothing to chart over it")

// SweepChart charts metrics over a swept number: metric by metric, and of each one line for every name
// that its Series gives, in the order of the points. There is a panel for each value of every other swept
// key.
type SweepChart struct {
	Frame
	Over       string   // key of the swept number, which is the x axis
	Lines      []string // swept keys that the names of lines tell
	LogX, LogY bool
	Metrics    []SweepLine
	Columns    int // of panels at most; 0 for as many as a page has
}

// SweepLine is a metric of a chart.
type SweepLine struct {
	Metric string
	Panel  string                        // of a panel of its own; metrics of the same name share one
	Series func(results.Point) string    // name of the line that a point belongs to, "" for none
	Style  func(results.Point) LineStyle // of that line; nil lets every line have its own
}

// Draw makes the chart of a set. A point that does not sweep the number is left out. On a logarithmic axis
// a value of zero is left out, too, and the caption says so. It fails with ErrNotSwept when no point sweeps
// the number, and with ErrTooMuch when there are more panels or lines than can be told apart.
func (c *SweepChart) Draw(s *results.Set) (Figure, error) {
	points := c.drawn(s)
	if !slices.Contains(results.SweptKeys(s), c.Over) {
		return nil, fmt.Errorf("%s is %w", c.Over, ErrNotSwept)
	}
	if len(points) == 0 {
		return nil, errors.New("nothing to chart: no point has the metric")
	}
	keys := slices.DeleteFunc(varied(points), func(k string) bool { return k == c.Over || slices.Contains(c.Lines, k) })
	parts, err := facets(points, keys, false)
	if err != nil {
		return nil, err
	}
	page := &Panels{Frame: c.Frame, Columns: cmp.Or(c.Columns, mostColumns)}
	page.Caption = append(slices.Clone(page.Caption), results.ExplainProbes(points)...)
	var notes sweepNotes
	for _, f := range parts {
		for _, name := range c.panels() {
			l, err := c.lines(s, f, name, &notes)
			if err != nil {
				return nil, err
			}
			if len(l.Series) > 0 {
				page.Panels = append(page.Panels, l)
			}
		}
	}
	if len(page.Panels) > mostPanels {
		return nil, fmt.Errorf("%d panels are %w, which is %d: it has one for each of %d metrics and of %s; sweep fewer values",
			len(page.Panels), ErrTooMuch, mostPanels, len(c.panels()), countValues(points, keys, false))
	}
	if len(page.Panels) == 0 {
		return nil, errors.New("nothing to chart: all is zero, which a logarithmic axis cannot show")
	}
	page.Caption = append(page.Caption, notes.text()...)
	fitTime(chartsOf[*Lines](page))
	if len(page.Panels) == 1 {
		l := page.Panels[0].(*Lines)
		l.Title, l.Caption, l.Width, l.Height = page.Title, page.Caption, page.Width, page.Height
		return l, nil
	}
	return page, nil
}

// drawn are the points that any line has.
func (c *SweepChart) drawn(s *results.Set) []results.Point {
	return slices.DeleteFunc(s.Points(), func(p results.Point) bool {
		return p.Swept(c.Over) == "" || !slices.ContainsFunc(c.Metrics, func(m SweepLine) bool {
			_, ok := s.Get(p, m.Metric)
			return ok && m.Series(p) != ""
		})
	})
}

// panels are the names of panels that metrics have.
func (c *SweepChart) panels() (names []string) {
	for _, m := range c.Metrics {
		names = distinct.Append(names, m.Panel)
	}
	return names
}

// lines makes the chart of some points, with the metrics of a panel.
func (c *SweepChart) lines(s *results.Set, f facet, panel string, notes *sweepNotes) (*Lines, error) {
	title := strings.Trim(panel+", "+f.title, ", ")
	l := &Lines{Frame: Frame{Title: title, XLabel: c.XLabel, YLabel: c.YLabel}, LogX: c.LogX, LogY: c.LogY}
	for _, m := range c.Metrics {
		if m.Panel != panel {
			continue
		}
		none, err := c.metric(l, s, f.points, m)
		if err != nil {
			return nil, err
		}
		notes.dropped = distinct.Append(notes.dropped, none...)
	}
	if len(l.Series) > mostLines {
		return nil, fmt.Errorf("%d lines are %w, which is %d: they tell %s; sweep fewer values",
			len(l.Series), ErrTooMuch, mostLines, countValues(f.points, c.Lines, results.Differ(f.points, results.Point.Name)))
	}
	notes.hide(l)
	return l, nil
}

// sweepNotes are the lines that do not show, for the caption. Alike are the panels of which one line shows.
type sweepNotes struct{ dropped, hidden, alike []string }

func (n *sweepNotes) text() (out []string) {
	if len(n.dropped) > 0 {
		out = append(out, "not drawn, as it is zero: "+strings.Join(n.dropped, "; "))
	}
	slices.Sort(n.hidden)
	if all := slices.Compact(n.hidden); len(all) > 0 {
		out = append(out, strings.Join(all, "; "))
	}
	if len(n.alike) > 0 {
		out = append(out, strings.TrimSuffix("all lines lie on each other: "+strings.Join(n.alike, "; "), ": "))
	}
	return out
}

// metric adds the lines of one metric and returns the names of those that have a point which a logarithmic
// axis cannot show.
func (c *SweepChart) metric(l *Lines, s *results.Set, points []results.Point, m SweepLine) (dropped []string, err error) {
	for _, p := range points {
		r, ok := s.Get(p, m.Metric)
		name, swept := m.Series(p), p.Swept(c.Over)
		if !ok || name == "" || swept == "" {
			continue
		}
		x, err := results.ParseValue(swept)
		if err != nil {
			return nil, fmt.Errorf("point %s: %s is no number to chart over: %w", p.Probe, c.Over, err)
		}
		if l.LogY && !r.Value.Positive() || l.LogX && !x.Positive() {
			dropped = append(dropped, strings.Trim(l.Title+": "+name, ": "))
			continue
		}
		line := l.line(name)
		low, high := r.Spread.Whisker()
		if l.LogY && low <= 0 {
			low, high = 0, 0 // such an end has no place on the axis
		}
		line.Points = append(line.Points, XY{X: x.Float(), Y: r.Value.Float(), Low: low, High: high})
		if m.Style != nil {
			line.Style = m.Style(p)
		}
	}
	return dropped, nil
}

// hide notes which lines of a panel lie under others.
func (n *sweepNotes) hide(l *Lines) {
	var notes []string
	where := ""
	if l.Title != "" {
		where = l.Title + ": "
	}
	for i, s := range l.Series {
		for _, above := range l.Series[i+1:] {
			if len(s.Points) > 0 && slices.Equal(s.Points, above.Points) {
				notes = append(notes, fmt.Sprintf("%s%s lies under %s", where, s.Name, above.Name))
				break
			}
		}
	}
	if len(notes) > 1 && len(notes) == len(l.Series)-1 { // each lies under the next one
		n.alike = append(n.alike, l.Title)
		return
	}
	n.hidden = append(n.hidden, notes...)
}

// fitTime draws microseconds as milliseconds when all of them are thousands.
func fitTime(charts []*Lines) {
	least := math.Inf(1)
	for _, l := range charts {
		for _, s := range l.Series {
			for _, p := range s.Points {
				least = min(least, p.Y)
			}
		}
	}
	for _, l := range charts {
		if least < 1000 || !strings.Contains(l.YLabel, "microseconds") {
			return
		}
		l.YLabel = strings.Replace(l.YLabel, "microseconds", "milliseconds", 1)
		for _, s := range l.Series {
			for i := range s.Points {
				p := &s.Points[i]
				p.Y, p.Low, p.High = p.Y/1000, p.Low/1000, p.High/1000
			}
		}
	}
}

// line returns the line of a name.
func (l *Lines) line(name string) *LineSeries {
	i := slices.IndexFunc(l.Series, func(s LineSeries) bool { return s.Name == name })
	if i < 0 {
		i = len(l.Series)
		l.Series = append(l.Series, LineSeries{Name: name})
	}
	return &l.Series[i]
}

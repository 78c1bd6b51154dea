package results

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// setting is one parameter of a sweep in the name of a point.
type setting struct{ key, value string }

// swept takes the name of a point apart: what is observed, and the parameters of the sweep. A value
// may hold a slash.
func swept(probe string) (name string, settings []setting) {
	parts := strings.Split(probe, "/")
	for _, part := range parts[1:] {
		key, value, ok := strings.Cut(part, "=")
		switch {
		case ok:
			settings = append(settings, setting{key, value})
		case len(settings) > 0:
			settings[len(settings)-1].value += "/" + part
		}
	}
	return parts[0], settings
}

// Name is the point's name without the parameters of a sweep.
func (p Point) Name() string {
	name, _ := swept(p.Probe)
	return name
}

// Swept returns the value that a parameter of the sweep has at the point, "" when it is not swept.
func (p Point) Swept(key string) string {
	_, settings := swept(p.Probe)
	for _, s := range settings {
		if s.key == key {
			return s.value
		}
	}
	return ""
}

// SweptKeys returns the parameters that any point of the set sweeps, in the order of the names.
func SweptKeys(s *Set) []string {
	var keys []string
	for _, p := range s.Points() {
		_, settings := swept(p.Probe)
		for _, x := range settings {
			if !slices.Contains(keys, x.key) {
				keys = append(keys, x.key)
			}
		}
	}
	return keys
}

// SweepColumns are the columns that tell the points of a sweep apart: the name, and one for each
// parameter, headed by the last word of its key. The name is left out when all points have the same.
func SweepColumns(s *Set) []ColumnSpec {
	var specs []ColumnSpec
	if several(s.Points(), Point.Name) {
		specs = append(specs, ColumnSpec{Title: "probe", Key: Point.Name})
	}
	for _, key := range SweptKeys(s) {
		specs = append(specs, ColumnSpec{
			Title: key[strings.LastIndex(key, ".")+1:],
			Key:   func(p Point) string { return p.Swept(key) },
		})
	}
	if len(specs) == 0 {
		return []ColumnSpec{ProbeColumn()}
	}
	return specs
}

// several reports whether f tells some points apart.
func several(points []Point, f func(Point) string) bool {
	return slices.ContainsFunc(points, func(p Point) bool { return f(p) != f(points[0]) })
}

// ErrNotSwept says that a set has nothing that a chart of lines could show: what is to be its x axis does
// not vary.
var ErrNotSwept = errors.New("not swept, so that there is nothing to chart over it")

// SweepChart charts metrics over a swept number: metric by metric, and of each one line for every name
// that its Series gives, in the order of the points.
type SweepChart struct {
	Frame
	Over       string // key of the swept number, which is the x axis
	LogX, LogY bool
	Metrics    []SweepLine
}

// SweepLine is a metric of a chart.
type SweepLine struct {
	Metric string
	Series func(Point) string    // name of the line that a point belongs to, "" for none
	Style  func(Point) LineStyle // of that line; nil lets every line have its own
}

// Lines makes the chart of a set. A point that does not sweep the number is left out. On a logarithmic axis
// a value of zero is left out, too, and the caption says so. It fails with ErrNotSwept when no point sweeps
// the number.
func (c *SweepChart) Lines(s *Set) (*Lines, error) {
	if !slices.Contains(SweptKeys(s), c.Over) {
		return nil, fmt.Errorf("%s is %w", c.Over, ErrNotSwept)
	}
	l := &Lines{Frame: c.Frame, LogX: c.LogX, LogY: c.LogY}
	l.Caption = slices.Clone(l.Caption)
	var dropped []string
	for _, m := range c.Metrics {
		none, err := c.metric(l, s, m)
		if err != nil {
			return nil, err
		}
		for _, name := range none {
			if !slices.Contains(dropped, name) {
				dropped = append(dropped, name)
			}
		}
	}
	if len(dropped) > 0 {
		l.Caption = append(l.Caption, "not drawn, as it is zero: "+strings.Join(dropped, "; "))
	}
	l.noteHidden()
	if len(l.Series) == 0 {
		return nil, errors.New("nothing to chart: no point has the metric")
	}
	return l, nil
}

// metric adds the lines of one metric and returns the names of those that have a point which a logarithmic
// axis cannot show.
func (c *SweepChart) metric(l *Lines, s *Set, m SweepLine) (dropped []string, err error) {
	for _, p := range s.Points() {
		r, ok := s.Get(p, m.Metric)
		name, swept := m.Series(p), p.Swept(c.Over)
		if !ok || name == "" || swept == "" {
			continue
		}
		x, err := ParseValue(swept)
		if err != nil {
			return nil, fmt.Errorf("point %s: %s is no number to chart over: %w", p.Probe, c.Over, err)
		}
		if l.LogY && !r.Value.positive() || l.LogX && !x.positive() {
			dropped = append(dropped, name)
			continue
		}
		line := l.line(name)
		low, high := r.Spread.whisker()
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

// positive reports whether a value can stand on a logarithmic axis.
func (v Value) positive() bool { return v.Cmp(Value{}) > 0 }

// noteHidden says in the caption which lines lie under others.
func (l *Lines) noteHidden() {
	for i, s := range l.Series {
		for _, above := range l.Series[i+1:] {
			if len(s.Points) > 0 && slices.Equal(s.Points, above.Points) {
				l.Caption = append(l.Caption, fmt.Sprintf("%s lies under %s", s.Name, above.Name))
				break
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

// BarsOf returns a metric of every point of a set as a series of bars, labelled with the number.
func BarsOf(s *Set, metric, name string, decimals int) BarSeries {
	series := BarSeries{Name: name}
	for _, p := range s.Points() {
		r, ok := s.Get(p, metric)
		if !ok {
			series.Bars = append(series.Bars, Bar{Absent: true})
			continue
		}
		low, high := r.Spread.whisker()
		series.Bars = append(series.Bars, Bar{
			Value: r.Value.Float(), Low: low, High: high, Label: r.Value.Round(decimals).String(),
		})
	}
	return series
}

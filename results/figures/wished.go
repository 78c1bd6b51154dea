package figures

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kprobesim/internal/distinct"
	"kprobesim/results"
)

// ShowTitle puts the user's title in the place of where a figure is from, which then follows it.
func ShowTitle(f Figure, title, place string) {
	if title == "" {
		return
	}
	what, _, _ := strings.Cut(f.frame().Title, ": ")
	f.frame().Title = fmt.Sprintf("%s: %s (%s)", what, title, place)
}

// Wished draws the figure that an experiment asks for. Numbers on the x axis make lines, words make bars. Points that no
// key of the figure tells apart are one mark: their mean, with a whisker from the lowest to the highest.
func Wished(s *results.Set, w results.Wish, place string) (Figure, error) {
	points := s.Points()
	if w.X == "" || len(points) == 0 || !results.Differ(points, func(p results.Point) string { return p.Value(w.X) }) {
		return nil, fmt.Errorf("%s is %w", cmp.Or(w.X, "x"), ErrNotSwept)
	}
	c := wished{Wish: w, panels: map[string]*wishedPanel{}, numeric: true}
	for _, a := range s.Axes {
		if a.Key == w.X {
			c.x = a
		}
	}
	for _, p := range points {
		for r := range s.At(p) {
			if c.Metric = cmp.Or(c.Metric, r.Metric); r.Metric == c.Metric {
				c.add(r)
				break
			}
		}
	}
	if len(c.order) == 0 {
		return nil, fmt.Errorf("no point has the metric %q", c.Metric)
	}
	page := &Panels{Frame: c.frame(w.Title, place), Columns: mostColumns}
	for _, name := range c.order {
		if c.numeric {
			page.Panels = append(page.Panels, c.lines(name))
		} else {
			page.Panels = append(page.Panels, c.bars(name))
		}
	}
	if most := max(len(c.order), len(c.series), len(c.panels[c.order[0]].xs)/4); most > mostPanels {
		return nil, fmt.Errorf("%d panels, %d lines and %d values on the x axis are %w", len(c.order), len(c.series), len(c.panels[c.order[0]].xs), ErrTooMuch)
	}
	return page, nil
}

// wished gathers the marks of a figure.
type wished struct {
	results.Wish
	x       results.Axis
	unit    string
	numeric bool // each value of the x axis is a number
	folded  bool // a mark stands for several points
	low     float64
	high    float64 // of the x axis
	order   []string
	series  []string
	panels  map[string]*wishedPanel
}

// wishedPanel has the marks of a panel by series and x.
type wishedPanel struct {
	xs    []string
	marks map[[2]string]*mark
}

// mark is the mean of some records with their extremes.
type mark struct {
	sum, low, high float64
	n              int
}

// value returns the place of a point on the x axis, in the unit of a swept key.
func (c *wished) value(p results.Point) string {
	if c.x.Key != "" {
		return c.x.Cell(p)
	}
	return p.Value(c.X)
}

// add counts a record in.
func (c *wished) add(r results.Record) {
	x, line, panel := c.value(r.Point), wishedName(r.Point, c.Series), wishedName(r.Point, c.Panel)
	if x == "" {
		return
	}
	p := c.panels[panel]
	if p == nil {
		p = &wishedPanel{marks: map[[2]string]*mark{}}
		c.panels[panel] = p
		c.order = append(c.order, panel)
	}
	if !slices.Contains(c.series, line) && len(c.series) <= mostLines {
		c.series = append(c.series, line)
	}
	number, err := strconv.ParseFloat(x, 64)
	if c.unit == "" {
		c.low, c.high = number, number
	}
	c.low, c.high = min(c.low, number), max(c.high, number)
	c.numeric = c.numeric && err == nil
	c.unit = r.Unit
	at, v := [2]string{line, x}, r.Value.Float()
	m := p.marks[at]
	if m == nil {
		m = &mark{low: v, high: v}
		p.marks[at] = m
		p.xs = distinct.Append(p.xs, x)
	}
	m.sum, m.low, m.high, m.n = m.sum+v, min(m.low, v), max(m.high, v), m.n+1
	c.folded = c.folded || m.n > 1
}

// wishedName names a series or a panel by the value of its key.
func wishedName(p results.Point, key string) string {
	v := p.Value(key)
	if key == "" || v == "" || slices.Contains([]string{"probe", "machine", "isa", "era", "experiment"}, key) {
		return v
	}
	return settingText(key, v)
}

// whisker returns the mean of a mark, and its range if it has one.
func (m *mark) whisker() (mean, low, high float64) {
	if m.low == m.high {
		return m.low, 0, 0
	}
	return m.sum / float64(m.n), m.low, m.high
}

// frame has the title, the units of the axes, and what a mark stands for.
func (c *wished) frame(title, place string) Frame {
	metric := strings.ReplaceAll(c.Metric, "_", " ")
	f := Frame{Title: cmp.Or(title, metric) + ": " + place, XLabel: keyText(c.X), YLabel: metric}
	if _, unit := c.scale(); unit != "" {
		f.XLabel += ", " + unit
	}
	if !strings.Contains(metric, c.unit) {
		f.YLabel += ", " + c.unit
	}
	if c.folded {
		f.Caption = []string{"marks are means of the points that differ in other keys; whiskers go from the lowest to the highest"}
	}
	return f
}

// scale returns the divisor of numbers on the x axis and their unit behind it. A size in bytes has too many digits for an axis.
func (c *wished) scale() (by float64, unit string) {
	if c.x.Unit == "B" {
		return 1 << 20, "MiB"
	}
	return 1, c.x.Unit
}

// digits writes a number with a decimal where it is small.
func digits(v float64) string {
	decimals := 0
	if v < 100 {
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

func (c *wished) lines(panel string) *Lines {
	p, f := c.panels[panel], c.frame("", "")
	l := &Lines{Frame: Frame{Title: panel, XLabel: f.XLabel, YLabel: f.YLabel}}
	xs := slices.Clone(p.xs)
	scale, _ := c.scale()
	number := func(x string) float64 { v, _ := strconv.ParseFloat(x, 64); return v / scale } // add has seen that it is one
	slices.SortFunc(xs, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	l.LogX = c.low > 0 && c.high >= 16*c.low
	for _, name := range c.series {
		line := LineSeries{Name: cmp.Or(name, strings.ReplaceAll(c.Metric, "_", " "))}
		for _, x := range xs {
			if m := p.marks[[2]string{name, x}]; m != nil {
				y, low, high := m.whisker()
				line.Points = append(line.Points, XY{X: number(x), Y: y, Low: low, High: high})
			}
		}
		if len(line.Points) > 0 {
			l.Series = append(l.Series, line)
		}
	}
	return l
}

func (c *wished) bars(panel string) *Bars {
	p, f := c.panels[panel], c.frame("", "")
	b := &Bars{Frame: Frame{Title: panel, XLabel: f.XLabel, YLabel: f.YLabel}, Groups: p.xs, firstFill: 1}
	for _, name := range c.series {
		series := BarSeries{Name: name}
		for _, x := range p.xs {
			m := p.marks[[2]string{name, x}]
			if m == nil {
				series.Bars = append(series.Bars, Bar{Absent: true})
				continue
			}
			y, low, high := m.whisker()
			series.Bars = append(series.Bars, Bar{Value: y, Low: low, High: high, Label: digits(y)})
		}
		b.Series = append(b.Series, series)
	}
	return b
}

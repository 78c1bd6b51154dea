package figures

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kprobesim/results"
)

// ErrTooMuch says that a set has more than a figure can show.
var ErrTooMuch = errors.New("more than a figure can show")

// What a figure can show: more panels do not fit on a page, more lines and bars cannot be told apart.
const (
	mostPanels = 12
	mostLines  = 12
	mostGroups = 48
)

// facet is the points of one panel.
type facet struct {
	title  string
	points []results.Point
}

// varied returns the parameters of the sweep that tell some of the points apart, in the order of the names.
func varied(points []results.Point) (keys []string) {
	for _, p := range points {
		for _, x := range p.Settings() {
			at := func(p results.Point) string { return p.Swept(x.Key) }
			if !slices.Contains(keys, x.Key) && results.Differ(points, at) {
				keys = append(keys, x.Key)
			}
		}
	}
	return keys
}

// facets parts points by the values of keys, in the order of the points. More parts than a page has room for are
// an error, which names the keys and how many values each has.
func facets(points []results.Point, keys []string, byName bool) ([]facet, error) {
	var out []facet
	number := map[string]int{}
	for _, p := range points {
		title := panelTitle(p, keys, byName)
		i, known := number[title]
		if !known {
			i = len(out)
			number[title] = i
			out = append(out, facet{title: title})
		}
		out[i].points = append(out[i].points, p)
	}
	if len(out) > mostPanels {
		return nil, fmt.Errorf("%d panels are %w, which is %d: it has one for each of %s; sweep fewer values",
			len(out), ErrTooMuch, mostPanels, countValues(points, keys, byName))
	}
	return out, nil
}

func panelTitle(p results.Point, keys []string, byName bool) string {
	var words []string
	if byName {
		words = append(words, p.Name())
	}
	for _, key := range keys {
		if v := p.Swept(key); v != "" {
			words = append(words, settingText(key, v))
		}
	}
	return strings.Join(words, ", ")
}

// countValues lists keys with the number of their values.
func countValues(points []results.Point, keys []string, byName bool) string {
	var parts []string
	if byName {
		parts = append(parts, fmt.Sprintf("%d points", len(valuesOf(points, results.Point.Name))))
	}
	for _, key := range keys {
		n := len(valuesOf(points, func(p results.Point) string { return p.Swept(key) }))
		parts = append(parts, fmt.Sprintf("%d values of %s", n, key))
	}
	return strings.Join(parts, " times ")
}

// valuesOf returns the distinct values of f, in the order of the points.
func valuesOf(points []results.Point, f func(results.Point) string) (values []string) {
	seen := map[string]bool{}
	for _, p := range points {
		if v := f(p); !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	return values
}

// settingText says a parameter's value as people do: 4 CPUs, HZ 250, else the last word of the key and the value.
func settingText(key, value string) string {
	switch key {
	case "kernel.cpus":
		if value == "1" {
			return "1 CPU"
		}
		return value + " CPUs"
	case "kernel.hz":
		return "HZ " + value
	case "kernel.patching", "workload.target":
		return value
	case "workload.load":
		return map[string]string{"idle": "CPUs idle", "busy": "CPUs busy in the kernel", "user": "CPUs busy in user mode"}[value]
	}
	return keyText(key) + " " + value
}

// keyText names a key on an axis: its last word, spelled out where it is short for something.
func keyText(key string) string {
	switch key {
	case "kernel.cpus":
		return "CPUs"
	case "kernel.hz":
		return "HZ"
	}
	return strings.ReplaceAll(key[strings.LastIndex(key, ".")+1:], "_", " ")
}

// barFacets parts the points of a chart of bars into panels. Groups are the names of points, or a key of the sweep,
// whichever has the most values. There is a panel for each value of the others. over is "" for groups of names.
func barFacets(points []results.Point) (over string, parts []facet, err error) {
	keys := varied(points)
	most := len(valuesOf(points, results.Point.Name))
	for _, key := range keys {
		if n := len(valuesOf(points, func(p results.Point) string { return p.Swept(key) })); n > most {
			over, most = key, n
		}
	}
	if over == "" {
		parts, err = facets(points, keys, false)
		return "", parts, errors.Join(err, tooWide(points, results.Point.Name, "points"))
	}
	rest := slices.DeleteFunc(keys, func(k string) bool { return k == over })
	parts, err = facets(points, rest, results.Differ(points, results.Point.Name))
	return over, parts, errors.Join(err, tooWide(points, func(p results.Point) string { return p.Swept(over) }, "values of "+over))
}

func tooWide(points []results.Point, f func(results.Point) string, what string) error {
	if n := len(valuesOf(points, f)); n > mostGroups {
		return fmt.Errorf("%d %s are %w, which is %d beside each other; sweep fewer", n, what, ErrTooMuch, mostGroups)
	}
	return nil
}

// groupName names a group of bars: the value of the key that groups are over, or the point.
func groupName(over string) func(results.Point) string {
	if over == "" {
		return results.Point.Name
	}
	return func(p results.Point) string { return p.Swept(over) }
}

// barPanels makes a chart of each part of the points, and one page of them.
func barPanels(points []results.Point, frame Frame, chart func(points []results.Point, frame Frame, group func(results.Point) string) Panel) (Figure, error) {
	over, parts, err := barFacets(points)
	if err != nil {
		return nil, err
	}
	if over != "" {
		frame.XLabel = keyText(over)
	}
	if len(parts) == 1 {
		return chart(parts[0].points, frame, groupName(over)), nil
	}
	page := &Panels{Frame: frame, Columns: mostColumns}
	for _, f := range parts {
		page.Panels = append(page.Panels,
			chart(f.points, Frame{Title: f.title, XLabel: frame.XLabel, YLabel: frame.YLabel}, groupName(over)))
	}
	return page, nil
}

// BarChart charts metrics of every point as bars beside each other.
type BarChart struct {
	Frame
	Bars []BarMetric
	Keep func(results.Point) bool // nil for all points
}

// BarMetric is one bar of a group.
type BarMetric struct {
	Metric, Name string
	Decimals     int     // of the number above the bar
	Shade        float64 // see BarSeries
}

// Draw makes the chart of a set.
func (c *BarChart) Draw(s *results.Set) (Figure, error) {
	points := s.Points()
	if c.Keep != nil {
		points = slices.DeleteFunc(points, func(p results.Point) bool { return !c.Keep(p) })
	}
	if len(points) == 0 {
		return nil, errors.New("nothing to chart: no point has the metric")
	}
	c.Caption = append(slices.Clone(c.Caption), results.ExplainProbes(points)...)
	return barPanels(points, c.Frame, func(points []results.Point, frame Frame, group func(results.Point) string) Panel {
		b := &Bars{Frame: frame}
		for _, p := range points {
			b.Groups = append(b.Groups, group(p))
		}
		for _, m := range c.Bars {
			b.Series = append(b.Series, m.series(s, points))
		}
		return b
	})
}

// series is the metric of some points, labelled with the number.
func (m BarMetric) series(s *results.Set, points []results.Point) BarSeries {
	series := BarSeries{Name: m.Name, Shade: m.Shade}
	for _, p := range points {
		r, ok := s.Get(p, m.Metric)
		if !ok {
			series.Bars = append(series.Bars, Bar{Absent: true})
			continue
		}
		low, high := r.Spread.Whisker()
		series.Bars = append(series.Bars, Bar{
			Value: r.Value.Float(), Low: low, High: high, Label: r.Value.Round(m.Decimals).String() + s.Mark(p, m.Metric), Kind: p.Name(),
		})
	}
	return series
}

package figures

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"kprobesim/internal/distinct"
)

// XY is a point of a line; Low and High are the ends of a whisker, none when both are zero.
type XY struct {
	X, Y      float64
	Low, High float64
}

// LineSeries is a line through its points in their order.
type LineSeries struct {
	Name   string
	Points []XY
	Style  LineStyle
}

// LineStyle is how a line is drawn. Lines of the same group have one colour and one mark, and differ in
// their dashes. Without a group a line has a style of its own.
type LineStyle struct {
	Group string
	Dash  Dash
}

// Dash tells the lines of a group apart.
type Dash uint8

// The marks of a dashed line are hollow, others are filled.
const (
	Solid Dash = iota
	Dashed
	Dotted
)

// Lines is a chart of lines with points, for sweeps. Lines differ in colour, dashes and marks, up to six
// of them, or six groups of three.
type Lines struct {
	Frame
	Series     []LineSeries
	LogX, LogY bool
}

const (
	lineWidth  = vg.Length(1.2)
	markRadius = vg.Length(2.6)
	edgeShare  = 0.03 // of the x axis left free at each end
)

func (l *Lines) validate() error {
	points := 0
	for _, s := range l.Series {
		points += len(s.Points)
		for _, p := range s.Points {
			if err := l.check(p); err != nil {
				return fmt.Errorf("series %q at x %g: %w", s.Name, p.X, err)
			}
		}
	}
	if points == 0 {
		return errors.New("no points to draw")
	}
	return nil
}

func (l *Lines) check(p XY) error {
	if l.LogX && p.X <= 0 || l.LogY && (p.Y <= 0 || p.whisker() && p.Low <= 0) {
		return errLog
	}
	return drawable(math.Inf(-1), p.X, p.Y, p.Low, p.High)
}

func (p XY) whisker() bool { return p.Low != 0 || p.High != 0 }

// style returns how the i-th series is drawn. Marks of earlier lines are larger, so that they show around the marks of
// lines that lie over them.
func (l *Lines) style(i int) (draw.LineStyle, draw.GlyphStyle) {
	s := l.Series[i].Style
	group := s.Group
	if group == "" {
		group = l.Series[i].Name
	}
	line, mark := groupStyle(group, l.place(i))
	mark.Radius += vg.Length(len(l.Series)-1-i) * 0.22
	if s.Group == "" {
		return line, mark
	}
	switch s.Dash {
	case Solid:
		line.Dashes = nil
	case Dotted:
		line.Dashes = []vg.Length{1, 2}
	case Dashed:
		line.Dashes = []vg.Length{4, 2}
		shape, _ := mark.Shape.(polygon) // all are
		shape.hollow = true
		mark.Shape = shape
	}
	return line, mark
}

// place counts the groups before that of a series.
func (l *Lines) place(i int) int {
	if l.Series[i].Style.Group == "" {
		return i
	}
	var groups []string
	for _, o := range l.Series {
		groups = distinct.Append(groups, o.Style.Group)
	}
	return slices.Index(groups, l.Series[i].Style.Group)
}

// groupStyle is the style of a group of lines: that of its kind of probe, or else the i-th of those that no kind has.
func groupStyle(group string, i int) (draw.LineStyle, draw.GlyphStyle) {
	line, mark := lineStyle(i)
	if c, ok := kindColor(group); ok {
		_, mark = lineStyle(kindMark(group))
		line.Color, mark.Color = c, c
	}
	return line, mark
}

// lineStyle returns the colour, dashes and mark of the i-th line that is of no kind of probe; all three change
// together.
func lineStyle(i int) (draw.LineStyle, draw.GlyphStyle) {
	palette := []string{
		"1a1a1a", // ink
		"b03a2e", // brick
		"2a9da8", // teal
		"8c6d1f", // olive
		"777777", // grey
		"5a3a8b", // violet
	}
	dashes := [][]vg.Length{nil, {6, 2}, {2, 2}, {8, 2, 2, 2}, {4, 4}, {1, 2}}
	marks := []polygon{
		{sides: 24}, {sides: 4, turn: 0.125}, {sides: 3, turn: 0.25}, {sides: 4}, {sides: 3, turn: 0.75}, {sides: 5, turn: 0.25},
	}
	colour := colorOf(palette[i%len(palette)])
	line := draw.LineStyle{Color: colour, Width: lineWidth, Dashes: dashes[i%len(dashes)]}
	mark := draw.GlyphStyle{Color: colour, Radius: markRadius, Shape: marks[i%len(marks)]}
	return line, mark
}

// polygon is a regular mark, filled unless hollow; turn is the place of its first corner in whole turns.
type polygon struct {
	sides  int
	turn   float64
	hollow bool
}

// DrawGlyph draws the mark with a thin paper edge that lifts it off the lines.
func (g polygon) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	corner := 2 * math.Pi / float64(g.sides)
	equalArea := math.Sqrt(corner / math.Sin(corner)) // as a circle of that radius
	radius := style.Radius * vg.Length(equalArea)
	points := make([]vg.Point, g.sides)
	for i := range points {
		sin, cos := math.Sincos(2*math.Pi*g.turn + corner*float64(i))
		points[i] = at.Add(vg.Point{X: radius * vg.Length(cos), Y: radius * vg.Length(sin)})
	}
	if g.hollow {
		c.FillPolygon(paper(), points)
		c.StrokeLines(draw.LineStyle{Color: style.Color, Width: 1}, append(points, points[0]))
		return
	}
	c.FillPolygon(style.Color, points)
	c.StrokeLines(draw.LineStyle{Color: paper(), Width: 0.4}, append(points, points[0]))
}

func (l *Lines) legend() []legendEntry {
	var entries []legendEntry
	for i, s := range l.Series {
		line, mark := l.style(i)
		entries = append(entries, legendEntry{s.Name, 2 * swatchW, func(c *draw.Canvas, r vg.Rectangle) {
			y := (r.Min.Y + r.Max.Y) / 2
			c.StrokeLine2(line, r.Min.X, y, r.Max.X, y)
			c.DrawGlyphNoClip(mark, vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: y})
		}})
	}
	return entries
}

func (l *Lines) draw(c draw.Canvas) { l.drawScaled(c, l.scale()) }

func (l *Lines) scale() scale {
	s := scale{logX: l.LogX, logY: l.LogY}
	s.xs, s.low, s.high = l.extent()
	return s
}

// leastLines is the width in which a few ticks can be told apart.
const leastLines = 36 * vg.Millimeter

func (l *Lines) least(scale) vg.Length { return leastLines }

// drawScaled draws the chart in a scale that may hold more.
func (l *Lines) drawScaled(c draw.Canvas, s scale) {
	p := newPlot(&l.Frame)
	l.xAxis(&p.X, s.xs, c.Max.X-c.Min.X-axisWidth)
	valueAxis(&p.Y, s.low, s.high, axisLength(c), plainRoom/2, l.LogY)
	p.Add(grid{}, painter(l.paintLines))
	if l.LogY && p.Y.Label.Text != "" {
		c = besideLabel(c, p)
	}
	if p.X.Label.Text != "" {
		c = aboveLabel(c, p)
	}
	p.Draw(c)
}

// extent returns the sorted distinct x and the range of y.
func (l *Lines) extent() (xs []float64, low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, s := range l.Series {
		for _, p := range s.Points {
			xs = append(xs, p.X)
			low, high = min(low, p.Y), max(high, p.Y)
			if p.whisker() {
				low, high = min(low, p.Low), max(high, p.High)
			}
		}
	}
	slices.Sort(xs)
	return slices.Compact(xs), low, high
}

func (l *Lines) xAxis(a *plot.Axis, xs []float64, width vg.Length) {
	low, high := xs[0], xs[len(xs)-1]
	if low == high {
		low, high = low*0.5, high*1.5+1
	}
	if !l.LogX {
		room := (high - low) * edgeShare
		a.Min, a.Max = low-room, high+room
		a.Tick.Marker = linearTicks{}
		return
	}
	room := math.Pow(high/low, edgeShare)
	a.Min, a.Max = low/room, high*room
	a.Scale = logScale{}
	a.Tick.Marker = roomy{sweepTicks(xs), a, width}
}

// roomy leaves labels of an axis out that would run into the one before them.
type roomy struct {
	plot.Ticker
	axis  *plot.Axis
	width vg.Length // of the data
}

// Ticks returns the ticks of the ticker, with fewer labels.
func (r roomy) Ticks(low, high float64) []plot.Tick {
	ticks := slices.Clone(r.Ticker.Ticks(low, high))
	slices.SortFunc(ticks, func(a, b plot.Tick) int { return cmp.Compare(a.Value, b.Value) })
	style, free := typeStyle(tickSize), -r.width
	for i, t := range ticks {
		if t.Label == "" {
			continue
		}
		mid, half := vg.Length(r.axis.Norm(t.Value))*r.width, style.Width(t.Label)/2
		if mid-half < free {
			ticks[i].Label = ""
			continue
		}
		free = mid + half + 3
	}
	return ticks
}

// sweepTicks labels the swept values themselves when they are few and far enough apart.
func sweepTicks(xs []float64) plot.Ticker {
	const most, nearest = 12, 1.4
	if len(xs) > most {
		return logTicks{}
	}
	ticks := make(plot.ConstantTicks, len(xs))
	for i, x := range xs {
		if i > 0 && x < xs[i-1]*nearest {
			return logTicks{}
		}
		ticks[i] = plot.Tick{Value: x, Label: strconv.FormatFloat(x, 'f', -1, 64)}
	}
	return ticks
}

func (l *Lines) paintLines(c *draw.Canvas, at func(x, y float64) vg.Point) {
	for i, s := range l.Series {
		line, mark := l.style(i)
		var path []vg.Point
		for _, p := range s.Points {
			path = append(path, at(p.X, p.Y))
			if p.whisker() {
				paintWhisker(c, at(p.X, p.Low), at(p.X, p.High))
			}
		}
		c.StrokeLines(line, path)
		for _, pt := range path {
			c.DrawGlyphNoClip(mark, pt)
		}
	}
}

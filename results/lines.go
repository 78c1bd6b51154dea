package results

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
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

// The marks of a dashed line are hollow, those of others are filled.
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
	for _, v := range []float64{p.X, p.Y, p.Low, p.High} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("value %g cannot be drawn", v)
		}
	}
	if l.LogX && p.X <= 0 || l.LogY && (p.Y <= 0 || p.whisker() && p.Low <= 0) {
		return errors.New("what is not positive cannot be drawn on a logarithmic axis")
	}
	return nil
}

func (p XY) whisker() bool { return p.Low != 0 || p.High != 0 }

// style returns how the i-th series is drawn.
func (l *Lines) style(i int) (draw.LineStyle, draw.GlyphStyle) {
	s := l.Series[i].Style
	if s.Group == "" {
		return lineStyle(i)
	}
	var groups []string
	for _, o := range l.Series {
		if !slices.Contains(groups, o.Style.Group) {
			groups = append(groups, o.Style.Group)
		}
	}
	line, mark := lineStyle(slices.Index(groups, s.Group))
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

// lineStyle returns the colour, dashes and mark of the i-th line; all three change together.
func lineStyle(i int) (draw.LineStyle, draw.GlyphStyle) {
	palette := []color.RGBA{
		{0x00, 0x72, 0xb2, 0xff}, // blue
		{0xd5, 0x5e, 0x00, 0xff}, // vermilion
		{0x00, 0x7a, 0x5a, 0xff}, // green
		{0x1a, 0x1a, 0x1a, 0xff}, // ink
		{0xb0, 0x50, 0x88, 0xff}, // purple
		{0xc0, 0x88, 0x00, 0xff}, // orange
	}
	dashes := [][]vg.Length{nil, {6, 2}, {2, 2}, {8, 2, 2, 2}, {4, 4}, {1, 2}}
	marks := []polygon{
		{sides: 24}, {sides: 4, turn: 0.125}, {sides: 3, turn: 0.25}, {sides: 4}, {sides: 3, turn: 0.75}, {sides: 5, turn: 0.25},
	}
	colour := palette[i%len(palette)]
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

func (l *Lines) draw(c draw.Canvas) {
	p := newPlot(&l.Frame)
	xs, low, high := l.extent()
	l.xAxis(&p.X, xs)
	valueAxis(&p.Y, low, high, plainRoom/2/(c.Max.Y-c.Min.Y), l.LogY)
	p.Add(grid{}, painter(l.paintLines))
	if l.LogY {
		c = besideLabel(c, p)
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

func (l *Lines) xAxis(a *plot.Axis, xs []float64) {
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
	a.Tick.Marker = sweepTicks(xs)
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

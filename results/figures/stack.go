package figures

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Layer is one part of every column of a stack, a value a group.
type Layer struct {
	Name   string
	Values []float64
}

// Stack is a chart of stacked columns, the first layer at the bottom. The sum stands above a column
// and a part's value in it where it fits, both with the given decimals.
type Stack struct {
	Frame
	Groups   []string
	Layers   []Layer
	Totals   []float64 // what stands above each column, when it is not the sum of the parts drawn; or nil
	Decimals int
}

const (
	mostColumn = vg.Length(44) // width of the widest column
	thinPart   = vg.Length(2)  // height up to which a part is not set off by a line
)

func (s *Stack) validate() error {
	if len(s.Groups) == 0 || len(s.Layers) == 0 {
		return errors.New("no groups or no layers to stack")
	}
	if s.Totals != nil && len(s.Totals) != len(s.Groups) {
		return fmt.Errorf("%d totals for %d groups", len(s.Totals), len(s.Groups))
	}
	for _, l := range s.Layers {
		if len(l.Values) != len(s.Groups) {
			return fmt.Errorf("layer %q has %d values for %d groups", l.Name, len(l.Values), len(s.Groups))
		}
		if err := drawable(0, l.Values...); err != nil {
			return fmt.Errorf("layer %q: %w", l.Name, err)
		}
	}
	return nil
}

// legend names the layers in their order, the bottom one first.
func (s *Stack) legend() []legendEntry {
	var entries []legendEntry
	for i, l := range s.Layers {
		entries = append(entries, swatch(l.Name, layerFill(l.Name, i, len(s.Layers))))
	}
	return entries
}

func (s *Stack) total(group int) (sum float64) {
	for _, l := range s.Layers {
		sum += l.Values[group]
	}
	return sum
}

func (s *Stack) draw(c draw.Canvas) { s.drawScaled(c, s.scale()) }

func (s *Stack) scale() scale {
	sc := scale{groups: len(s.Groups)}
	for g := range s.Groups {
		sc.high = max(sc.high, s.total(g))
		if s.Totals != nil {
			sc.labels = append(sc.labels, s.number(s.Totals[g]))
		}
	}
	return sc
}

// least has room for the sum above each column.
func (s *Stack) least(sc scale) vg.Length {
	return axisWidth + vg.Length(sc.groups)*(widestLabel(typeStyle(valueSize), sc.labels)+3)
}

// drawScaled draws the columns in a scale that may hold more.
func (s *Stack) drawScaled(c draw.Canvas, sc scale) {
	p := newPlot(&s.Frame)
	categories(p, s.Groups)
	p.X.Max = float64(sc.groups) - 0.5
	step := (c.Max.X - c.Min.X - axisWidth) / vg.Length(sc.groups)
	slantWide(p, s.Groups, step)
	room := plainRoom
	if s.upright(step, sc.labels) {
		room = widestLabel(typeStyle(valueSize), sc.labels) + 6
	}
	valueAxis(&p.Y, 0, sc.high, axisLength(c), room, false)
	p.Add(grid{}, painter(func(c *draw.Canvas, at func(x, y float64) vg.Point) { s.paintColumns(c, at, sc.labels) }))
	p.Draw(c)
}

// upright reports whether sums stand upright, since columns are closer than they are wide.
func (s *Stack) upright(step vg.Length, labels []string) bool {
	return widestLabel(typeStyle(valueSize), labels) > step
}

func (s *Stack) paintColumns(c *draw.Canvas, at func(x, y float64) vg.Point, labels []string) {
	step := at(1, 0).X - at(0, 0).X
	half := vg.Point{X: min(mostColumn, step*groupShare) / 2}
	style := typeStyle(valueSize)
	style.XAlign = draw.XCenter
	if s.upright(step, labels) {
		style.Rotation, style.XAlign, style.YAlign = math.Pi/2, draw.XLeft, draw.YCenter
	}
	for g := range s.Groups {
		base := 0.0
		for i, l := range s.Layers {
			r := vg.Rectangle{
				Min: at(float64(g), base).Sub(half), Max: at(float64(g), base+l.Values[g]).Add(half),
			}
			base += l.Values[g]
			s.paintPart(c, r, layerFill(l.Name, i, len(s.Layers)), l.Values[g])
		}
		whole := vg.Rectangle{Min: at(float64(g), 0).Sub(half), Max: at(float64(g), base).Add(half)}
		c.StrokeLines(outline(), append(corners(whole), whole.Min))
		total := base
		if s.Totals != nil {
			total = s.Totals[g]
		}
		label(c, style, at(float64(g), base).Add(vg.Point{Y: 2.5}), s.number(total))
	}
}

func (s *Stack) paintPart(c *draw.Canvas, r vg.Rectangle, f fill, v float64) {
	if v == 0 {
		return
	}
	c.FillPolygon(f.color, corners(r))
	if f.hatch != nil {
		paintHatch(c, r, f)
	}
	if r.Size().Y > thinPart {
		c.StrokeLine2(draw.LineStyle{Color: paper(), Width: 0.5}, r.Min.X, r.Max.Y, r.Max.X, r.Max.Y)
	}
	style := typeStyle(valueSize)
	style.Color, style.XAlign = inkOn(f.color), draw.XCenter
	text, size := s.number(v), r.Size()
	if size.Y < valueSize+1 || style.Width(text) > size.X {
		return
	}
	mid := vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y+r.Max.Y)/2 - valueSize*0.36}
	if f.hatch != nil { // no strokes behind the number
		low := vg.Point{X: mid.X - style.Width(text)/2 - 1, Y: (r.Min.Y + r.Max.Y - valueSize) / 2}
		c.FillPolygon(f.color, corners(vg.Rectangle{Min: low, Max: low.Add(vg.Point{X: style.Width(text) + 2, Y: valueSize})}))
	}
	c.FillText(style, mid, text)
}

func (s *Stack) number(v float64) string { return strconv.FormatFloat(v, 'f', s.Decimals, 64) }

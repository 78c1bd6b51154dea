package figures

import (
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Panels is several charts of one kind on one page, beside and below each other, with one legend and one
// scale, so that values of different panels can be compared. Of a panel's frame only title
// and labels are drawn. Columns is the most that stand beside each other; there are as many as the page
// has room for.
type Panels struct {
	Frame
	Columns int
	Panels  []Panel
}

// Panel is a chart that can be drawn beside others: *Bars, *Stack or *Lines.
type Panel interface {
	Figure
	scale() scale
	// drawScaled draws the chart in a scale that may hold more.
	drawScaled(c draw.Canvas, s scale)
	// least is the width that the chart needs in a scale.
	least(s scale) vg.Length
}

// scale is the scale that panels share: the values on the axes, the number of groups that there is room for, and the
// labels that must fit.
type scale struct {
	low, high  float64
	xs         []float64 // swept numbers
	groups     int
	labels     []string
	logX, logY bool
}

// join widens a scale to hold another one.
func (s scale) join(o scale) scale {
	xs := slices.Concat(s.xs, o.xs)
	slices.Sort(xs)
	return scale{
		low: min(s.low, o.low), high: max(s.high, o.high), xs: slices.Compact(xs), groups: max(s.groups, o.groups),
		labels: slices.Concat(s.labels, o.labels), logX: s.logX, logY: s.logY,
	}
}

const (
	panelGap = vg.Length(10) // between panels
	titleGap = vg.Length(1)  // below the title of one
	rowShare = 0.62          // of a panel's width that is its height
)

func (p *Panels) validate() error {
	if len(p.Panels) == 0 || p.Columns < 1 {
		return errors.New("no panels or no columns of them")
	}
	for _, b := range p.Panels {
		if err := b.validate(); err != nil {
			return fmt.Errorf("panel %q: %w", b.frame().Title, err)
		}
		if one, first := b.scale(), p.Panels[0].scale(); one.logX != first.logX || one.logY != first.logY {
			return fmt.Errorf("panel %q has another kind of axis than the first", b.frame().Title)
		}
	}
	return nil
}

// legend explains what any panel has, each name once.
func (p *Panels) legend() []legendEntry {
	var entries []legendEntry
	seen := map[string]bool{}
	for _, b := range p.Panels {
		for _, e := range b.legend() {
			if !seen[e.name] {
				seen[e.name] = true
				entries = append(entries, e)
			}
		}
	}
	return entries
}

// shared is the scale of all panels.
func (p *Panels) shared() scale {
	s := p.Panels[0].scale()
	for _, b := range p.Panels {
		s = s.join(b.scale())
	}
	return s
}

// columns is how many panels stand beside each other on a page of a width.
func (p *Panels) columns(width vg.Length) int {
	least := vg.Length(0)
	for _, b := range p.Panels {
		least = max(least, b.least(p.shared()))
	}
	fit := int((width + panelGap) / (least + panelGap))
	columns := max(1, min(fit, p.Columns, len(p.Panels)))
	rows := (len(p.Panels) + columns - 1) / columns
	return (len(p.Panels) + rows - 1) / rows // no row is much emptier than the others
}

// Rows of panels are lower than they want to be where all of them would not fit on a page of paper.
const (
	pageBody = 175 * vg.Millimeter
	leastRow = 30 * vg.Millimeter
)

// body gives each row of panels a share of its width.
func (p *Panels) body(width vg.Length) vg.Length {
	if len(p.Panels) == 0 {
		return 0
	}
	columns := p.columns(width)
	rows := (len(p.Panels) + columns - 1) / columns
	each := (width - panelGap*vg.Length(columns-1)) / vg.Length(columns)
	row := min(max(each*rowShare, 45*vg.Millimeter), 55*vg.Millimeter)
	if len(p.Panels) == 1 {
		row = p.Frame.body(width)
	}
	gaps := panelGap * vg.Length(rows-1)
	row = max(min(row, (pageBody-gaps)/vg.Length(rows)), leastRow)
	return row*vg.Length(rows) + gaps
}

// draw labels the value axis beside the first panel of a row, and the other one below the last of a column.
func (p *Panels) draw(c draw.Canvas) {
	s, columns := p.shared(), p.columns(c.Size().X)
	for i, b := range p.Panels {
		place := tile(c, i, len(p.Panels), columns)
		if title := b.frame().Title; title != "" {
			place.Max.Y = drawTitle(place, title, labelSize, titleGap)
		}
		frame := b.frame()
		x, y := frame.XLabel, frame.YLabel
		if i%columns != 0 {
			frame.YLabel = ""
		}
		if i+columns < len(p.Panels) {
			frame.XLabel = ""
		}
		b.drawScaled(place, s)
		frame.XLabel, frame.YLabel = x, y
	}
}

// tile returns the place of panel i of n, counted from the upper left along the rows.
func tile(c draw.Canvas, i, n, columns int) draw.Canvas {
	rows := (n + columns - 1) / columns
	size := vg.Point{
		X: (c.Max.X - c.Min.X - panelGap*vg.Length(columns-1)) / vg.Length(columns),
		Y: (c.Max.Y - c.Min.Y - panelGap*vg.Length(rows-1)) / vg.Length(rows),
	}
	low := vg.Point{
		X: c.Min.X + (size.X+panelGap)*vg.Length(i%columns),
		Y: c.Max.Y - size.Y - (size.Y+panelGap)*vg.Length(i/columns),
	}
	c.Rectangle = vg.Rectangle{Min: low, Max: low.Add(size)}
	return c
}

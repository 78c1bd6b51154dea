package results

import (
	"errors"
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Panels is several charts of one kind on one page, Columns beside each other, with one legend and one
// scale, so that bars of different panels can be compared. Of a panel's frame only title
// and labels are drawn.
type Panels struct {
	Frame
	Columns int
	Panels  []Panel
}

// Panel is a chart that can be drawn beside others: *Bars or *Stack.
type Panel interface {
	Figure
	scale() barScale
	// drawScaled draws the chart in a scale that may hold more.
	drawScaled(c draw.Canvas, s barScale)
}

const (
	panelGap  = vg.Length(12) // between panels
	panelSize = 9             // type of a panel's title
	minRow    = 50            // millimetres that a row of panels needs for the label of its axis
)

func (p *Panels) validate() error {
	if len(p.Panels) == 0 || p.Columns < 1 {
		return errors.New("no panels or no columns of them")
	}
	for _, b := range p.Panels {
		if err := b.validate(); err != nil {
			return fmt.Errorf("panel %q: %w", b.frame().Title, err)
		}
		if b.scale().log != p.Panels[0].scale().log {
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

func (p *Panels) draw(c draw.Canvas) {
	scale := p.Panels[0].scale()
	for _, b := range p.Panels[1:] {
		scale = scale.join(b.scale())
	}
	for i, b := range p.Panels {
		tile := p.tile(c, i)
		if title := b.frame().Title; title != "" {
			tile.Max.Y = drawPanelTitle(tile, title)
		}
		b.drawScaled(tile, scale)
	}
}

// fit makes the page as high as its rows of panels need.
func (p *Panels) fit() error {
	if len(p.Panels) == 0 {
		return errors.New("nothing to chart")
	}
	p.Columns = min(p.Columns, len(p.Panels)) // one alone has the width of the page
	if p.Height = max(p.Height, minRow*float64(p.rows())); p.Height > maxSide {
		return fmt.Errorf("%d panels do not fit on a page: collect fewer experiments", len(p.Panels))
	}
	return nil
}

// frameOf is the frame of the next panel. The first of a row has the label of the axis.
func (p *Panels) frameOf(title, yLabel string) Frame {
	if len(p.Panels)%p.Columns != 0 {
		yLabel = ""
	}
	return Frame{Title: title, YLabel: yLabel}
}

// rows is how many panels stand below each other.
func (p *Panels) rows() int { return (len(p.Panels) + p.Columns - 1) / p.Columns }

// tile returns the place of panel i, counted from the upper left along the rows.
func (p *Panels) tile(c draw.Canvas, i int) draw.Canvas {
	rows := p.rows()
	size := vg.Point{
		X: (c.Max.X - c.Min.X - panelGap*vg.Length(p.Columns-1)) / vg.Length(p.Columns),
		Y: (c.Max.Y - c.Min.Y - panelGap*vg.Length(rows-1)) / vg.Length(rows),
	}
	low := vg.Point{
		X: c.Min.X + (size.X+panelGap)*vg.Length(i%p.Columns),
		Y: c.Max.Y - size.Y - (size.Y+panelGap)*vg.Length(i/p.Columns),
	}
	c.Rectangle = vg.Rectangle{Min: low, Max: low.Add(size)}
	return c
}

// drawPanelTitle sets a title that is shrunk to the width of its panel.
func drawPanelTitle(c draw.Canvas, title string) (top vg.Length) {
	style := typeStyle(panelSize)
	if w := style.Width(title); w > c.Max.X-c.Min.X {
		style.Font.Size = max(minType, panelSize*(c.Max.X-c.Min.X)/w)
	}
	c.FillText(style, vg.Point{X: c.Min.X, Y: c.Max.Y - panelSize}, title)
	return c.Max.Y - leading(panelSize) - rowGap
}

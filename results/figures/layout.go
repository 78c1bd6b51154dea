package figures

import (
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

const (
	margin     = vg.Length(6)
	rowGap     = vg.Length(4)
	swatchW    = vg.Length(14)
	swatchH    = vg.Length(8)
	swatchGap  = vg.Length(4)
	entryGap   = vg.Length(10)
	lineHeight = 1.25
)

// legendEntry is a name and what draws its sample into a rectangle of some width.
type legendEntry struct {
	name   string
	width  vg.Length
	sample func(c *draw.Canvas, r vg.Rectangle)
}

// drawFigure lays out title and legend above, caption below, and leaves the rest to the figure, so
// that nothing stands over the data.
func drawFigure(f Figure, c draw.Canvas) {
	c.SetColor(paper())
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, margin, -margin, margin, -margin)
	f.draw(drawSurround(f, c))
}

// drawSurround draws title, legend and caption and returns what they leave.
func drawSurround(f Figure, c draw.Canvas) draw.Canvas {
	frame := f.frame()
	if frame.Title != "" && !frame.Bare {
		c.Max.Y = drawTitle(c, frame.Title, titleSize, rowGap)
	}
	c.Max.Y = drawLegend(c, f.legend())
	if !frame.Bare {
		c.Min.Y = drawCaption(c, frame.Caption)
	}
	return c
}

// surround returns the height of margins, title, legend and caption at a width.
func surround(f Figure, w vg.Length) vg.Length {
	c := draw.NewCanvas(&recorder.Canvas{}, w, 0)
	inner := draw.Crop(c, margin, -margin, margin, -margin)
	left := drawSurround(f, inner)
	return left.Min.Y - left.Max.Y
}

func leading(size vg.Length) vg.Length { return size * lineHeight }

// drawTitle sets a title of a size, in as many lines as it needs, with a gap below.
func drawTitle(c draw.Canvas, title string, size, gap vg.Length) (top vg.Length) {
	style := typeStyle(size)
	for _, words := range wrap(style, title, c.Max.X-c.Min.X) {
		c.Max.Y -= leading(size)
		c.FillText(style, vg.Point{X: c.Min.X, Y: c.Max.Y + size*0.3}, words)
	}
	return c.Max.Y - gap
}

// drawLegend sets entries in a row from left to right, or in columns when there are more than fit.
func drawLegend(c draw.Canvas, entries []legendEntry) (top vg.Length) {
	if len(entries) == 0 {
		return c.Max.Y
	}
	style := typeStyle(tickSize)
	columns := legendColumns(entries, style, c.Max.X-c.Min.X)
	x, y := c.Min.X, c.Max.Y-leading(tickSize)
	for i, e := range entries {
		if i > 0 && i%len(columns) == 0 {
			x, y = c.Min.X, y-leading(tickSize)-2
		}
		low := vg.Point{X: x, Y: y + 1}
		e.sample(&c, vg.Rectangle{Min: low, Max: low.Add(vg.Point{X: e.width, Y: swatchH})})
		c.FillText(style, vg.Point{X: x + e.width + swatchGap, Y: y + tickSize*0.3}, e.name)
		x += columns[i%len(columns)] + entryGap
	}
	return y - rowGap
}

// legendColumns returns the widths of the columns of a legend: as few as make no row more than the most
// that fit into the width.
func legendColumns(entries []legendEntry, style text.Style, width vg.Length) []vg.Length {
	most := len(entries)
	for most > 1 && total(columnWidths(entries, style, most)) > width {
		most--
	}
	rows := (len(entries) + most - 1) / most
	for n := (len(entries) + rows - 1) / rows; n < most; n++ {
		if w := columnWidths(entries, style, n); total(w) <= width {
			return w
		}
	}
	return columnWidths(entries, style, most)
}

// columnWidths returns how wide n columns are when entries fill them row by row.
func columnWidths(entries []legendEntry, style text.Style, n int) []vg.Length {
	widths := make([]vg.Length, n)
	for i, e := range entries {
		widths[i%n] = max(widths[i%n], e.width+swatchGap+style.Width(e.name))
	}
	return widths
}

// total is the width of columns and the gaps between them.
func total(columns []vg.Length) vg.Length {
	sum := entryGap * vg.Length(len(columns)-1)
	for _, w := range columns {
		sum += w
	}
	return sum
}

func drawCaption(c draw.Canvas, paragraphs []string) (bottom vg.Length) {
	style := typeStyle(captionSize)
	style.Color = paleInk()
	var lines []string
	for _, p := range paragraphs {
		lines = append(lines, wrap(style, p, c.Max.X-c.Min.X)...)
	}
	y := c.Min.Y + leading(captionSize)*vg.Length(len(lines))
	for i, words := range lines {
		at := y - leading(captionSize)*vg.Length(i+1)
		c.FillText(style, vg.Point{X: c.Min.X, Y: at + captionSize*0.25}, words)
	}
	if len(lines) == 0 {
		return c.Min.Y
	}
	return y + rowGap
}

// wrap breaks a paragraph into lines no wider than w where it has spaces to break at.
func wrap(style text.Style, paragraph string, w vg.Length) []string {
	var lines []string
	for _, word := range strings.Fields(paragraph) {
		last := len(lines) - 1
		if last >= 0 && style.Width(lines[last]+" "+word) <= w {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}

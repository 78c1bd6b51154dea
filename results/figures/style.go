package figures

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of type in points at print size; one face throughout, because a PDF lists several faces in
// an order that changes from run to run.
const (
	titleSize   = 9
	labelSize   = 8
	tickSize    = 7.5
	valueSize   = 7
	captionSize = 7
	minType     = 7 // no text is smaller: what does not fit is turned, wrapped or left out
)

const (
	outlineWidth = vg.Length(0.6)
	hatchWidth   = vg.Length(0.7)
	hatchGap     = vg.Length(3.2)
)

func ink() color.Color        { return color.Gray{0x1a} }
func paleInk() color.Color    { return color.Gray{0x50} }
func gridInk() color.Color    { return color.Gray{0xdd} }
func paper() color.Color      { return color.White }
func outline() draw.LineStyle { return draw.LineStyle{Color: ink(), Width: outlineWidth} }

// typeStyle is text of a size, set at its left end on the base line.
func typeStyle(size vg.Length) text.Style {
	return text.Style{
		Color:   ink(),
		Font:    font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
		XAlign:  draw.XLeft,
		YAlign:  draw.YBottom,
		Handler: plot.DefaultTextHandler,
	}
}

// fill is how an area is painted: a colour and perhaps a hatch over it.
type fill struct {
	color color.Color
	hatch color.Color // nil for none

	falling bool // strokes fall from left to right
}

// seriesFill returns the fill of the i-th series of bars: a grey for what others measured, on which
// whiskers show, then colours of Okabe and Ito, which people with any kind of colour blindness tell
// apart, ordered so that neighbours also differ in grey.
func seriesFill(i int) fill {
	palette := []string{
		"c8c8c8", // grey
		"0072b2", // blue
		"f0b43c", // orange, paled for contrast in grey
		"007a5a", // green, darkened
		"9ad2f2", // sky
		"d55e00", // vermilion
	}
	return fill{color: colorOf(palette[i%len(palette)])}
}

// hatched is the fill of fitted bars of the same series: pale with strokes of the colour, as a
// number that was made to fit is less than one that was predicted.
func (f fill) hatched() fill {
	return fill{color: mix(f.color, paper(), 0.72), hatch: mix(f.color, color.Black, 0.3)}
}

// rampFill returns the fill of layer i of n: a ramp from dark blue to pale yellow that grows evenly
// lighter (the idea of cividis), so that layers keep their order in grey.
func rampFill(i, n int) fill {
	stops := []string{
		"0b2a58",
		"3d5a8f",
		"7f8fa3",
		"b9b38a",
		"e9d26b",
		"fdf1c4",
	}
	if n < 2 {
		return fill{color: colorOf(stops[0])}
	}
	at := float64(i) / float64(n-1) * float64(len(stops)-1)
	low := min(int(at), len(stops)-2)
	return fill{color: mix(colorOf(stops[low]), colorOf(stops[low+1]), at-float64(low))}
}

// mix goes from a (share 0) to b (share 1).
func mix(a, b color.Color, share float64) color.Color {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	blend := func(x, y uint32) uint8 {
		return uint8(math.Round((float64(x)*(1-share) + float64(y)*share) / 0x101))
	}
	return color.RGBA{blend(ar, br), blend(ag, bg), blend(ab, bb), 0xff}
}

// inkOn returns the text colour that reads on a background.
func inkOn(c color.Color) color.Color {
	if color.GrayModel.Convert(c).(color.Gray).Y < 0x80 {
		return paper()
	}
	return ink()
}

// paint fills a rectangle, hatches and outlines it.
func paint(c *draw.Canvas, r vg.Rectangle, f fill) {
	c.FillPolygon(f.color, corners(r))
	if f.hatch != nil {
		paintHatch(c, r, f)
	}
	c.StrokeLines(outline(), append(corners(r), r.Min))
}

func corners(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
}

// paintHatch draws strokes that rise, or fall, cut at the sides of the rectangle.
func paintHatch(c *draw.Canvas, r vg.Rectangle, f fill) {
	style := draw.LineStyle{Color: f.hatch, Width: hatchWidth}
	size := r.Size()
	for d := hatchGap / 2; d < size.X+size.Y; d += hatchGap {
		from := vg.Point{X: r.Min.X + max(0, d-size.Y), Y: r.Min.Y + min(d, size.Y)}
		to := vg.Point{X: r.Min.X + min(d, size.X), Y: r.Min.Y + max(0, d-size.X)}
		if f.falling {
			from.Y, to.Y = r.Min.Y+r.Max.Y-from.Y, r.Min.Y+r.Max.Y-to.Y
		}
		c.StrokeLines(style, []vg.Point{from, to})
	}
}

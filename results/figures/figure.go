package figures

import (
	"bytes"
	"fmt"
	"image/png"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a picture that Render can write: *Bars, *Panels, *Stack, *Lines, *ECDF or *Tornado.
type Figure interface {
	frame() *Frame
	validate() error
	// body returns how high the data and its axes want to be at a width, all in points.
	body(width vg.Length) vg.Length
	// draw paints the data and its axes into what the frame left free.
	draw(c draw.Canvas)
	// legend returns what the legend row above the data explains.
	legend() []legendEntry
	// data tells what the figure shows, in words and numbers, for those who cannot see it.
	data() string
}

// Frame has the parts that all figures share. Caption lines stand below the data, small, one paragraph each,
// wrapped to the width: the place for sources ("measured: Documentation/kprobes.txt, 2010"). Width
// and Height are millimetres on paper; a width of zero means 140, a height of zero what the figure needs. Bare
// leaves title and caption out of the picture, for a document that sets them in its own type.
type Frame struct {
	Title, XLabel, YLabel string
	Caption               []string
	Width, Height         float64
	Bare                  bool
}

const (
	defaultWidth = 140
	minSide      = 40
	maxSide      = 1000
	pngDPI       = 200
	leastBody    = vg.Length(60) // height without which data cannot be read
)

func (f *Frame) frame() *Frame { return f }

// body is a bit less than half of the width, within what a page of paper has room for.
func (f *Frame) body(width vg.Length) vg.Length {
	return min(max(width*0.46, 44*vg.Millimeter), 62*vg.Millimeter)
}

// size returns the sides of a figure's page.
func size(f Figure) (w, h vg.Length) {
	frame := f.frame()
	w, h = vg.Length(frame.Width)*vg.Millimeter, vg.Length(frame.Height)*vg.Millimeter
	if w == 0 {
		w = defaultWidth * vg.Millimeter
	}
	if h == 0 {
		h = surround(f, w) + max(leastBody, f.body(w-2*margin))
	}
	return w, h
}

func (f *Frame) validate() error {
	for _, side := range []float64{f.Width, f.Height} {
		if side != 0 && !(side >= minSide && side <= maxSide) {
			return fmt.Errorf("side of %g mm; want %d to %d", side, minSide, maxSide)
		}
	}
	return nil
}

// fits refuses a page on which title, legend and caption leave no room for the data, or that is higher than any.
func fits(f Figure) error {
	w, h := size(f)
	if around := surround(f, w); h-around < leastBody {
		return fmt.Errorf("%.0f mm are too low: title, legend and caption take %.0f of them; want %.0f or more",
			h/vg.Millimeter, around/vg.Millimeter, math.Ceil(float64((around+leastBody)/vg.Millimeter)))
	}
	if h > maxSide*vg.Millimeter {
		return fmt.Errorf("needs %.0f mm of height and %d are the most: show fewer experiments or panels", h/vg.Millimeter, maxSide)
	}
	return nil
}

// ParseLength reads a length on paper and returns millimetres: 3.3in, 84mm, 8.4cm or 240pt (of 72 to the inch).
func ParseLength(text string) (float64, error) {
	const inch = 25.4
	for unit, mm := range map[string]float64{"in": inch, "mm": 1, "cm": 10, "pt": inch / 72} {
		number, ok := strings.CutSuffix(text, unit)
		if v, err := strconv.ParseFloat(number, 64); ok && err == nil && v > 0 && v <= math.MaxFloat64 {
			return v * mm, nil
		}
	}
	return 0, fmt.Errorf("length %q: want a number and a unit, as in 3.3in, 84mm, 8.4cm or 240pt", text)
}

// Resize gives a figure other sides, in millimetres; zero keeps what it has.
func Resize(f Figure, width, height float64, bare bool) {
	frame := f.frame()
	if width != 0 {
		frame.Width, frame.Height = width, 0
	}
	if height != 0 {
		frame.Height = height
	}
	frame.Bare = frame.Bare || bare
}

// Render draws a figure as name.svg, name.png (200 dots an inch), name.pdf and name.tex (PGF, for LaTeX), or in some of these forms
// alone. The bytes depend on the figure alone.
func Render(f Figure, name string, forms ...string) (map[string][]byte, error) {
	if err := f.frame().validate(); err != nil {
		return nil, fmt.Errorf("figure %s: %w", name, err)
	}
	if err := f.validate(); err != nil {
		return nil, fmt.Errorf("figure %s: %w", name, err)
	}
	if err := fits(f); err != nil {
		return nil, fmt.Errorf("figure %s: %w", name, err)
	}
	files := make(map[string][]byte)
	for _, format := range []struct {
		ext    string
		render func(Figure) ([]byte, error)
	}{{"svg", renderSVG}, {"png", renderPNG}, {"pdf", renderPDF}, {"tex", renderTeX}} {
		if len(forms) > 0 && !slices.Contains(forms, format.ext) {
			continue
		}
		data, err := format.render(f)
		if err != nil {
			return nil, fmt.Errorf("figure %s.%s: %w", name, format.ext, err)
		}
		files[name+"."+format.ext] = data
	}
	return files, nil
}

func renderSVG(f Figure) ([]byte, error) {
	w, h := size(f)
	canvas := vgsvg.New(w, h)
	drawFigure(f, draw.NewCanvas(canvas, w, h))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	svg, err := portableText(b.Bytes())
	if err != nil {
		return nil, err
	}
	return describe(svg, f)
}

func renderPNG(f Figure) ([]byte, error) {
	w, h := size(f)
	canvas := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(pngDPI))
	drawFigure(f, draw.NewCanvas(canvas, w, h))
	var b bytes.Buffer
	// A better compression takes twice the time and makes files a twenty-fifth smaller.
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&b, canvas.Image()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func renderPDF(f Figure) ([]byte, error) {
	w, h := size(f)
	canvas := vgpdf.New(w, h)
	drawFigure(f, draw.NewCanvas(pdfText{canvas}, w, h))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return stopClock(b.Bytes())
}

package results

import (
	"bytes"
	"fmt"

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
	// draw paints the data and its axes into what the frame left free.
	draw(c draw.Canvas)
	// legend returns what the legend row above the data explains.
	legend() []legendEntry
}

// Frame is what all figures share. Caption lines stand below the data, small, one paragraph each,
// wrapped to the width: the place for sources ("measured: Documentation/kprobes.txt, 2010"). Width
// and Height are millimetres on paper; zero means 140 by 85.
type Frame struct {
	Title, XLabel, YLabel string
	Caption               []string
	Width, Height         float64
}

const (
	defaultWidth  = 140
	defaultHeight = 85
	minSide       = 40
	maxSide       = 1000
	pngDPI        = 200
)

func (f *Frame) frame() *Frame { return f }

func (f *Frame) size() (w, h vg.Length) {
	w, h = vg.Length(f.Width), vg.Length(f.Height)
	if f.Width == 0 {
		w = defaultWidth
	}
	if f.Height == 0 {
		h = defaultHeight
	}
	return w * vg.Millimeter, h * vg.Millimeter
}

func (f *Frame) validate() error {
	for _, side := range []float64{f.Width, f.Height} {
		if side != 0 && !(side >= minSide && side <= maxSide) {
			return fmt.Errorf("side of %g mm; want %d to %d", side, minSide, maxSide)
		}
	}
	return nil
}

// Render draws a figure as name.svg, name.png (200 dots an inch) and name.pdf. The bytes depend on
// the figure alone.
func Render(f Figure, name string) (map[string][]byte, error) {
	if err := f.frame().validate(); err != nil {
		return nil, fmt.Errorf("figure %s: %w", name, err)
	}
	if err := f.validate(); err != nil {
		return nil, fmt.Errorf("figure %s: %w", name, err)
	}
	files := make(map[string][]byte)
	for _, format := range []struct {
		ext    string
		render func(Figure) ([]byte, error)
	}{{"svg", renderSVG}, {"png", renderPNG}, {"pdf", renderPDF}} {
		data, err := format.render(f)
		if err != nil {
			return nil, fmt.Errorf("figure %s.%s: %w", name, format.ext, err)
		}
		files[name+"."+format.ext] = data
	}
	return files, nil
}

func renderSVG(f Figure) ([]byte, error) {
	w, h := f.frame().size()
	canvas := vgsvg.New(w, h)
	drawFigure(f, draw.NewCanvas(canvas, w, h))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return portableText(b.Bytes())
}

func renderPNG(f Figure) ([]byte, error) {
	w, h := f.frame().size()
	canvas := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(pngDPI))
	drawFigure(f, draw.NewCanvas(canvas, w, h))
	var b bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func renderPDF(f Figure) ([]byte, error) {
	w, h := f.frame().size()
	canvas := vgpdf.New(w, h)
	text := pdfText{canvas, map[rune]bool{}}
	drawFigure(f, draw.NewCanvas(text, w, h))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	pdf, err := stopClock(b.Bytes())
	if err != nil || len(text.drawn) == 0 {
		return pdf, err
	}
	return embedSubset(pdf, text.characters())
}

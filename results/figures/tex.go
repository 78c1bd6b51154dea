package figures

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgtex"

	"kprobesim/results/tables"
)

// renderTeX draws a figure as a pgfpicture: LaTeX sets its texts in the type of the document, at the sizes of
// the other formats. \input it with the package pgf loaded. Title, caption and data stand above it as comments.
func renderTeX(f Figure) ([]byte, error) {
	w, h := size(f)
	canvas := vgtex.New(w, h)
	drawFigure(f, draw.NewCanvas(texText{canvas}, w, h))
	var b bytes.Buffer
	frame := f.frame()
	for _, line := range append([]string{frame.Title}, append(frame.Caption, f.data())...) {
		b.WriteString("% " + strings.ReplaceAll(line, "\n", " ") + "\n")
	}
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return plainNumbers(b.Bytes()), nil
}

// startOfText stands between the numbers of a line and its text.
const startOfText = `\selectfont `

// plainNumbers writes the numbers of the canvas so that TeX reads them and processors agree on them. What a text or a
// comment says stays.
func plainNumbers(tex []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(tex) {
		if bytes.HasPrefix(line, []byte("%")) {
			out.Write(line)
			continue
		}
		numbers, text, has := bytes.Cut(line, []byte(startOfText))
		out.Write(roundLengths(withoutExponents(numbers)))
		if has {
			out.WriteString(startOfText)
			out.Write(text)
		}
	}
	return out.Bytes()
}

// Numbers of the canvas that are rewritten. They are compiled once: a figure has thousands of lines.
var (
	tinyNumber = regexp.MustCompile(`-?[0-9.]+e-[0-9]+`)
	longLength = regexp.MustCompile(`-?[0-9]+\.[0-9]{4,}pt`)
)

// withoutExponents makes zeroes of numbers with exponents, which TeX does not read: they are as good as nothing. Few lines
// have one, and the search for a letter is a hundred times faster than that for a number.
func withoutExponents(text []byte) []byte {
	if !bytes.Contains(text, []byte("e-")) {
		return text
	}
	return tinyNumber.ReplaceAll(text, []byte("0"))
}

// roundLengths rounds lengths to a thousandth of a point: the digits behind that differ between processors.
func roundLengths(text []byte) []byte {
	return longLength.ReplaceAllFunc(text, func(b []byte) []byte {
		v, err := strconv.ParseFloat(string(b[:len(b)-len("pt")]), 64)
		if err != nil {
			return b // no number after all
		}
		return fmt.Appendf(nil, "%.3fpt", v)
	})
}

// longText is the width above which a text is a title or a line of a caption, which begins at the left whatever
// the type of the document is. Others stay around their middle.
const longText = vg.Length(130)

// texText hands text to the TeX canvas with what TeX would take as commands written out.
type texText struct{ *vgtex.Canvas }

func (c texText) FillString(f font.Face, pt vg.Point, s string) {
	escaped := tables.TeXEscape(s)
	if w := f.Width(s); w > longText {
		escaped = fmt.Sprintf(`\makebox[%.2fpt][l]{%s}`, float64(w), escaped)
	}
	pt.X += (f.Width(s) - f.Width(escaped)) / 2 // the canvas sets text around its middle
	c.Canvas.FillString(f, pt, escaped)
}

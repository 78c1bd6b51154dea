package figures

import (
	"errors"
	"regexp"

	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgpdf"
)

// pdfText hands text to the PDF canvas in the code page in which that canvas embeds its fonts;
// given UTF-8 it would print "µ" as two wrong letters. Characters outside the page become "?".
type pdfText struct{ *vgpdf.Canvas }

func (c pdfText) FillString(f font.Face, pt vg.Point, s string) {
	var page []byte
	for _, r := range s {
		b, ok := charmap.Windows1252.EncodeRune(r)
		if !ok {
			b = '?'
		}
		page = append(page, b)
	}
	c.Canvas.FillString(f, pt, string(page))
}

// stopClock sets the dates of creation and change in a PDF to a fixed one. They have a fixed length,
// so the offsets in the cross-reference table stay true. The canvas has no door to its document,
// and the defaults of the library below it are global state.
func stopClock(pdf []byte) ([]byte, error) {
	dates := regexp.MustCompile(`/(CreationDate|ModDate) \(D:[0-9]{14}\)`)
	if len(dates.FindAll(pdf, -1)) != 2 {
		return nil, errors.New("found no two dates to fix; the PDF library writes them differently now")
	}
	return dates.ReplaceAllFunc(pdf, func(date []byte) []byte {
		fixed := append([]byte(nil), date...)
		copy(fixed[len(fixed)-15:], "20000101000000")
		return fixed
	}), nil
}

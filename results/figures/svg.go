package figures

import (
	"errors"
	"fmt"
	"html"
	"regexp"
	"strconv"

	"gonum.org/v1/plot/vg"
)

// portableText makes the texts of an SVG keep their places where our font is not installed: it
// names fonts to fall back on and the width that each text has in ours, into which a viewer fits
// what it has.
func portableText(svg []byte) ([]byte, error) {
	texts := regexp.MustCompile(`<text (x="[^"]*" y="[^"]*" transform="[^"]*")\s+` +
		`style="font-family:Liberation Sans;([^"]*)font-size:([0-9.]+)px([^"]*)">([^<]*)</text>`)
	every := regexp.MustCompile(`<text `)
	if len(texts.FindAll(svg, -1)) != len(every.FindAll(svg, -1)) {
		return nil, errors.New("some texts are not as expected; the SVG library writes them differently now")
	}
	return texts.ReplaceAllFunc(svg, func(element []byte) []byte {
		m := texts.FindSubmatch(element)
		size, err := strconv.ParseFloat(string(m[3]), 64)
		if err != nil {
			return element
		}
		width := typeStyle(vg.Length(size)).Width(html.UnescapeString(string(m[5])))
		return fmt.Appendf(nil, `<text %s textLength="%.2f" lengthAdjust="spacingAndGlyphs" `+
			`style="font-family:'Liberation Sans',Arial,Helvetica,sans-serif;%sfont-size:%spx%s">%s</text>`,
			m[1], float64(width), m[2], m[3], m[4], m[5])
	}), nil
}

package results

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"

	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgpdf"
)

// pdfText hands text to the PDF canvas in the code page in which that canvas embeds its fonts;
// given UTF-8 it would print "µ" as two wrong letters. Characters outside the page become "?". It
// remembers which characters were drawn.
type pdfText struct {
	*vgpdf.Canvas
	drawn map[rune]bool
}

func (c pdfText) FillString(f font.Face, pt vg.Point, s string) {
	var page []byte
	for _, r := range s {
		b, ok := charmap.Windows1252.EncodeRune(r)
		if !ok {
			b, r = '?', '?'
		}
		c.drawn[r] = true
		page = append(page, b)
	}
	c.Canvas.FillString(f, pt, string(page))
}

// characters are those that were drawn, in their order.
func (c pdfText) characters() []rune {
	var all []rune
	for r := range c.drawn {
		all = append(all, r)
	}
	slices.Sort(all)
	return all
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

// subsetTag marks the name of a font of which only some glyphs are there (PDF Reference 1.7, section
// 5.5.3). Any six capitals do.
const subsetTag = "KPROBE+"

// embedSubset replaces the font in a PDF of one font by one with the given characters alone. The
// library embeds whole fonts.
func embedSubset(pdf []byte, characters []rune) ([]byte, error) {
	file := regexp.MustCompile(`<</Length ([0-9]+)\n/Filter /FlateDecode\n/Length1 [0-9]+\n>>\nstream\n`)
	at := file.FindSubmatchIndex(pdf)
	if at == nil || file.Match(pdf[at[1]:]) {
		return nil, errors.New("found not one embedded font; the PDF library writes it differently now")
	}
	size, err := strconv.Atoi(string(pdf[at[2]:at[3]]))
	if err != nil || at[1]+size > len(pdf) {
		return nil, errors.New("the embedded font is cut off")
	}
	whole, err := inflate(pdf[at[1] : at[1]+size])
	if err != nil {
		return nil, err
	}
	ttf, err := subsetFont(whole, characters)
	if err != nil {
		return nil, err
	}
	packed, err := deflate(ttf)
	if err != nil {
		return nil, err
	}
	var out []byte
	out = append(out, pdf[:at[0]]...)
	out = fmt.Appendf(out, "<</Length %d\n/Filter /FlateDecode\n/Length1 %d\n>>\nstream\n", len(packed), len(ttf))
	out = append(append(out, packed...), pdf[at[1]+size:]...)
	names := regexp.MustCompile(`/(BaseFont|FontName) /`)
	out = names.ReplaceAll(out, []byte("/$1 /"+subsetTag))
	return numberObjects(out)
}

func inflate(b []byte) ([]byte, error) {
	r, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("the embedded font: %w", err)
	}
	return io.ReadAll(r)
}

func deflate(b []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := zlib.NewWriterLevel(&out, zlib.BestCompression)
	if err == nil {
		_, err = w.Write(b)
	}
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

// numberObjects writes the cross-reference table of a PDF again, with the places that its objects have
// now (PDF Reference 1.7, section 3.4.3).
func numberObjects(pdf []byte) ([]byte, error) {
	table := bytes.LastIndex(pdf, []byte("\nxref\n")) + 1
	trailer := bytes.LastIndex(pdf, []byte("trailer\n"))
	start := bytes.LastIndex(pdf, []byte("startxref\n"))
	if table == 0 || trailer < table || start < trailer {
		return nil, errors.New("found no cross-reference table; the PDF library writes it differently now")
	}
	places := map[int]int{}
	for _, m := range regexp.MustCompile(`(?m)^([0-9]+) 0 obj$`).FindAllSubmatchIndex(pdf[:table], -1) {
		if n, err := strconv.Atoi(string(pdf[m[2]:m[3]])); err == nil {
			places[n] = m[0]
		}
	}
	out := append([]byte(nil), pdf[:table]...)
	out = fmt.Appendf(out, "xref\n0 %d\n0000000000 65535 f \n", len(places)+1)
	for n := 1; n <= len(places); n++ {
		at, ok := places[n]
		if !ok {
			return nil, fmt.Errorf("found no object %d in the PDF", n)
		}
		out = fmt.Appendf(out, "%010d 00000 n \n", at)
	}
	out = append(out, pdf[trailer:start]...)
	return fmt.Appendf(out, "startxref\n%d\n%%%%EOF\n", table), nil
}

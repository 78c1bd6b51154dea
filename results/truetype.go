package results

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/image/font/sfnt"
)

// subsetFont returns a TrueType font that draws the given characters and no others. Glyphs keep their
// numbers, so that the tables which name glyphs stay true; an outline that nobody draws is empty. Only
// tables that a PDF needs of an embedded font remain (PDF Reference 1.7, section 5.8).
func subsetFont(ttf []byte, characters []rune) ([]byte, error) {
	tables, err := fontTables(ttf)
	if err != nil {
		return nil, err
	}
	used, err := glyphsOf(ttf, characters)
	if err != nil {
		return nil, err
	}
	out, err := tables.only(used)
	if err != nil {
		return nil, err
	}
	return out.bytes(), nil
}

// fontSet is the tables of a font by their tags.
type fontSet map[string][]byte

// fontTables cuts a font into its tables (OpenType 1.9, "Organization of an OpenType font").
func fontTables(ttf []byte) (fontSet, error) {
	const head, row = 12, 16
	if len(ttf) < head {
		return nil, errors.New("the embedded font has no table directory")
	}
	tables := fontSet{}
	for i := range int(binary.BigEndian.Uint16(ttf[4:])) {
		if len(ttf) < head+row*(i+1) {
			return nil, errors.New("the table directory of the embedded font is cut off")
		}
		entry := ttf[head+row*i:]
		at, size := int(binary.BigEndian.Uint32(entry[8:])), int(binary.BigEndian.Uint32(entry[12:]))
		if at+size > len(ttf) {
			return nil, fmt.Errorf("table %s of the embedded font is cut off", entry[:4])
		}
		tables[string(entry[:4])] = ttf[at : at+size]
	}
	return tables, nil
}

// glyphsOf returns the numbers of the glyphs that characters are drawn with. Glyph 0 is the one for a
// character that the font does not have.
func glyphsOf(ttf []byte, characters []rune) ([]int, error) {
	f, err := sfnt.Parse(ttf)
	if err != nil {
		return nil, fmt.Errorf("the embedded font: %w", err)
	}
	used := []int{0}
	for _, r := range characters {
		g, err := f.GlyphIndex(nil, r)
		if err != nil {
			return nil, fmt.Errorf("the embedded font, character %q: %w", r, err)
		}
		used = append(used, int(g))
	}
	return used, nil
}

// pdfTables are the tables that a reader of PDF uses of a TrueType font.
func pdfTables() []string {
	return []string{"cmap", "cvt ", "fpgm", "glyf", "head", "hhea", "hmtx", "loca", "maxp", "prep"}
}

// only keeps what a PDF needs, with the outlines of some glyphs and of what these are composed of.
func (f fontSet) only(used []int) (fontSet, error) {
	out := fontSet{}
	for _, tag := range pdfTables() {
		if t, ok := f[tag]; ok {
			out[tag] = t
		}
	}
	outlines, err := f.outlines()
	if err != nil {
		return nil, err
	}
	keep := map[int]bool{}
	for len(used) > 0 {
		g := used[0]
		used = used[1:]
		if g < len(outlines) && !keep[g] {
			keep[g] = true
			used = append(used, components(outlines[g])...)
		}
	}
	var glyf, loca []byte
	for g, outline := range outlines {
		loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
		if keep[g] {
			glyf = append(glyf, outline...)
			glyf = append(glyf, make([]byte, -len(glyf)&3)...)
		}
	}
	out["glyf"], out["loca"] = glyf, binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
	out["head"] = slices.Clone(out["head"])
	binary.BigEndian.PutUint16(out["head"][50:], 1) // offsets of outlines have four bytes
	return out, nil
}

// outlines returns the description of each glyph, as loca finds them.
func (f fontSet) outlines() ([][]byte, error) {
	head, loca, glyf := f["head"], f["loca"], f["glyf"]
	if len(head) < 54 {
		return nil, errors.New("the embedded font has no outlines of TrueType")
	}
	var at []int
	if binary.BigEndian.Uint16(head[50:]) == 0 {
		for i := 0; i+2 <= len(loca); i += 2 {
			at = append(at, 2*int(binary.BigEndian.Uint16(loca[i:])))
		}
	} else {
		for i := 0; i+4 <= len(loca); i += 4 {
			at = append(at, int(binary.BigEndian.Uint32(loca[i:])))
		}
	}
	if len(at) == 0 || !slices.IsSorted(at) || at[len(at)-1] > len(glyf) {
		return nil, errors.New("the outlines of the embedded font are cut off")
	}
	out := make([][]byte, len(at)-1)
	for i := range out {
		out[i] = glyf[at[i]:at[i+1]]
	}
	return out, nil
}

// components lists the glyphs that a composite glyph consists of, as an accented letter does.
func components(outline []byte) (glyphs []int) {
	const (
		wordArguments = 1 << 0
		oneScale      = 1 << 3
		more          = 1 << 5
		twoScales     = 1 << 6
		matrix        = 1 << 7
	)
	if len(outline) < 10 || int16(binary.BigEndian.Uint16(outline)) >= 0 {
		return nil
	}
	for rest := outline[10:]; len(rest) >= 6; {
		flags := binary.BigEndian.Uint16(rest)
		glyphs = append(glyphs, int(binary.BigEndian.Uint16(rest[2:])))
		size := 6
		if flags&wordArguments != 0 {
			size += 2
		}
		switch {
		case flags&oneScale != 0:
			size += 2
		case flags&twoScales != 0:
			size += 4
		case flags&matrix != 0:
			size += 8
		}
		if flags&more == 0 || size > len(rest) {
			break
		}
		rest = rest[size:]
	}
	return glyphs
}

// bytes writes the tables as a font, in the order of their tags.
func (f fontSet) bytes() []byte {
	var tags []string
	for _, tag := range pdfTables() {
		if _, ok := f[tag]; ok {
			tags = append(tags, tag)
		}
	}
	power, log := 1, 0
	for power*2 <= len(tags) {
		power, log = power*2, log+1
	}
	out := []byte{0, 1, 0, 0}
	for _, v := range []int{len(tags), 16 * power, log, 16 * (len(tags) - power)} {
		out = binary.BigEndian.AppendUint16(out, uint16(v))
	}
	at := len(out) + 16*len(tags)
	var body []byte
	for _, tag := range tags {
		out = append(out, tag...)
		for _, v := range []uint32{checksum(f[tag]), uint32(at + len(body)), uint32(len(f[tag]))} {
			out = binary.BigEndian.AppendUint32(out, v)
		}
		body = append(body, f[tag]...)
		body = append(body, make([]byte, -len(body)&3)...)
	}
	return append(out, body...)
}

// checksum is the sum of a table's words of four bytes.
func checksum(table []byte) (sum uint32) {
	for len(table) > 0 {
		var word [4]byte
		table = table[copy(word[:], table):]
		sum += binary.BigEndian.Uint32(word[:])
	}
	return sum
}

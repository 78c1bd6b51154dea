package tables

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Align says on which side of its column a cell stands.
type Align uint8

// Alignments; numbers written with equal decimals stand right.
const (
	Left Align = iota
	Right
)

// Column is the head of a column. A title may have several lines.
type Column struct {
	Title string
	Align Align
}

// Columns makes columns of their titles. A ">" in front puts a column's cells right.
func Columns(titles ...string) []Column {
	out := make([]Column, len(titles))
	for i, title := range titles {
		name, right := strings.CutPrefix(title, ">")
		if out[i].Title = name; right {
			out[i].Align = Right
		}
	}
	return out
}

// Table is a table of texts. Cells that a row does not have are empty. Notes follow below it.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]string
	Notes   []string
}

// BlankRepeats empties the first n cells of every row that begins as the row above it does.
func (t *Table) BlankRepeats(n int) {
	var above []string
	for i, row := range t.Rows {
		if above != nil && slices.Equal(row[:n], above) {
			t.Rows[i] = append(make([]string, n), row[n:]...)
			continue
		}
		above = row[:n]
	}
}

// gutter parts the columns of the text form.
const gutter = "  "

// Text returns the table for a terminal: title, heads, a rule, rows, notes. Columns are as wide as
// their widest cell in terminal columns (an East Asian wide character takes two, a combining mark
// none), and no line ends in spaces.
func (t *Table) Text() string {
	var b strings.Builder
	if t.Title != "" {
		b.WriteString(t.Title + "\n\n")
	}
	heads := t.heads()
	widths := t.widths(heads)
	for _, row := range heads {
		t.textLine(&b, row, widths)
	}
	b.WriteString(strings.Repeat("-", ruleWidth(widths)) + "\n")
	for _, row := range t.Rows {
		t.textLine(&b, row, widths)
	}
	t.notes(&b)
	return b.String()
}

// heads splits titles into lines and sets them down on the rule.
func (t *Table) heads() [][]string {
	height := 0
	for _, c := range t.Columns {
		height = max(height, 1+strings.Count(c.Title, "\n"))
	}
	rows := make([][]string, height)
	for i := range rows {
		rows[i] = make([]string, len(t.Columns))
	}
	for col, c := range t.Columns {
		lines := strings.Split(c.Title, "\n")
		for i, text := range lines {
			rows[height-len(lines)+i][col] = text
		}
	}
	return rows
}

func (t *Table) widths(heads [][]string) []int {
	widths := make([]int, len(t.Columns))
	for _, rows := range [][][]string{heads, t.Rows} {
		for _, row := range rows {
			for col := range t.Columns {
				widths[col] = max(widths[col], textWidth(cell(row, col)))
			}
		}
	}
	return widths
}

func ruleWidth(widths []int) int {
	total := max(0, len(widths)-1) * len(gutter)
	for _, w := range widths {
		total += w
	}
	return total
}

func (t *Table) textLine(b *strings.Builder, row []string, widths []int) {
	var text strings.Builder
	for col, c := range t.Columns {
		if col > 0 {
			text.WriteString(gutter)
		}
		text.WriteString(pad(cell(row, col), widths[col], c.Align))
	}
	b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
}

func (t *Table) notes(b *strings.Builder) {
	if len(t.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, note := range t.Notes {
		b.WriteString(note + "\n")
	}
}

func cell(row []string, col int) string {
	if col >= len(row) {
		return ""
	}
	return row[col]
}

func pad(s string, to int, align Align) string {
	spaces := strings.Repeat(" ", max(0, to-textWidth(s)))
	if align == Right {
		return spaces + s
	}
	return s + spaces
}

// textWidth counts the columns that a terminal gives to s.
func textWidth(s string) int {
	n := 0
	for _, r := range s {
		switch k := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case k == width.EastAsianWide || k == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

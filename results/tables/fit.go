package tables

import "strings"

// Fit is Text for a terminal of so many columns, 0 for any number: a wider table is parted into several, each of which
// begins with the columns that say what a row is. Titles and notes are broken between words. A single column that does
// not fit stays as it is.
func (t *Table) Fit(columns int) string {
	if columns <= 0 {
		return t.Text()
	}
	var b strings.Builder
	if t.Title != "" {
		b.WriteString(breakWords(t.Title, columns) + "\n")
	}
	for i, part := range t.parts(columns) {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(part.Text())
	}
	if len(t.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, note := range t.Notes {
		b.WriteString(breakWords(note, columns))
	}
	return b.String()
}

// parts returns tables that have the columns of t, and are as wide as told where that can be.
func (t *Table) parts(columns int) []*Table {
	widths := t.widths(t.heads())
	keys := 0
	for keys < len(t.Columns) && t.Columns[keys].Align == Left {
		keys++
	}
	keys = max(1, min(keys, len(t.Columns)-1))
	if ruleWidth(widths) <= columns || len(t.Columns) < 2 {
		keys = 0
	}
	var parts []*Table
	for first := keys; first < len(t.Columns); {
		next := first + 1
		for next < len(t.Columns) && (keys == 0 || ruleWidth(widths[:keys])+len(gutter)+ruleWidth(widths[first:next+1]) <= columns) {
			next++
		}
		parts = append(parts, t.slice(keys, first, next))
		first = next
	}
	return parts
}

// slice is the table of the first columns and of some others.
func (t *Table) slice(keys, first, next int) *Table {
	of := func(row []string) (cells []string) {
		for col := range t.Columns {
			if col < keys || col >= first && col < next {
				cells = append(cells, cell(row, col))
			}
		}
		return cells
	}
	out := &Table{Columns: append(append([]Column(nil), t.Columns[:keys]...), t.Columns[first:next]...)}
	for _, row := range t.Rows {
		out.Rows = append(out.Rows, of(row))
	}
	return out
}

// breakWords breaks a text between words into lines that are not wider than told; those behind the first are indented.
func breakWords(text string, columns int) string {
	var b strings.Builder
	at := 0
	for i, word := range strings.Fields(text) {
		w := textWidth(word)
		switch {
		case i == 0:
		case at+1+w > columns:
			b.WriteString("\n  ")
			at = 2
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += w
	}
	return b.String() + "\n"
}

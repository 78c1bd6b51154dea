package tables

import (
	"encoding/csv"
	"fmt"
	"strings"
)

// TableFormats are the names of the forms that a table can be written in, that of a terminal first.
func TableFormats() []string { return []string{"text", "latex", "markdown", "csv"} }

// Format writes a table in the form of a name.
func (t *Table) Format(name string) (string, error) {
	switch name {
	case "text":
		return t.Text(), nil
	case "latex":
		return t.LaTeX(), nil
	case "markdown":
		return t.Markdown(), nil
	case "csv":
		return t.CSV()
	}
	return "", fmt.Errorf("form %q of a table is unknown: known are %s", name, strings.Join(TableFormats(), ", "))
}

// Head is a column's title in one line. A word that the title parts over two lines is joined.
func (c Column) Head() string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(c.Title, "-\n", ""), "\n", " "))
}

// LaTeX returns a table for the package booktabs: title, tabular and notes, each a paragraph.
func (t *Table) LaTeX() string {
	var b strings.Builder
	if t.Title != "" {
		b.WriteString("% " + strings.ReplaceAll(t.Title, "\n", " ") + "\n") // a line of its own would be typeset
	}
	b.WriteString(t.Tabular())
	for _, note := range t.Notes {
		b.WriteString("\n\n{\\footnotesize " + TeXEscape(note) + "\\par}")
	}
	b.WriteString("\n")
	return b.String()
}

// Tabular returns the rows of a table as an environment tabular, without title and notes.
func (t *Table) Tabular() string {
	var b strings.Builder
	b.WriteString("\\begin{tabular}{@{}")
	for _, c := range t.Columns {
		b.WriteString(map[Align]string{Left: "l", Right: "r"}[c.Align])
	}
	b.WriteString("@{}}\n\\toprule\n")
	for _, row := range t.heads() {
		b.WriteString(t.texRow(row))
	}
	b.WriteString("\\midrule\n")
	for _, row := range t.Rows {
		b.WriteString(t.texRow(row))
	}
	b.WriteString("\\bottomrule\n\\end{tabular}")
	return b.String()
}

// texRow writes a row. A minus of a number is a minus, and what is absent a dash.
func (t *Table) texRow(row []string) string {
	var cells []string
	for i, c := range t.Columns {
		text := cell(row, i)
		switch {
		case text == missing:
			text = "--"
		case c.Align == Right && strings.HasPrefix(text, "-"):
			text = "$-$" + TeXEscape(text[1:])
		default:
			text = TeXEscape(text)
		}
		cells = append(cells, text)
	}
	return strings.Join(cells, " & ") + " \\\\\n"
}

// Markdown returns a table in the form of GitHub: title, rows and notes.
func (t *Table) Markdown() string {
	var b strings.Builder
	escape := func(s string) string {
		return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(s)
	}
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	if t.Title != "" {
		b.WriteString("**" + escape(t.Title) + "**\n\n")
	}
	var heads, rules []string
	for _, c := range t.Columns {
		heads = append(heads, escape(c.Head()))
		rules = append(rules, map[Align]string{Left: "---", Right: "---:"}[c.Align])
	}
	line(heads)
	line(rules)
	for _, row := range t.Rows {
		var cells []string
		for i := range t.Columns {
			cells = append(cells, escape(cell(row, i)))
		}
		line(cells)
	}
	for _, note := range t.Notes {
		b.WriteString("\n" + escape(note) + "\n")
	}
	return b.String()
}

// CSV returns the rows of a table below their heads, without title and notes (RFC 4180, but for the ends of lines).
// The long form with every metric is Set.CSV.
func (t *Table) CSV() (string, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	var heads []string
	for _, c := range t.Columns {
		heads = append(heads, c.Head())
	}
	rows := [][]string{heads}
	for _, row := range t.Rows {
		var cells []string
		for i := range t.Columns {
			cells = append(cells, cell(row, i))
		}
		rows = append(rows, cells)
	}
	err := w.WriteAll(rows)
	return b.String(), err
}

// TeXEscape writes text so that LaTeX sets it as it is.
func TeXEscape(s string) string {
	return strings.NewReplacer(
		`\`, `\textbackslash{}`, `{`, `\{`, `}`, `\}`, `$`, `\$`, `&`, `\&`, `#`, `\#`, `%`, `\%`, `_`, `\_`,
		`^`, `\textasciicircum{}`, `~`, `\textasciitilde{}`, `<`, `\textless{}`, `>`, `\textgreater{}`, `|`, `\textbar{}`,
		`"`, `\textquotedbl{}`, "µ", `\textmu{}`, "→", `\textrightarrow{}`, "∞", `\ensuremath{\infty}`, "-", "-{}",
	).Replace(s)
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"unicode"
	"unicode/utf8"

	"kprobesim/results/tables"
)

// plainColumns is the width of tables on a terminal that does not say its own.
const plainColumns = 80

// columns is the width of the output: that of the terminal, or 0 when it goes elsewhere.
func (a *app) columns() int {
	if !isTerminal(a.out.w) {
		return 0
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= 20 {
		return n
	}
	return plainColumns
}

// print prints a table as wide as the terminal is.
func (a *app) print(t *tables.Table) { fmt.Fprintln(a.out, t.Fit(a.columns())) }

// harmless writes out characters that are commands to a terminal, as \x1b: names and texts of files that somebody
// else wrote may hold them. So may bytes that are no text: a terminal that knows no UTF-8 takes 0x9b for the start of a
// command.
func harmless(b []byte) []byte {
	if bytes.IndexFunc(b, controls) < 0 && utf8.Valid(b) {
		return b
	}
	var out []byte
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			out = fmt.Appendf(out, "\\x%02x", b[0])
		case controls(r):
			out = fmt.Appendf(out, "\\x%02x", r)
		default:
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}

// controls tells control characters beside those that part lines and columns.
func controls(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// counted is a number with its noun, of which there may be one.
func counted[N int | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

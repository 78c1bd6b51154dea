package tables

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

// TestTables holds tables of sets in every form, and as terminals of several widths have them.
func TestTables(t *testing.T) {
	tables := []*Table{overheadTable(t)}
	for _, s := range []*results.Set{resultstest.Counted(t), resultstest.SweepSet(t), results.Means(resultstest.Replicated(t))} {
		for _, columns := range [][]ColumnSpec{
			append(SweepColumns(s), ColumnSpec{Title: "n", Metric: "n", Decimals: 1}), OverheadColumns(s, []string{"step"}),
			append(PublishedColumns(true), ColumnSpec{Title: "cycles", Metric: results.MetricCycles, Decimals: 1, Interval: true}),
		} {
			table := Tabulate(s, columns)
			table.Title, table.Notes = "A table of a title that is long", append(table.Notes, strings.Repeat("long note ", 20))
			tables = append(tables, table)
		}
	}
	narrow := &Table{Columns: []Column{{Title: "key"}, {Title: "another key"}, {"a", Right}, {"b", Right}}, Rows: [][]string{{"k", "l", "1", "2"}, {"m"}}}
	var out bytes.Buffer
	for i, table := range append(tables, narrow, &Table{Columns: []Column{{Title: "alone"}}, Rows: [][]string{{"x"}}}) {
		for _, form := range TableFormats()[:max(1, 4-i)] {
			text := require.Must(table.Format(form))(t)
			fmt.Fprintf(&out, "%s:\n%s\n", form, text)
		}
		whole, before := strings.Fields(table.Text()), ""
		for columns := range 100 {
			text := table.Fit(columns)
			if got := strings.Fields(text); columns == 60 && slices.ContainsFunc(whole, func(w string) bool { return !strings.HasPrefix(w, "---") && !slices.Contains(got, w) }) {
				t.Errorf("words are lost in\n%s", text)
			}
			if text != before {
				fmt.Fprintf(&out, "%d columns: sha256 %.4x\n", columns, sha256.Sum256([]byte(text)))
			}
			if before = text; columns == 45 {
				out.WriteString(text)
			}
		}
	}
	require.Golden(t, *update, "tables.txt", out.Bytes())
}

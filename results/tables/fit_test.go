package tables

import (
	"strings"
	"testing"
)

// TestTableFits prints a wide table for terminals: no line is too wide, each part says what its rows are, and no cell
// is lost.
func TestTableFits(t *testing.T) {
	table := overheadTable(t)
	table.Notes = append(table.Notes, strings.Repeat("a long note ", 20))
	whole := strings.Fields(table.Text())
	for _, columns := range []int{60, 80} {
		text := table.Fit(columns)
		for line := range strings.Lines(text) {
			if n := textWidth(strings.TrimSuffix(line, "\n")); n > columns {
				t.Errorf("%d columns: %q has %d", columns, line, n)
			}
		}
		rules := strings.Count(text, "\n---")
		if rows := strings.Count(text, "\nrb "); rules < 2 || rows != rules {
			t.Errorf("%d columns: %d parts, %d of them with the row rb\n%s", columns, rules, rows, text)
		}
		count := map[string]int{}
		for _, word := range strings.Fields(text) {
			count[word]++
		}
		for _, word := range whole {
			if count[word] == 0 && !strings.HasPrefix(word, "---") {
				t.Errorf("%d columns: %q is lost", columns, word)
			}
		}
	}
	if table.Fit(0) != table.Text() {
		t.Error("a table for no terminal is parted")
	}
	if text := table.Fit(1000); text != strings.Replace(table.Text(), strings.Repeat("a long note ", 20), strings.TrimSpace(strings.Repeat("a long note ", 20)), 1) {
		t.Errorf("a terminal that is wide enough gets\n%s", text)
	}
}

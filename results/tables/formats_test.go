package tables

import (
	"testing"

	"kprobesim/internal/require"
)

// TestTableFormats writes one table in every form: what a form would take as commands is written out.
func TestTableFormats(t *testing.T) {
	table := &Table{
		Title:   "50 %\nof a|b",
		Columns: []Column{{Title: "probe"}, {Title: "unex-\nplained %", Align: Right}},
		Rows:    [][]string{{"a_b|c", "-1.5"}, {"x, y", missing}},
		Notes:   []string{"set: a=1 & b"},
	}
	for form, want := range map[string]string{
		"latex":    "% 50 % of a|b\n\\begin{tabular}{@{}lr@{}}\n\\toprule\n & unex-{} \\\\\nprobe & plained \\% \\\\\n\\midrule\na\\_b\\textbar{}c & $-$1.5 \\\\\nx, y & -- \\\\\n\\bottomrule\n\\end{tabular}\n\n{\\footnotesize set: a=1 \\& b\\par}\n",
		"markdown": "**50 % of a\\|b**\n\n| probe | unexplained % |\n| --- | ---: |\n| a_b\\|c | -1.5 |\n| x, y | - |\n\nset: a=1 & b\n",
		"csv":      "probe,unexplained %\na_b|c,-1.5\n\"x, y\",-\n",
	} {
		got := require.Must(table.Format(form))(t)
		require.That(t, got == want, "%s:\n%s\nwant\n%s", form, got, want)
	}
	require.Got(table.Format("text"))(t, table.Text(), "text")
	require.Error(t, require.Err(table.Format("html")), "known are text", "html")
}

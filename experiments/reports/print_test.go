package reports_test

import (
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"kprobesim/experiments/reports"
	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/compare"
)

// TestFiguresInAColumn draws figures of every sort at the width of a paper's column: all text has 7 to 9 points.
func TestFiguresInAColumn(t *testing.T) {
	for experiment, figures := range map[string][]string{
		"overhead-xeon-e5410-x86_64": {"overhead", "phases"},
		"bystander-cost":             {"bystander"},
		"scaling":                    {"scaling"},
		"optimize-latency":           {"latency-parts"},
		"missed":                     {"missed"},
		"unregister-batch":           {"unregister"},
	} {
		set := require.Must(compare.LoadBaseline(filepath.Join("..", "..", "results", "baselines", experiment+".csv")))(t)
		files := map[string][]byte{}
		err := reports.Draw(files, results.Means(set), figures, reports.Look{Width: 83.82})
		require.Need(t, err == nil, "%s: %v", experiment, err)
		for _, name := range figures {
			texts := regexp.MustCompile(`\\fontsize\{([0-9.]+)pt\}`).FindAllSubmatch(files[name+".tex"], -1)
			for _, m := range texts {
				if size, err := strconv.ParseFloat(string(m[1]), 64); err != nil || size < 7 || size > 9 {
					t.Errorf("%s of %s has text of %s points, %v", name, experiment, m[1], err)
				}
			}
			n := len(files[name+".pdf"])
			require.That(t, len(texts) >= 5 && n != 0, "%s of %s: %d texts, a PDF of %d bytes", name, experiment, len(texts), n)
		}
	}
}

package main

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"kprobesim/experiments/planning"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// benchmarkRows are the two rows with an optimized probe: one number fitted on the o of the one is tested on
// the o of the other.
var benchmarkRows = []row{
	{"xeon-e5410", experiment},
	{"xeon-e5410-i386", narrow},
}

// benchmarkTable shows the hypothesis that the published loop spent the same cycles at every hit itself, which
// the experiments here leave out: its errors with the number that o of either row asks for.
// Deliveries are fitted anew on figures less that number.
func benchmarkTable(t *testing.T) string {
	t.Helper()
	out := "| its own part, cycles | fitted on `o` of | errors of | k | b | o | r | rb | ro | mean, less fitted |\n|" + strings.Repeat("---|", 10) + "\n"
	for _, from := range benchmarkRows {
		own, more := missing(t, from), ""
		for _, r := range benchmarkRows {
			var sets []string
			if r.experiment == narrow && more != "" {
				sets = append(sets, more)
			}
			sets, values := refittedWithout(t, r.machine, sets, own)
			if len(values) == 2 {
				more = fmt.Sprintf("machine.%s=%d", moreKey, values[1]-values[0])
			}
			out += fmt.Sprintf("| %.0f | %s | %s |%s\n", own, from.machine, r.machine, ownCells(t, r, from, runSet(t, r.experiment, sets), own))
		}
	}
	return out
}

// missing returns the cycles that o of a row is too cheap by.
func missing(t *testing.T, r row) float64 {
	t.Helper()
	got, want := quantity(runSet(t, r.experiment, nil), "o", "")
	return want - got
}

// ownCells are the errors of a row with the loop's own part added to each simulated figure. Figures that
// something was fitted on stand in brackets and are left out of the mean.
func ownCells(t *testing.T, r, from row, s *results.Set, own float64) string {
	t.Helper()
	m := require.Must(planning.NewLoader().Machine(r.machine, "", nil))(t)
	us := own * 1e6 / float64(m.CPU.Hz)
	cells, sum, n := map[string]string{}, 0.0, 0.0
	for _, f := range figuresOf(t, r.experiment) {
		e := f.errorOf(s) + 100*us/f.us
		cells[f.probe] = " " + percent(e)
		if f.fitted || f.probe == "o" && r == from {
			cells[f.probe] = " (" + percent(e) + ")"
			continue
		}
		sum, n = sum+math.Abs(e), n+1
	}
	out := ""
	for _, probe := range []string{"k", "b", "o", "r", "rb", "ro"} {
		out += cells[probe] + " |"
	}
	return out + fmt.Sprintf(" %.1f |", sum/n)
}

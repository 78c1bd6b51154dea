package main

import (
	"fmt"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/paper"
)

// TestRowsOfToday holds the table of docs/fidelity.md against the published rows and the experiments.
func TestRowsOfToday(t *testing.T) { holdBlock(t, fidelity, "today", todayTable(t)) }

// todayTable prints the rows with what the simulator says, or why it says nothing. "the same" stands for the field of
// the row above.
func todayTable(t *testing.T) string {
	t.Helper()
	out := "| probe | published, ns | simulated, ns | processor and kernel | the figure includes | simulated: what differs, or why it is not | source |\n|" +
		"---|---|---|---|---|---|---|\n"
	for _, r := range require.Must(paper.Today())(t) {
		simulated, say := "", r.Why
		if r.Why == "" {
			simulated, say = fmt.Sprintf("%.0f", predictedNS(t, r)), r.Differs
		}
		out += fmt.Sprintf("| %s | %g | %s | %s | %s | %s | %s |\n", r.Probe, r.NS, simulated, r.Setup, r.Includes, say, r.Source)
	}
	return out
}

// predictedNS is the simulated figure at the clock of the published machine.
func predictedNS(t *testing.T, r paper.Row) float64 {
	t.Helper()
	cycles, _ := quantity(runSet(t, r.Predicted[0], nil), r.Predicted[1], "")
	return cycles / r.Clock
}

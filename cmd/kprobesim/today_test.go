package main

import (
	"fmt"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/paper"
)

// TestRowsOfToday holds the table of docs/fidelity.md against the published rows and the experiments.
func TestRowsOfToday(t *testing.T) { holdBlock(t, fidelity, "today", todayTable(t)) }

// todayTable prints the rows that are simulated, and then the others by what keeps them from it.
func todayTable(t *testing.T) string {
	t.Helper()
	out := "| probe | published, ns | simulated, ns | processor and kernel | the figure includes | what differs | source |\n|---|---|---|---|---|---|---|\n"
	var reasons []string
	others := map[string][]string{}
	for _, r := range require.Must(paper.Today())(t) {
		if r.Why == "" {
			out += fmt.Sprintf("| %s | %g | %.0f | %s | %s | %s | %s |\n", r.Probe, r.NS, predictedNS(t, r), r.Setup, r.Includes, r.Differs, r.Source)
			continue
		}
		why, _, _ := strings.Cut(r.Why, ",")
		if others[why] == nil {
			reasons = append(reasons, why)
		}
		others[why] = append(others[why], fmt.Sprintf("%g (%s)", r.NS, r.Probe))
	}
	out += "\n| not simulated, because | published, ns |\n|---|---|\n"
	for _, why := range reasons {
		out += fmt.Sprintf("| %s | %s |\n", why, strings.Join(others[why], "; "))
	}
	return out
}

// predictedNS is the simulated figure at the clock of the published machine.
func predictedNS(t *testing.T, r paper.Row) float64 {
	t.Helper()
	cycles, _ := quantity(runSet(t, r.Predicted[0], nil), r.Predicted[1], "")
	return cycles / r.Clock
}

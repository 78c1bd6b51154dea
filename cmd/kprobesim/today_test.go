package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"kprobesim/internal/require"
)

// todayRow is a published figure of docs/today.toml.
type todayRow struct {
	Probe, Setup, Includes, Source string
	NS                             float64
	Predicted                      []string // experiment and probe
	Clock                          float64  // GHz of the published machine
	Differs, Why                   string
}

// TestRowsOfToday holds the table of docs/fidelity.md against the published rows and the experiments.
func TestRowsOfToday(t *testing.T) { holdBlock(t, fidelity, "today", todayTable(t)) }

// todayTable prints the rows with what the simulator says, or why it says nothing. "the same" stands for the field of
// the row above.
func todayTable(t *testing.T) string {
	t.Helper()
	var file struct{ Rows []todayRow }
	require.NoError(t, toml.Unmarshal(require.Must(os.ReadFile("../../docs/today.toml"))(t), &file))
	out := "| probe | published, ns | simulated, ns | processor and kernel | the figure includes | simulated: what differs, or why it is not | source |\n|" +
		"---|---|---|---|---|---|---|\n"
	for _, r := range file.Rows {
		if (len(r.Predicted) == 2 && r.Clock > 0) == (r.Why != "") || r.NS <= 0 {
			t.Errorf("%s, %s: say what predicts it, or why nothing does", r.Probe, r.Setup)
			continue
		}
		simulated, say := "", r.Why
		if r.Why == "" {
			simulated, say = fmt.Sprintf("%.0f", predictedNS(t, r)), r.Differs
		}
		out += fmt.Sprintf("| %s | %g | %s | %s | %s | %s | %s |\n", r.Probe, r.NS, simulated, r.Setup, r.Includes, say, r.Source)
	}
	return out
}

// predictedNS is the simulated figure at the clock of the published machine.
func predictedNS(t *testing.T, r todayRow) float64 {
	t.Helper()
	cycles, _ := quantity(runSet(t, r.Predicted[0], nil), r.Predicted[1], "")
	return cycles / r.Clock
}

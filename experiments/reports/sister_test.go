package reports_test

import (
	"math"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/internal/require"
)

// TestSisterErrors computes one guess of the null model by hand: jr of the Pentium M is the Opteron's 1.07 us,
// scaled by 0.57 over 0.49, against 1.40.
func TestSisterErrors(t *testing.T) {
	for _, sets := range [][]string{nil, {"replicates=3"}} {
		p := require.Must(planning.NewLoader().Plan("overhead-published", sets))(t)
		checkSisters(t, reports.SisterErrors(p))
	}
	alone := require.Must(planning.NewLoader().Plan("overhead-pentium-m", nil))(t)
	require.Equal(t, len(reports.SisterErrors(alone)), 0, "guesses of a machine without a sister")
}

func checkSisters(t *testing.T, errs []reports.SisterError) {
	t.Helper()
	require.That(t, len(errs) == 21, "%d guesses for 21 predictions", len(errs))
	for _, e := range errs {
		var want float64
		name := e.Point.Experiment + ":" + e.Point.Label
		switch name {
		case "overhead-pentium-m:jr":
			want = 100 * (1.07*0.57/0.49/1.40 - 1)
		case exptest.E5410 + ":r": // in the mode of k
			want = 100 * (1.10*0.99/0.80/1.24 - 1)
		case exptest.E5410 + ":ro": // no fitted figure is of its mode: b is the first
			want = 100 * (0.33*0.43/0.33/0.30 - 1)
		default:
			continue
		}
		require.That(t, !(math.Abs(e.Percent-want) > 1e-9), "%s: %g %%, want %g %%", name, e.Percent, want)
	}
}

package experiments_test

import (
	"math"
	"slices"
	"testing"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// What can be asked of predictions of figures that themselves vary by 15 % and more.
const mostError = 0.15

// What is not known of the E5410's kernel and benchmark, see "Known misses" in docs/fidelity.md.
const (
	detourCode = "the code of an optimized hit takes 50 to 60 cycles more than the model's: the loop's own part, or kernel options"
	returnPath = "the code of a return probe takes 100 to 250 cycles more than the model's: kernel options"
)

// knownMiss is how far a prediction is off, as a share of the published figure, and why.
type knownMiss struct {
	off float64
	why string
}

// publishedRows are the experiments that are held against published figures, with what may be fitted on
// them. A prediction that misses by more than mostError stands in misses, with its present error and what may
// be the reason, so that it cannot grow unseen. The mean of a row's other predictions may not exceed mean.
var publishedRows = []struct {
	name   string
	fitted []string
	misses map[string]knownMiss
	mean   float64
}{
	{"overhead-pentium-m", []string{"k"}, nil, 0.03},
	{"overhead-opteron-246", []string{"k"}, nil, 0.05},
	{"overhead-power5", []string{"k"}, nil, 0.09},
	{"overhead-xeon-e5410-i386", []string{"b"}, map[string]knownMiss{"o": {0.41, detourCode}, "rb": {0.17, returnPath}, "ro": {0.36, detourCode + "; " + returnPath}}, 0.08},
	{"overhead-xeon-e5410-x86_64", []string{"k", "b"}, map[string]knownMiss{"o": {0.42, detourCode}, "ro": {0.24, detourCode + "; " + returnPath}}, 0.08},
}

// Every published figure that is not fitted is predicted within 15 % but for the known misses, and
// the mean of a row within a few percent in the mean.
func TestPredictionsMeetThePublishedFigures(t *testing.T) {
	for _, row := range publishedRows {
		sum, n := 0.0, 0
		p := require.Must(planning.NewLoader().Plan(row.name, nil))(t)
		var fitted []string
		for _, o := range (&running.Runner{Measure: kinds.Measure}).Run(p) {
			pub := o.Point.Probe.Published
			if o.Err != nil || pub == nil {
				t.Errorf("%s, %s: published %v, %v", row.name, o.Point.Name, pub, o.Err)
				continue
			}
			e := math.Abs(microsPerHit(o)/pub.Micros.Float() - 1)
			if o.Point.Probe.Role == results.Fitted {
				if fitted = append(fitted, o.Point.Name); e > fitError {
					t.Errorf("%s, %s: fitted, but %.3f us, published %s: calibrate", row.name, o.Point.Name, microsPerHit(o), pub.Micros)
				}
				continue
			}
			miss, known := row.misses[o.Point.Name]
			if !known {
				sum, n = sum+e, n+1
			} else if math.Abs(e-miss.off) > fitError {
				t.Errorf("%s, %s: off by %.0f %%, known is %.0f %% (%s)", row.name, o.Point.Name, 100*e, 100*miss.off, miss.why)
			}
			if known != (e > mostError) {
				t.Errorf("%s, %s: %.3f us, published %s, known as a miss: %v", row.name, o.Point.Name, microsPerHit(o), pub.Micros, known)
			}
		}
		require.That(t, slices.Equal(fitted, row.fitted), "%s: fitted on %v, want %v", row.name, fitted, row.fitted)
		mean := sum / float64(n)
		require.That(t, n != 0 && !(mean > row.mean), "%s: %d predictions are off by %.1f %% in the mean, want at most %.0f %%", row.name, n, 100*mean, 100*row.mean)
	}
}

// fitError bounds the error of a fitted figure, before it must be fitted again: a change to the guest's code
// moves a branch or two.
const fitError = 0.03

// oneDigit has the experiment whose published figures are rounded to a digit and name no core: they are no row of the
// collection.
const oneDigit = "overhead-tc2-a7"

// TestOneDigit holds the optimized probe against the numbers that round to the published figure. The other probe is a known miss: a
// distribution's kernel executes 342 instructions in that hit, and the guest 192 (docs/fidelity.md).
func TestOneDigit(t *testing.T) {
	const known = 0.57
	p := require.Must(planning.NewLoader().Plan(oneDigit, nil))(t)
	for _, o := range (&running.Runner{Measure: kinds.Measure}).Run(p) {
		require.NoError(t, o.Err)
		pub, us := o.Point.Probe.Published.Micros, microsPerHit(o)
		if o.Point.Name == "k" {
			off := 1 - us/pub.Float()
			require.That(t, math.Abs(off-known) <= fitError, "k: %.3f us is off by %.0f %%, known is %.0f %%", us, 100*off, 100*known)
			continue
		}
		low, high := pub.Bounds()
		require.That(t, !(us < low.Float()*(1-mostError)) && !(us > high.Float()*(1+mostError)), "%s: %.3f us is off by more than %.0f %% from all that rounds to %s", o.Point.Name, us, 100*mostError, pub)
	}
}

// Every experiment with a published figure is a row that is held, and part of the collection.
func TestEveryPublishedRowIsHeld(t *testing.T) {
	var rows []string
	for _, row := range publishedRows {
		rows = append(rows, row.name)
	}
	require.That(t, slices.ContainsFunc(everyPlan(t), func(p *schema.Plan) bool { return p.Name == "overhead-published" && slices.Equal(p.Collected, rows) }), "overhead-published does not collect what is held: %v", rows)
	for _, p := range everyPlan(t) {
		published := slices.ContainsFunc(p.Points, func(pt schema.Point) bool { return pt.Probe.Published != nil })
		require.That(t, len(p.Collected) != 0 || published == slices.Contains(append(rows, oneDigit), p.Name), "%s: published figures %v, held %v", p.Name, published, !published)
	}
}

// microsPerHit returns what one hit costs in microseconds.
func microsPerHit(o running.Outcome) float64 {
	over := o.Measurement.Over()
	cycles := float64(over.Time) / float64(clock.PerCycle) / float64(o.Measurement.Hits)
	return cycles * 1e6 / float64(o.Point.Machine.CPU.Hz)
}

package reports_test

import (
	"slices"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/internal/require"
)

// TestMovedExperimentSaysItsKernel wants the kernels that the setting isa chose, and the points that are others
// than their names say, below the table. Nothing is measured.
func TestMovedExperimentSaysItsKernel(t *testing.T) {
	exptest.Alone(t)
	for _, c := range []struct {
		name string
		want []string
	}{
		{"overhead-pentium-m", []string{"kernel ppc64-2005"}},
		{"hit-latency", []string{"kernel ppc64-2017", "emulated, where the experiment says boosted: b, rb"}},
		{"eras", []string{
			"kernel ppc64-2011: eras-i386-2006, eras-i386-2006-trapping",
			"emulated, where the experiment says boosted: eras-i386-2006:b, eras-i386-2006:rb, eras-i386-2006-trapping:rb-trap, " +
				"eras-i386-2010:b, eras-i386-2010:rb, eras-x86_64-2010:b, eras-x86_64-2010:rb",
		}},
	} {
		p := require.Must(planning.NewLoader().Plan(c.name, []string{"isa=ppc64", "machine=power5-1656"}))(t)
		notes := reports.Collect(p).Report((&running.Runner{Measure: exptest.ToyMeasure}).Run(p)).Table().Notes
		for _, w := range c.want {
			require.That(t, slices.Contains(notes, w), "%s: notes %q, want %q", c.name, notes, w)
		}
	}
}

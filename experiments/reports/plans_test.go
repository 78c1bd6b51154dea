package reports

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/figures"
)

// TestNotesOfPlans holds what tables say of plans that settings have moved away from what was published: to other machines, kernels and
// instruction sets, and by sweeps.
func TestNotesOfPlans(t *testing.T) {
	var out strings.Builder
	for _, c := range [][]string{
		{"overhead-pentium-m", "isa=ppc64", "machine=power5-1656"},
		{"handlers-xeon-e5410-x86_64", "isa=arm", "machine=tc2-cortex-a15"},
		{"isas-x86_64-2010", "isa=i386", "machine=pentium-m-1495"},
		{"overhead-xeon-e5410-x86_64"},
		{"overhead-xeon-e5410-x86_64", "machine.event.mispredict.cycles=20"},
		{"overhead-xeon-e5410-x86_64", "machine=opteron-246", "kernel.hz=100"},
		{"overhead-xeon-e5410-i386", "workload.target=work_checksum"},
		{"overhead-published", "workload.hits=10", "kernel.memory=32 MiB"},
		{"eras", "kernel.cpus=2"},
		{"overhead-xeon-e5410-x86_64", "sweep={kernel.hz=[101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122]}"},
		{"overhead-xeon-e5410-x86_64", "replicates=3"},
		{"overhead-today-zen4"},
		{"isas-arm-2014-a7", "points.e.handler=handler_count"},
	} {
		fmt.Fprintf(&out, "## %s\n", strings.Join(c, " "))
		plan, err := planning.NewLoader().Plan(c[0], c[1:])
		if err != nil {
			fmt.Fprintln(&out, err)
			continue
		}
		set := &results.Set{Overrides: plan.Overrides}
		for i := range plan.Points {
			pt := &plan.Points[i]
			require.NoError(t, set.Add(results.Record{Point: pt.At(), Metric: results.MetricMicros, Unit: "us", Value: value(t, "1"), Role: pt.Probe.Role}))
		}
		r := &Report{Plan: plan, Set: set, Means: results.Means(set)}
		for _, table := range r.Tables() {
			fmt.Fprintf(&out, "%s\n%s\n", table.Title, strings.Join(table.Notes, "\n"))
		}
	}
	exptest.Golden(t, "plans.txt", out.String())
}

// TestFiguresOfNothing draws no figure of a set without points, and none of a name that is none.
func TestFiguresOfNothing(t *testing.T) {
	require.Error(t, require.Err(figure("nothing", &results.Set{})), "unknown; known are ", "a name")
	for _, draw := range []func(*results.Set) (figures.Figure, error){drawAttach, drawWorkload, drawTornado} {
		_, err := draw(&results.Set{})
		require.That(t, errors.Is(err, figures.ErrNotSwept), "a figure of nothing: %v", err)
	}
	files := map[string][]byte{}
	require.NoError(t, Draw(files, &results.Set{}, []string{figurePhases}, Look{}))
	require.Equal(t, len(files), 0, "files of nothing")
}

// TestStackable leaves phases out that are more than a cycle below zero at any point, and says by how much at most.
func TestStackable(t *testing.T) {
	var all []results.Record
	for metric, numbers := range map[string][2]string{"a": {"-1", "5"}, "b": {"-1.01", "-2.26"}, "c": {"-3", "7"}, "d": {"0", "-0.5"}} {
		for i, n := range numbers {
			all = append(all, record(t, fmt.Sprint("p", i), results.PhaseMetric(metric), n, results.Simulated))
		}
	}
	phases, caption := stackable(judged(t, "", all...).Set)
	said := strings.Join(caption, "; ")
	require.That(t, len(phases) == 2 && strings.Contains(said, "not drawn: b, which overlaps the probe's work (down to -2.3 cycles)") && strings.Contains(said, "not drawn: c, which overlaps the probe's work (down to -3.0 cycles)"), "%q; %s", phases, said)
}

package reports

import (
	"fmt"
	"strings"
	"testing"

	"kprobesim/experiments/kinds"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// setOf makes a set of "EXPERIMENT PROBE METRIC" texts, each with the value 1.
func setOf(t *testing.T, all ...string) *results.Set {
	t.Helper()
	s, one := &results.Set{}, require.Must(results.ParseValue("1"))(t)
	for _, text := range all {
		f := strings.Fields(text)
		p := results.Point{Experiment: f[0], Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: f[1]}
		require.NoError(t, s.Add(results.Record{Point: p, Metric: f[2], Unit: "us", Value: one, Role: results.Simulated}))
	}
	return s
}

// TestShown has a figure of one kind show the experiments of that kind, and of a set without any all.
func TestShown(t *testing.T) {
	mixed := setOf(t, "a k m", "a r n", "b k n", "c k m")
	for _, x := range []struct {
		s    *results.Set
		of   string
		want string
	}{
		{mixed, "m", "[a.k a.r c.k]"},
		{mixed, "", "[a.k a.r b.k c.k]"},
		{mixed, "none", "[a.k a.r b.k c.k]"},
		{setOf(t, "a k m", "a r n"), "n", "[a.k a.r]"},
		{setOf(t), "m", "[]"},
	} {
		f, shown := namedFigure{of: x.of}, []string{}
		for _, p := range f.shown(x.s).Points() {
			shown = append(shown, p.Experiment+"."+p.Probe)
		}
		require.Equal(t, fmt.Sprint(shown), x.want, "what a figure of %q shows", x.of)
	}
}

// TestAttachTimeOfTheLastPoint names the load of the last point, whose line is the only one.
func TestAttachTimeOfTheLastPoint(t *testing.T) {
	metric := kinds.MetricStep(kinds.StepRegister)
	s := setOf(t, "a k/workload.batch=1/workload.load=idle "+metric, "a k/workload.batch=4/workload.load=idle "+metric, "a o/workload.batch=4/workload.load=busy "+metric)
	f := require.Must(drawAttachTime(s))(t)
	text := fmt.Sprintf("%+v", f)
	require.That(t, strings.Contains(text, "CPUs busy in the kernel") && !strings.Contains(text, "CPUs idle"), "the figure is %s", text)
}

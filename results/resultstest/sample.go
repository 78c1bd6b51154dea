package resultstest

import (
	"math"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
)

// SamplePhases are the phases of the sample, and one that it does not have.
func SamplePhases() []string {
	return []string{"entry", "dispatch", "handler", "step", "return", "kretprobe", "detour", "gap"}
}

// sample is the six published figures of one machine with predictions made up for the tests.
func Sample(t testing.TB) *results.Set {
	t.Helper()
	rows := []struct {
		probe, published, cycles, instructions, first string
		role                                          results.Role
		phases                                        []int64
	}{
		{"k", "0.99", "2306.7", "412", "6120", results.Fitted, []int64{760, 410, 9, 540, 587, 0, 0, 0}},
		{"b", "0.43", "1001.9", "233", "4830", results.Fitted, []int64{380, 305, 9, 0, 307, 0, 0, 0}},
		{"o", "0.06", "151.2", "98", "1402", results.Predicted, []int64{0, 40, 9, 0, 0, 0, 102, 0}},
		{"r", "1.24", "2811.333333", "560", "7702", results.Predicted, []int64{760, 430, 9, 540, 590, 482, 0, 0}},
		{"rb", "0.68", "1502.25", "371", "6255", results.Predicted, []int64{380, 320, 9, 0, 310, 483, 0, 0}},
		{"ro", "0.30", "702.125", "240", "3011", results.Predicted, []int64{0, 50, 9, 0, 0, 480, 163, 0}},
	}
	set := &results.Set{}
	for _, row := range rows {
		p := results.Point{Experiment: "overhead", Machine: "xeon-e5410", ISA: "x86_64", Era: "2010", CPUs: 1, Seed: 1, Probe: row.probe}
		cycles := Value(t, row.cycles)
		micros, err := results.Ratio(int64(math.Round(cycles.Float()*1e6)), 2_330*1_000_000)
		require.NoError(t, err)
		published := Value(t, row.published)
		errPct, err := results.ErrorPercent(micros, published)
		require.NoError(t, err)
		require.NoError(t, set.Add(
			results.Record{Point: p, Metric: results.MetricCycles, Unit: "cycles", Value: cycles, Role: row.role},
			results.Record{Point: p, Metric: results.MetricMicros, Unit: "us", Value: micros, Role: row.role},
			results.Record{Point: p, Metric: results.MetricInstructions, Unit: "instructions", Value: Value(t, row.instructions), Role: results.Predicted},
			results.Record{Point: p, Metric: results.MetricFirst, Unit: "cycles", Value: Value(t, row.first), Role: results.Predicted},
			results.Record{Point: p, Metric: results.MetricPublished, Unit: "us", Value: published, Role: results.Measured, Source: "Documentation/kprobes.txt, 2010"},
			results.Record{Point: p, Metric: results.MetricError, Unit: "%", Value: errPct, Role: row.role},
		))
		for i, phase := range SamplePhases() {
			v, err := results.Ratio(row.phases[i], 1)
			require.NoError(t, err)
			require.NoError(t, set.Add(results.Record{Point: p, Metric: results.PhaseMetric(phase), Unit: "cycles", Value: v, Role: row.role}))
		}
	}
	return set
}

// severalExperiments is the sample three times: as it is, with fewer probes, and unpublished.
func SeveralExperiments(t testing.TB) *results.Set {
	set := &results.Set{}
	for i, name := range []string{"all", "some", "unpublished"} {
		for r := range Sample(t).All() {
			if i == 1 && len(r.Probe) > 1 || i == 2 && r.Metric == results.MetricPublished {
				continue
			}
			r.Experiment, r.Machine = name, "machine "+name
			require.NoError(t, set.Add(r))
		}
	}
	return set
}

// Value parses a value.
func Value(t testing.TB, s string) results.Value {
	t.Helper()
	v, err := results.ParseValue(s)
	require.NoError(t, err)
	return v
}

// replicated is a set of one probe and three replicates.
func Replicated(t testing.TB) *results.Set {
	t.Helper()
	set := &results.Set{}
	for i, cycles := range []string{"100", "101.5", "104.5"} {
		p := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: "k", Replicate: i}
		require.NoError(t, set.Add(
			results.Record{Point: p, Metric: results.MetricCycles, Unit: "cycles", Value: Value(t, cycles), Role: results.Fitted},
			results.Record{Point: p, Metric: results.MetricPublished, Unit: "us", Value: Value(t, "0.30"), Role: results.Measured, Source: "paper"},
		))
	}
	return set
}

// counted is a set of points that hit a probe in different ways: once a call, 13 times a call, with missed returns, and
// never.
func Counted(t *testing.T) *results.Set {
	t.Helper()
	set := &results.Set{}
	add := func(probe string, metrics ...string) {
		p := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: probe}
		for i := 0; i < len(metrics); i += 2 {
			require.NoError(t, set.Add(results.Record{Point: p, Metric: metrics[i], Unit: "u", Value: Value(t, metrics[i+1]), Role: results.Simulated}))
		}
	}
	add("k", results.MetricCycles, "100", results.MetricHits, "10")
	add("deep", results.MetricCycles, "101", results.MetricHits, "130", results.MetricCalls, "10", results.MetricHitsMissed, "0", results.MetricReturns, "0")
	add("rb", results.MetricCycles, "60", results.PhaseMetric("step"), "20", results.MetricHits, "130", results.MetricCalls, "10", results.MetricHitsMissed, "0", results.MetricReturns, "120")
	add("nest", results.MetricCycles, "70", results.MetricHits, "20", results.MetricCalls, "10", results.MetricHitsMissed, "10", results.MetricReturns, "0")
	add("off", results.MetricHits, "0", results.MetricCalls, "10", results.MetricHitsMissed, "0", results.MetricReturns, "0")
	return set
}

// sweepSet has a metric n that is the number of CPUs for busy points and zero for idle ones.
func SweepSet(t *testing.T) *results.Set {
	t.Helper()
	s := &results.Set{}
	for _, name := range []string{"k/cpus=1/load=idle", "k/cpus=1/load=busy", "k/cpus=2/load=idle", "k/cpus=2/load=busy"} {
		p := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Seed: 1, Probe: name}
		var v results.Value
		if strings.HasSuffix(name, "busy") {
			v, _ = results.ParseValue(p.Swept("cpus"))
		}
		require.NoError(t, s.Add(results.Record{Point: p, Metric: "n", Unit: "us", Value: v, Role: results.Predicted}))
	}
	return s
}

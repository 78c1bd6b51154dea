package formats

import (
	"regexp"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

func TestBenchText(t *testing.T) {
	set := resultstest.Sample(t)
	p := set.Points()[0]
	require.NoError(t, set.Add(results.Record{Point: p, Metric: results.MetricHits, Unit: "hits", Value: resultstest.Value(t, "1000"), Role: results.Predicted}))
	p.CPUs, p.Probe = 2, "k/work=100 loops"
	require.NoError(t, set.Add(results.Record{Point: p, Metric: results.MetricCycles, Unit: "cycles", Value: resultstest.Value(t, "2500"), Role: results.Predicted}))
	p.Machine = "other"
	require.NoError(t, set.Add(results.Record{Point: p, Metric: results.MetricPublished, Unit: "us", Value: resultstest.Value(t, "1"), Role: results.Measured}))
	data := BenchText(set, OverheadBench())
	require.Golden(t, *update, "bench.txt", data)
	grammar := regexp.MustCompile(`^(|[a-z]+: \S.*|Unit \S+( \S+=\S+)+|` +
		`Benchmark[A-Z]\S* [1-9][0-9]*( [0-9.]+ \S+)+)$`)
	for _, text := range strings.Split(string(data), "\n") {
		require.That(t, grammar.MatchString(text), "line %q is not of the benchmark format", text)
	}
}

// TestKindBench has every metric of a kind that is not the overhead of a hit, and says which way each is better.
func TestKindBench(t *testing.T) {
	set := &results.Set{}
	p := results.Point{Experiment: "scaling", Machine: "m", ISA: "i", Era: "2010", CPUs: 4, Probe: "k"}
	require.NoError(t, set.Add(
		results.Record{Point: p, Metric: "hits_per_second", Unit: "million hits", Value: resultstest.Value(t, "1.5"), Role: results.Simulated},
		results.Record{Point: p, Metric: "us_delay", Unit: "us", Value: resultstest.Value(t, "5"), Role: results.Simulated},
		results.Record{Point: p, Metric: "calls_missed", Unit: "calls", Value: resultstest.Value(t, "7"), Role: results.Simulated},
		results.Record{Point: p, Metric: results.MetricPublished, Unit: "us", Value: resultstest.Value(t, "7"), Role: results.Measured},
	))
	data := BenchText(set, KindBench("optimize-latency", set))
	for _, want := range []string{
		"Unit hits_per_second better=higher assume=exact\n", "Unit us_delay better=lower assume=exact\n",
		"Unit calls_missed assume=exact\n", "\nBenchmarkOptimizeLatency/probe=k 1 1.5 hits_per_second 5 us_delay 7 calls_missed\n",
	} {
		require.That(t, strings.Contains(string(data), want), "no %q in\n%s", want, data)
	}
	require.That(t, !strings.Contains(string(data), "published"), "a published value is among the benchmarks:\n%s", data)
}

// Replicates are lines of one name in the benchmark format, and their units are not exact.
func TestBenchReplicates(t *testing.T) {
	data := BenchText(resultstest.Replicated(t), OverheadBench())
	if strings.Contains(string(data), "assume=exact") || strings.Count(string(data), "BenchmarkOverhead/probe=k 1 ") != 3 ||
		strings.Count(string(data), "experiment:") != 1 {
		t.Errorf("benchmark format:\n%s", data)
	}
}

// TestMissedBench: figures of hits of which some were missed have units of their own.
func TestMissedBench(t *testing.T) {
	set := resultstest.Counted(t)
	data := BenchText(set, OverheadBench())
	for _, want := range []string{
		"Unit cycles/hit better=lower assume=exact\nUnit cycles/hit-some-missed better=lower assume=exact\n", "Unit missed-returns assume=exact\n",
		"probe=k 10 100 cycles/hit\n", "probe=deep 130 101 cycles/hit 10 calls 0 missed-hits 0 missed-returns\n",
		"probe=rb 130 60 cycles/hit-some-missed 10 calls 0 missed-hits 120 missed-returns\n",
		"probe=off 1 10 calls 0 missed-hits 0 missed-returns\n",
	} {
		require.That(t, strings.Contains(string(data), want), "no %q in\n%s", want, data)
	}
}

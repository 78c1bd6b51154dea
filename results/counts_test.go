package results

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// TestMissed holds which figures carry the mark of missed hits, and what notes say of them.
func TestMissed(t *testing.T) {
	s := &Set{}
	for _, x := range []struct{ probe, missed, returns string }{
		{"none", "0", "0"}, {"hits", "3", "0"}, {"like hits", "3", "0"}, {"returns", "0", "2"}, {"both", "1", "4"},
	} {
		require.NoError(t, s.Add(record(x.probe, MetricHits, "9"), record(x.probe, MetricHitsMissed, x.missed), record(x.probe, MetricReturns, x.returns)))
	}
	require.NoError(t, s.Add(record("one figure", MetricHits, "9"), record("one figure", MissedMetric(MetricFirst), "1")))
	for _, x := range []struct{ probe, metrics string }{
		{"none", ""}, {"like hits", MetricCycles + MetricFirst + MetricError + MetricUnexplained + PhaseMetric("trap")}, {"one figure", MetricFirst},
	} {
		for _, metric := range []string{MetricCycles, MetricFirst, MetricError, MetricUnexplained, PhaseMetric("trap"), MetricHits, MetricHitsMissed, MetricReturns, MetricUnprobed, MetricCalls} {
			marked := s.Mark(record(x.probe, metric, "1").Point, metric) == MissedMark
			require.Equal(t, marked, strings.Contains(x.metrics, metric), "%s of probe %s has a mark", metric, x.probe)
		}
	}
	const means = ": the handlers did not run for those, which take less than a hit does\n"
	require.Equal(t, strings.Join(MissedNotes(s), "\n")+"\n", "* hits, like hits: 3 of 9 hits were missed"+means+
		"* returns: the returns of 2 of 9 hits were missed"+means+"* both: 1 of 9 hits and 4 returns were missed"+means, "notes are")
	for i := range 9 {
		p := strconv.Itoa(i)
		require.NoError(t, s.Add(record(p, MetricHits, "99"), record(p, MetricHitsMissed, strconv.Itoa(i+10))))
	}
	notes := MissedNotes(s)
	require.That(t, len(notes) == 9 && notes[8] == "* 4 more such lines: see the columns of what was missed", "notes are %q", notes)
}

// TestMostWords fills a set with metrics until it refuses another. Those that it has remain what they are.
func TestMostWords(t *testing.T) {
	s, r := &Set{}, record("k", "", "1")
	var err error
	n := 0
	for ; err == nil; n++ {
		r.Metric = fmt.Sprint("m", n)
		r.Probe = r.Metric
		err = s.Add(r)
	}
	require.Error(t, err, "is one of more than 65536 metrics and sources", "the last")
	require.That(t, len(s.words) == mostWords-3 && s.Len() == n-1, "%d words of %d records", len(s.words), s.Len())
	got := s.record(int32(n - 2)).Metric
	require.That(t, got == fmt.Sprint("m", n-2), "the last metric is %s of %d", got, n-1)
}

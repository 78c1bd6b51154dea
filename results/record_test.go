package results

import (
	"slices"
	"testing"

	"kprobesim/internal/require"
)

func TestSetRefuses(t *testing.T) {
	good := record("k", MetricCycles, "5")
	for _, c := range []struct {
		name  string
		spoil func(*Record)
		want  string
	}{
		{"empty metric", func(r *Record) { r.Metric = "" }, `metric "" is empty`},
		{"comma", func(r *Record) { r.Machine = "a,b" }, `machine "a,b" holds a comma`},
		{"line break", func(r *Record) { r.Probe = "a\nb" }, "unprintable"},
		{"space at the end", func(r *Record) { r.Unit = "us " }, "space"},
		{"bad text", func(r *Record) { r.Era = "\xff" }, "not UTF-8"},
		{"no CPU", func(r *Record) { r.CPUs = 0 }, "cpus 0 is not positive"},
		{"role", func(r *Record) { r.Role = "guessed" }, `role "guessed" is not one of`},
	} {
		r := good
		c.spoil(&r)
		var s Set
		require.Error(t, s.Add(r), c.want, "%s", c.name)
	}
	var s Set
	require.Error(t, s.Add(good, good), "twice", "the same record twice")
	require.That(t, s.Len() == 1, "set holds %d records after a refused one, want 1", s.Len())
}

// record is a record of a probe.
func record(probe, metric, number string) Record {
	p := Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Seed: 1, Probe: probe}
	v, _ := ParseValue(number)
	return Record{Point: p, Metric: metric, Unit: "u", Value: v, Role: Predicted}
}

// number parses a value that is one.
func number(t testing.TB, s string) Value {
	t.Helper()
	v := require.Must(ParseValue(s))(t)
	return v
}

func TestSetOrder(t *testing.T) {
	var s Set
	a, b := record("k", MetricCycles, "1"), record("b", MetricCycles, "2")
	again := record("k", MetricMicros, "3")
	a.Source, b.Source, again.Source = "x", "", "x"
	require.NoError(t, s.Add(a, b, again))
	p := s.Points()
	require.That(t, len(p) == 2 && p[0].Probe == "k" && p[1].Probe == "b", "points %v, want k and b", p)
	got := s.Sources()
	require.That(t, slices.Equal(got, []string{"x"}), "sources %q", got)
}

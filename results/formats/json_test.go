package formats

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

// TestJSON writes the sample and reads it back: records, digits, sources, settings and order stay.
func TestJSON(t *testing.T) {
	set := resultstest.Sample(t)
	set.Overrides = []string{"workload.hits=5", `workload.args=["<a>", 2]`}
	p := set.Points()[0]
	p.Seed, p.Replicate = 1<<63+1, 3
	require.NoError(t, set.Add(results.Record{Point: p, Metric: results.MetricPublished, Unit: "us", Value: resultstest.Value(t, "0.30"), Role: results.Measured, Source: "A & B"}))
	about := About{"overhead", "A title", "overhead"}
	b := require.Must(JSON(set, about))(t)
	require.Golden(t, *update, "results.json", b)
	read, back, err := ReadJSON("results.json", b)
	require.NoError(t, err)
	require.That(t, read == about && slices.Equal(slices.Collect(back.All()), slices.Collect(set.All())) && reflect.DeepEqual(back.Overrides, set.Overrides), "read %+v, %+v", read, back)
}

func TestReadJSONRefuses(t *testing.T) {
	b := require.Must(JSON(resultstest.Sample(t), About{"a", "b", "c"}))(t)
	for name, text := range map[string]string{
		"another format":       strings.Replace(string(b), `"format": 1`, `"format": 2`, 1),
		"an unknown key":       strings.Replace(string(b), `"kind"`, `"sort"`, 1),
		"something behind it":  string(b) + "{}",
		"a cut file":           string(b[:len(b)/2]),
		"a number too fine":    strings.Replace(string(b), `"value": `, `"value": 0.1234567`, 1),
		"a role that is none":  strings.Replace(string(b), `"role": "`, `"role": "x`, 1),
		"a point that is none": strings.Replace(string(b), `"cpus": 1`, `"cpus": 0`, 1),
	} {
		_, _, err := ReadJSON("results.json", []byte(text))
		require.That(t, err != nil && strings.HasPrefix(err.Error(), "results.json: "), "%s: %v", name, err)
	}
}

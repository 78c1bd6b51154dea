package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
)

// TestPairs has two experiments of two replicates and four combinations: with figures of both points, of one or of none. Two
// points are a pair if they have figures of both and differ in nothing but the probe.
func TestPairs(t *testing.T) {
	p := &schema.Plan{}
	all := ""
	for n := range 16 {
		eras, replicate, combination := []string{"2005", "2010"}[n/8], n/4%2, n%4
		for i, name := range []string{"k", "b", "o"} {
			pt := schema.Point{Experiment: "in" + eras, Replicate: replicate, Label: fmt.Sprintf("%s/x=%d", name, combination)}
			pt.Kernel.Era, pt.Probe.Name = eras, name
			if combination>>i&1 == 0 {
				pt.Probe.Published = &schema.Published{}
			}
			p.Points = append(p.Points, pt)
		}
		if combination == 0 {
			all += fmt.Sprintf("%s %d, ", eras, replicate)
		}
	}
	only2010 := all[strings.Index(all, "2010"):]
	for era, want := range map[string]string{"": all, "2010": only2010, "2020": ""} {
		got := ""
		for _, pair := range p.Pairs(schema.Difference{Of: "k", Less: "b", Era: era}) {
			got += fmt.Sprintf("%s %d, ", pair.Of.Kernel.Era, pair.Of.Replicate)
			of, less := *pair.Of, *pair.Less
			require.That(t, of.Probe.Name == "k" && less.Probe.Name == "b" && of.Label[1:] == less.Label[1:] && of.Experiment == less.Experiment && of.Replicate == less.Replicate, "%+v and %+v are a pair", of, less)
		}
		require.Equal(t, got, want, "era %q", era)
	}
}

package compare

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

func rules(t *testing.T, text string) *Rules {
	t.Helper()
	r := require.Must(ReadRules("checks.toml", []byte(text), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))(t)
	return r
}

func TestRules(t *testing.T) {
	for _, x := range []struct {
		name, text string
		k, o       Verdict
		note       string
	}{
		{"none", "", Moved, Moved, ""},
		{"percent", "[[thresholds]]\nmetric = \"cycles_per_hit\"\npercent = 2", allowed, Moved, ""},
		{"too little", "[[thresholds]]\npercent = 1.99", Moved, Moved, ""},
		{"amount", "[[thresholds]]\namount = 10", allowed, allowed, ""},
		{"less than one", "[[thresholds]]\npercent = 0.5\namount = 10", allowed, allowed, ""},
		{"other metric", "[[thresholds]]\nmetric = \"us_*\"\namount = 10", Moved, Moved, ""},
		{"waived", "[[waivers]]\nprobe = \"o\"\nreason = \"known\"\nexpires = \"2026-03-01\"", Moved, waived, ""},
		{"expired", "[[waivers]]\nprobe = \"o\"\nreason = \"known\"\nexpires = \"2026-02-28\"", Moved, Moved, "expired on 2026-02-28: known"},
		{"idle", "[[waivers]]\nprobe = \"x\"\nreason = \"known\"\nexpires = \"2026-12-31\"", Moved, Moved, "nothing to excuse"},
	} {
		c := Compare(sides(t), rules(t, x.text))
		got := map[string]Verdict{}
		for _, p := range c.Places {
			for _, f := range p.Findings {
				got[p.Probe] = f.Verdict
			}
		}
		require.That(t, got["k"] == x.k && got["o"] == x.o, "%s: %v", x.name, got)
		notes := strings.Join(c.Notes, "\n")
		require.That(t, strings.Contains(notes, x.note) && (x.note == "") == (notes == ""), "%s: notes %q", x.name, notes)
	}
	s := sides(t)
	s.Old, s.New = set(t, "k cycles_per_hit 100"), set(t, "k cycles_per_hit 101")
	if c := Compare(s, rules(t, "[[thresholds]]\npercent = 1")); c.Failed() || !strings.Contains(c.Text(), "within 1 % (checks.toml:1:3)") {
		t.Errorf("failed %v\n%s", c.Failed(), c.Text())
	}
}

// Replicates are compared one by one, or by the intervals of their means when the rules say so.
func TestReplicates(t *testing.T) {
	lines := func(values ...int) (out []string) {
		for i, v := range values {
			out = append(out, fmt.Sprintf("k cycles_per_hit %d %d", v, i))
		}
		return out
	}
	near := Sides{Old: set(t, lines(100, 104, 96, 101)...), New: set(t, lines(101, 103, 97, 102)...)}
	far := Sides{Old: near.Old, New: set(t, lines(121, 123, 117, 122)...)}
	means := func() *Rules { return rules(t, "replicates = \"means\"") }
	c := Compare(near, nil)
	require.That(t, c.Failed() && c.Count(Moved) == 4, "one by one: %s", c.Text())
	if c := Compare(near, means()); c.Failed() || c.Count(allowed) != 1 {
		t.Errorf("near means: %s", c.Text())
	}
	if c := Compare(far, means()); !c.Failed() || c.Count(Moved) != 1 {
		t.Errorf("far means: %s", c.Text())
	}
}

func TestRulesRefuse(t *testing.T) {
	for text, says := range map[string]string{
		"thresholds = 3":                                  "checks.toml:1:14",
		"[[thresholds]]":                                  "needs percent, or amount",
		"[[thresholds]]\npercent = -1":                    "-1 is below zero",
		"[[thresholds]]\npercent = \"1\"":                 "want a number",
		"[[thresholds]]\npercent = 1\nmetric=\"[\"":       "is no pattern",
		"[[waivers]]\nexpires = \"2026-01-01\"":           "reason",
		"[[waivers]]\nreason = \"x\"\nexpires = \"soon\"": "checks.toml:3:11: waivers",
		"replicates = \"some\"":                           "exact",
		"tresholds = []":                                  "did you mean \"thresholds\"",
	} {
		require.Error(t, require.Err(ReadRules("checks.toml", []byte(text), time.Time{})), says, "%q", text)
	}
}

func FuzzRules(f *testing.F) {
	f.Add("[[thresholds]]\npercent = 1\n[[waivers]]\nreason=\"x\"\nexpires=\"2026-01-01\"\nprobe=\"[a-\"")
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := ReadRules("f", []byte(text), time.Time{}); err == nil {
			Compare(sides(t), r)
		}
	})
}

// Means cannot be told apart where a number lies in the intervals of both.
func TestOverlap(t *testing.T) {
	mean := func(low, high, of int) results.Record {
		value := func(v int) results.Value { return resultstest.Value(t, fmt.Sprint(v)) }
		return results.Record{Spread: results.Interval{Low: value(low), High: value(high), Of: of}}
	}
	for n := range 4 * 4 * 4 * 4 * 4 {
		a, b, c, d, of := n%4, n/4%4, n/16%4, n/64%4, n/256
		if a > b || c > d {
			continue
		}
		want := of == 3
		shared := false
		for v := range 4 {
			shared = shared || a <= v && v <= b && c <= v && v <= d
		}
		require.Equal(t, overlap(mean(a, b, 1+of%2), mean(c, d, 1+of/2)), (want && shared), "%d to %d and %d to %d of %d and %d", a, b, c, d, 1+of%2, 1+of/2)
	}
}

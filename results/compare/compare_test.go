package compare

import (
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/formats"
)

// set makes records of "PROBE METRIC VALUE [REPLICATE] [fitted]" lines, all in cycles.
func set(t *testing.T, lines ...string) *results.Set {
	t.Helper()
	s := &results.Set{}
	for _, l := range lines {
		f := strings.Fields(l)
		v := require.Must(results.ParseValue(f[2]))(t)
		p := results.Point{Experiment: "e", Machine: "m", ISA: "i386", Era: "2005", CPUs: 1, Probe: f[0]}
		role := results.Simulated
		for _, x := range f[3:] {
			if x == "fitted" {
				role = results.Fitted
			} else {
				p.Replicate = int(x[0] - '0')
			}
		}
		require.NoError(t, s.Add(results.Record{Point: p, Metric: f[1], Unit: "cycles", Value: v, Role: role}))
	}
	return s
}

// sides differ in two figures with what follows from them, in a point that is gone and in one that is new.
func sides(t *testing.T) Sides {
	return Sides{
		Name: "e", OldName: "old.csv", NewName: "new.csv",
		Old: set(t, "k cycles_per_hit 100", "k cycles_phase_entry 60", "k cycles_phase_step 40", "k us_per_hit 1", "k error_pct 5",
			"k instructions_per_hit 50", "o cycles_per_hit 10", "o cycles_phase_detour 10", "r hits 1"),
		New: set(t, "k cycles_per_hit 102", "k cycles_phase_entry 61", "k cycles_phase_step 41", "k us_per_hit 1.02", "k error_pct 7.1",
			"k instructions_per_hit 50", "o cycles_per_hit 20", "o cycles_phase_detour 20", "j hits 1"),
		OldKeys: formats.Keys{"machine m cost.alu": "1", "image i": "x", "gone": "1"},
		NewKeys: formats.Keys{"machine m cost.alu": "2", "image i": "x", "fresh": "1"},
	}
}

func TestCompare(t *testing.T) {
	want := `e: 2 moved, 1 missing, 1 new, against old.csv
  differs: fresh: 1 is new
           gone: was 1, is gone
           machine m cost.alu: 1 -> 2
  r on m, i386 2005
    missing  hits: was 1 cycles
  j on m, i386 2005
    new      hits: 1 cycles
  o on m, i386 2005
    moved    cycles_per_hit: 10 -> 20 cycles (+10, +100.000 %)
             cycles_phase_detour: 10 -> 20 cycles (+10, +100.000 %)
  k on m, i386 2005
    moved    cycles_per_hit: 100 -> 102 cycles (+2, +2.000 %)
             cycles_phase_entry: 60 -> 61 cycles (+1, +1.667 %)
             cycles_phase_step: 40 -> 41 cycles (+1, +2.500 %)
             with it us_per_hit, error_pct
`
	c := Compare(sides(t), nil)
	if got := c.Text(); got != want || !c.Failed() {
		t.Errorf("failed %v\n%s\nwant\n%s", c.Failed(), got, want)
	}
}

func TestNothingMoved(t *testing.T) {
	s := sides(t)
	s.New = s.Old
	c := Compare(s, nil)
	if got := c.Text(); got != "e: 9 records are as in old.csv\n" || c.Failed() {
		t.Errorf("failed %v: %s", c.Failed(), got)
	}
}

func TestCauses(t *testing.T) {
	many := formats.Keys{}
	for i := range 20 {
		many[string(rune('a'+i))] = "1"
	}
	for _, x := range []struct {
		old, now formats.Keys
		want     []string
	}{
		{nil, formats.Keys{}, []string{"unknown: the inputs of one side are not recorded"}},
		{formats.Keys{"a": "1"}, formats.Keys{"a": "1"}, []string{"no input differs, so the program itself does"}},
		{formats.Keys{"a": "1"}, formats.Keys{"a": "2"}, []string{"a: 1 -> 2"}},
		{ // what somebody has set comes first, with what it stands for
			formats.Keys{"image i": "x", "machine m cost.a": "1", "experiment e cost.a": "3", "experiment e b": "4"},
			formats.Keys{"image i": "y", "machine m cost.a": "1", "experiment e cost.a": "3", "experiment e b": "4", "setting machine.cost.a": "2", "setting b": "5", "setting c": "6"},
			[]string{"setting b: 4 -> 5", "setting c: 6 is new", "setting machine.cost.a: 1 -> 2", "image i: x -> y"},
		},
		{ // of two machines with two values none is meant
			formats.Keys{"machine m a": "1", "machine n a": "2"},
			formats.Keys{"machine m a": "1", "machine n a": "2", "setting machine.a": "3"},
			[]string{"setting machine.a: 3 is new"},
		},
	} {
		got := causes(x.old, x.now)
		require.That(t, slices.Equal(got, x.want), "%v, want %v", got, x.want)
	}
	got := causes(formats.Keys{}, many)
	require.That(t, len(got) == mostCauses+1 && got[mostCauses] == "and 8 inputs more", "%v", got)
}

// What follows is folded where what it follows from moved, and stands alone elsewhere.
func TestFolding(t *testing.T) {
	for _, x := range []struct{ old, now, want []string }{
		{[]string{"k us_per_hit 1", "k error_pct 1"}, []string{"k us_per_hit 2", "k error_pct 3"}, []string{"us_per_hit"}},
		{
			[]string{"k error_pct 1", "k cycles_phase_entry 1"},
			[]string{"k error_pct 2", "k cycles_phase_entry 3"},
			[]string{"cycles_phase_entry", "error_pct"},
		},
		{
			[]string{"k cycles_call_p1 1", "k cycles_call_p50 10", "k cycles_call_p99.9 100"},
			[]string{"k cycles_call_p1 1", "k cycles_call_p50 20", "k cycles_call_p99.9 101"},
			[]string{"cycles_call_p50"},
		},
		{[]string{"k a 0", "k b 1000"}, []string{"k a 0 fitted", "k b 1001"}, []string{"b", "a"}},
		{[]string{"k a 0", "k b 1"}, []string{"k a 1", "k b 9"}, []string{"a", "b"}},
		{[]string{"k a 1 fitted", "k b 1 fitted", "k c 1 fitted"}, []string{"k a 1", "k b 1", "k c 2"}, []string{"c", "a"}},
	} {
		c := Compare(Sides{Old: set(t, x.old...), New: set(t, x.now...)}, nil)
		var got []string
		for _, f := range c.Places[0].Findings {
			got = append(got, f.Old.Metric)
		}
		require.That(t, slices.Equal(got, x.want), "%v -> %v: findings %v, want %v", x.old, x.now, got, x.want)
	}
}

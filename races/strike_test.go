package races

import (
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// TestStrikes counts what comes at points: both kinds, behind hot code alone, mostly to the CPU that has executed it, and no more than
// a schedule has room for.
func TestStrikes(t *testing.T) {
	x, hot := strikes{kinds: []strike{tickStrike, nmiStrike}, cpus: 3}, &point{last: 1, runnable: []int{0, 1}, hot: true}
	count := map[strike]int{}
	to := make([]int, 3)
	for n := range uint64(200) {
		x.begin(1, n)
		came := 0
		for range 2000 {
			what, cpu := x.strike(hot)
			if what == nothing {
				continue
			}
			came, count[what] = came+1, count[what]+1
			to[cpu]++
		}
		require.That(t, came <= mostStrikes, "schedule %d has %d strikes", n, came)
	}
	require.That(t, count[tickStrike] > 500 && count[nmiStrike] > 500, "came %v", count)
	require.That(t, to[0] > 50 && to[2] > 50 && to[1] > 3*(to[0]+to[2]), "CPUs were struck %v times", to)
	x.begin(1, 0)
	for _, p := range []point{{last: 1}, {last: -1, hot: true}} {
		for range 10000 {
			what, _ := x.strike(&p)
			require.Need(t, what == nothing, "%s comes at %+v", what, p)
		}
	}
}

// TestStoriesHaveStrikes writes a schedule down by its choices, and follows them: both and the table name what comes. Few ticks of a schedule
// come by themselves.
func TestStoriesHaveStrikes(t *testing.T) {
	loaded := map[string]*Scenario{}
	for variant, x := range map[string]struct{ choice, row string }{
		"nmi/stepped":         {"!nmi:", "an NMI comes"},
		"strike/chosen":       {"!tick:", "an interrupt of the timer comes"},
		"strike/arm-chosen":   {"!tick:", "an interrupt of the timer comes"},
		"strike/ppc64-chosen": {"!tick:", "an interrupt of the timer comes"},
	} {
		s, v := variantOf(t, variant, loaded)
		l, opt := require.Must(newLab(s, v, ""))(t), Default().of(s, v)
		made := &tape{chooser: newChooser(&opt)}
		_ = require.Must(l.run(made, 8, 1))(t)
		r := &recorder{l: l, lines: 1}
		_ = require.Must(r.follow(made.story()))(t)
		choices, table := made.story().String(), strings.Join(r.tell.lines(), "\n")
		came := strings.Count(choices, x.choice)
		require.That(t, came > 4 && came <= mostStrikes, "%s: choices are %.200s", variant, choices)
		require.That(t, strings.Count(table, x.row) > 4, "%s: the table is\n%s", variant, table)
	}
}

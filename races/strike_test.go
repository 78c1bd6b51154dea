package races

import (
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/sim"
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

// TestStoriesHaveStrikes writes a schedule down by its choices, and follows them: both and the table name NMIs.
func TestStoriesHaveStrikes(t *testing.T) {
	s, v := variantOf(t, "nmi/stepped", map[string]*Scenario{})
	l, opt := require.Must(newLab(s, v, ""))(t), Default().of(s, v)
	x := &tape{chooser: newChooser(&opt)}
	_ = require.Must(l.run(x, 8, 1))(t)
	r := &recorder{l: l, lines: 1}
	_ = require.Must(r.follow(x.story()))(t)
	choices, table := x.story().String(), strings.Join(r.tell.lines(), "\n")
	came := strings.Count(choices, "!nmi:")
	require.That(t, came > 4 && came <= mostStrikes, "choices are %.200s", choices)
	require.That(t, strings.Count(table, "an NMI comes") > 4, "the table is\n%s", table)
}

// TestTicksStrike counts how many of the chosen ticks interrupt their CPU within 300 instructions. Of several that come while interrupts
// are off one does. Without boards that expire timers early 30 of 100 would on ARM, and 9 on ppc64.
func TestTicksStrike(t *testing.T) {
	loaded := map[string]*Scenario{}
	for _, variant := range []string{"strike/chosen", "strike/arm-chosen", "strike/ppc64-chosen"} {
		s, v := variantOf(t, variant, loaded)
		l, opt := require.Must(newLab(s, v, ""))(t), Default().of(s, v)
		came, taken := 0, 0
		l.watch = func(t *trial) {
			struck := map[int]uint64{}
			at := func(cpu int) uint64 { return t.m.CPU(cpu).Counters().Instructions }
			t.m.Watch(func(e sim.Event) {
				if e.Kind == sim.EventSignal {
					came++
					struck[e.CPU] = at(e.CPU)
				}
			})
			t.m.OnInterrupt(func(cpu int) {
				if from, ok := struck[cpu]; ok && at(cpu)-from <= 300 {
					taken++
				}
				delete(struck, cpu)
			})
		}
		_ = require.Must(l.run(newChooser(&opt), 0, 20))(t)
		require.That(t, came > 60 && 5*taken > 2*came, "%s: %d ticks were chosen, and %d interrupted", variant, came, taken)
	}
}

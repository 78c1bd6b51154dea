package main

import (
	"fmt"
	"math"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
)

// statement is a sentence of the documents on what hits cost, as a range of a value that rows of figures have.
type statement struct {
	text     string
	span     string
	low, top float64
	step     float64 // to which values are rounded before they are compared: as the sentence is
	year     string  // the era whose rows it speaks of
	unit     string
	of       [][2]string // probe, and the one that it is compared with
	value    func(of, with float64) float64
}

func statements() []statement {
	percentMore := func(of, with float64) float64 { return 100 * (of/with - 1) }
	alone := func(of, _ float64) float64 { return of }
	return []statement{
		{"a kprobe's hit takes 0.5 to 1.0 us", "0.5 to 1.0", 0.5, 1.0, 0.1, "2005", "us", [][2]string{{"k", ""}}, alone},
		{
			"a jprobe's or return probe's takes 50 to 75 % longer", "50 to 75", 50, 75, 1, "2005", "%",
			[][2]string{{"j", "k"}, {"r", "k"}},
			percentMore,
		},
		{
			"a kprobe adds essentially nothing to a return probe", "0 to 5", 0, 5, 1, "2005", "%",
			[][2]string{{"kr", "r"}},
			percentMore,
		},
		{"an optimized hit takes 0.07 to 0.1 us", "0.07 to 0.10", 0.07, 0.1, 0.01, "2010", "us", [][2]string{{"o", ""}}, alone},
	}
}

// holds tells whether a value is in the range of a statement, rounded as the statement is.
func (s statement) holds(v float64) bool {
	v = math.Round(v/s.step) * s.step
	return v > s.low-s.step/2 && v < s.top+s.step/2
}

// cell shows a value, and whether the statement holds.
func (s statement) cell(v float64) string {
	format, word := "%.2f, yes", "%.2f, no"
	if s.unit == "%" {
		format, word = "%.0f, yes", "%.0f, no"
	}
	if !s.holds(v) {
		format = word
	}
	return fmt.Sprintf(format, v)
}

// statementsTable holds the sentences against the rows of the same documents, as published and as simulated.
func statementsTable(t *testing.T) string {
	t.Helper()
	sets := map[string]*results.Set{}
	for _, r := range publishedRows() {
		sets[r.machine] = runSet(t, r.experiment, nil)
	}
	out := "| the documents say | range | machine | published | simulated |\n|---|---|---|---|---|\n"
	for _, s := range statements() {
		for _, of := range s.of {
			names, saids, gots := "", "", ""
			for _, r := range publishedRows() {
				us, published := micros(sets[r.machine], s.year)
				if us[of[0]] != 0 {
					names += "<br>" + r.machine
					saids += "<br>" + s.cell(s.value(published[of[0]], published[of[1]]))
					gots += "<br>" + s.cell(s.value(us[of[0]], us[of[1]]))
				}
			}
			out += fmt.Sprintf("| %s (`%s`) | %s %s | %s | %s | %s |\n", s.text, of[0], s.span, s.unit, names[4:], saids[4:], gots[4:])
		}
	}
	return out
}

// micros returns microseconds of a hit by probe, of the points of an era: as simulated, and as published.
func micros(set *results.Set, year string) (us, published map[string]float64) {
	us, published = map[string]float64{}, map[string]float64{}
	for _, p := range set.Points() {
		if p.Era == year {
			simulated, _ := set.Get(p, results.MetricMicros)
			said, _ := set.Get(p, results.MetricPublished)
			us[p.Probe], published[p.Probe] = simulated.Value.Float(), said.Value.Float()
		}
	}
	return us, published
}

// TestStatements shows the check both sides of its ranges.
func TestStatements(t *testing.T) {
	k, more := statements()[0], statements()[1]
	for v, want := range map[float64]bool{0.49: true, 0.44: false, 1.04: true, 1.06: false} {
		require.That(t, k.holds(v) == want, "%v us is in %s: %v", v, k.span, !want)
	}
	require.That(t, !more.holds(more.value(1.45, 1)) && more.holds(more.value(1.754, 1)) && !more.holds(more.value(1.76, 1)), "ranges of per cent")
}

package figures

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

// wishSet has two machines, three sizes of memory and two numbers of calls.
func wishSet(t *testing.T) *results.Set {
	s := &results.Set{}
	s.AddAxis(results.Axis{Key: "kernel.memory", Unit: "B", Cells: map[string]string{"16 MiB": "16777216", "64 MiB": "67108864", "1 GiB": "1073741824"}})
	for i, machine := range []string{"one", "two"} {
		for j, memory := range []string{"64 MiB", "16 MiB", "1 GiB"} {
			for calls := range 2 {
				at := results.Point{Experiment: "e", Machine: machine, ISA: "i", Era: "2010", CPUs: 1, Probe: fmt.Sprintf("k/kernel.memory=%s/workload.hits=%d", memory, calls)}
				require.NoError(t, s.Add(results.Record{
					Point: at, Metric: results.MetricCycles, Unit: "cycles", Role: results.Simulated, Value: resultstest.Value(t, fmt.Sprint(100*i+10*j+calls*4)),
				}))
			}
		}
	}
	return s
}

// TestWished wants lines over numbers in order and in a readable unit, bars over words, and means with whiskers of what no
// key of the figure tells apart.
func TestWished(t *testing.T) {
	s := wishSet(t)
	f := require.Must(Wished(s, results.Wish{X: "kernel.memory", Series: "machine", Title: "mine"}, "here"))(t)
	page := f.(*Panels)
	l := page.Panels[0].(*Lines)
	if got := fmt.Sprint(page.Title, l.XLabel, l.LogX, l.Series[1].Name, l.Series[1].Points); got != "mine: herememory, MiBtruetwo[{16 112 110 114} {64 102 100 104} {1024 122 120 124}]" {
		t.Errorf("lines are %s", strings.ReplaceAll(got, "\n", " "))
	}
	require.That(t, strings.Contains(fmt.Sprint(page.Caption), "means"), "caption %v", page.Caption)
	f = require.Must(Wished(s, results.Wish{X: "machine", Series: "workload.hits", Panel: "kernel.memory"}, "here"))(t)
	page = f.(*Panels)
	if b := page.Panels[1].(*Bars); len(page.Panels) != 3 || fmt.Sprint(b.Title, b.Groups, b.Series[1].Bars[1].Value, b.Series[1].Bars[1].High) != "memory 16 MiB[one two] 114 0" {
		t.Errorf("%d panels, %q: %v %v", len(page.Panels), b.Title, b.Groups, b.Series)
	}
	for _, w := range []results.Wish{{X: "kernel.hz"}, {}, {X: "machine", Metric: "none"}} {
		_, err := Wished(s, w, "here")
		require.That(t, err != nil && (w.Metric != "" || errors.Is(err, ErrNotSwept)), "%+v: %v", w, err)
	}
	require.NoError(t, require.Err(Render(f, "figure")))
}

// TestDigits writes small numbers with a decimal.
func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0.0", 99.5: "99.5", 100: "100", 100.4: "100"} {
		require.Equal(t, digits(v), want, "%v", v)
	}
}

package results

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestOverrides wants settings in the long form, where they can be read back, in the benchmark format, and
// in the title and the caption of a figure.
func TestOverrides(t *testing.T) {
	sets := []string{"machine.core.model=window", "workload.args=[1, 2]", `title="50 %; a"`, "points.k.title= x "}
	s := &Set{Overrides: sets}
	check(t, s.Add(Record{Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Seed: 1, Probe: "k"}, MetricCycles, "cycles", value(t, "5"), Simulated, "", Interval{}}))
	csv := s.CSV()
	again, err := ReadCSV("x", bytes.NewReader(csv))
	if err != nil {
		t.Fatalf("%v in\n%s", err, csv)
	}
	if !slices.Equal(again.Overrides, sets) || !bytes.Equal(again.CSV(), csv) {
		t.Errorf("read back %q from\n%s", again.Overrides, csv)
	}
	bench, err := BenchText(s, OverheadBench())
	check(t, err)
	if !strings.Contains(string(bench), "\nset: machine.core.model=window; workload.args=[1%2C 2]; ") {
		t.Errorf("no settings in\n%s", bench)
	}
	b := &Bars{}
	ShowOverrides(b, s)
	if b.Title != ", with 4 settings changed" || !strings.Contains(strings.Join(b.Caption, " "), sets[1]) {
		t.Errorf("title %q, caption %q", b.Title, b.Caption)
	}
	s.Overrides = sets[:1]
	if got := s.OverridesText(); got != ", with machine.core.model=window" {
		t.Errorf("one setting is %q", got)
	}
}

// TestOverridesDiffer refuses lines of different settings, and settings that are written otherwise.
func TestOverridesDiffer(t *testing.T) {
	head := strings.Join(columnNames(), ",") + ",set\n"
	row := func(probe, set string) string {
		return "e,m,i,2010,1,1," + probe + ",c,cycles,5,simulated," + set + "\n"
	}
	for _, rows := range []string{row("k", "a=1") + row("b", "a=2"), row("k", "a=%zz"), row("k", "a=%61")} {
		if _, err := ReadCSV("x", strings.NewReader(head+rows)); err == nil {
			t.Errorf("taken:\n%s", rows)
		}
	}
}

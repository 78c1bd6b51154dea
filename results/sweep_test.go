package results

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// sweepSet has a metric n that is the number of CPUs for busy points and zero for idle ones.
func sweepSet(t *testing.T) *Set {
	t.Helper()
	s := &Set{}
	for _, name := range []string{"k/cpus=1/load=idle", "k/cpus=1/load=busy", "k/cpus=2/load=idle", "k/cpus=2/load=busy"} {
		p := Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Seed: 1, Probe: name}
		var v Value
		if strings.HasSuffix(name, "busy") {
			v, _ = ParseValue(p.Swept("cpus"))
		}
		if err := s.Add(Record{Point: p, Metric: "n", Unit: "us", Value: v, Role: Predicted}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestSweptNames(t *testing.T) {
	p := Point{Probe: `r/machine.cost.alu.issue=1/4/kernel.cpus=16`}
	if p.Name() != "r" || p.Swept("machine.cost.alu.issue") != "1/4" || p.Swept("kernel.cpus") != "16" || p.Swept("x") != "" {
		t.Errorf("%q, %q, %q", p.Name(), p.Swept("machine.cost.alu.issue"), p.Swept("kernel.cpus"))
	}
	if keys := SweptKeys(sweepSet(t)); !slices.Equal(keys, []string{"cpus", "load"}) {
		t.Errorf("swept are %v", keys)
	}
}

func TestSweepTable(t *testing.T) {
	s := sweepSet(t)
	got := Tabulate(s, append(SweepColumns(s), ColumnSpec{Title: "n", Metric: "n", Decimals: 0})).Text()
	const want = `cpus  load  n
-------------
1     idle  0
1     busy  1
2     idle  0
2     busy  2
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// chart charts metrics over a swept key.
func chart(over string, logX, logY bool, metrics ...SweepLine) *SweepChart {
	return &SweepChart{Over: over, LogX: logX, LogY: logY, Metrics: metrics}
}

func TestSweepLines(t *testing.T) {
	load := SweepLine{Metric: "n", Series: func(p Point) string { return p.Swept("load") }}
	l, err := chart("cpus", true, false, load).Lines(sweepSet(t))
	if err != nil || len(l.Series) != 2 || l.Series[1].Name != "busy" || l.Series[1].Points[1] != (XY{X: 2, Y: 2}) {
		t.Fatalf("lines are %+v, %v", l, err)
	}
	l, err = chart("cpus", true, true, load).Lines(sweepSet(t))
	if err != nil || len(l.Series) != 1 || !slices.Equal(l.Caption, []string{"not drawn, as it is zero: idle"}) {
		t.Errorf("on a logarithmic axis lines are %+v, %v", l, err)
	}
	if _, err = chart("load", false, false, load).Lines(sweepSet(t)); err == nil || !strings.Contains(err.Error(), "is no number") {
		t.Errorf("lines over a word: %v", err)
	}
	if _, err = chart("hz", false, false, load).Lines(sweepSet(t)); !errors.Is(err, ErrNotSwept) {
		t.Errorf("lines over what is not swept: %v", err)
	}
	if _, err = chart("cpus", false, false).Lines(sweepSet(t)); err == nil {
		t.Error("lines of no metric are drawn")
	}
}

func TestSweepLinesTellWhatIsHidden(t *testing.T) {
	twice := func(name string) SweepLine {
		return SweepLine{
			Metric: "n", Series: func(p Point) string { return name + " " + p.Swept("load") },
			Style: func(p Point) LineStyle {
				if name == "b" {
					return LineStyle{p.Swept("load"), Dashed}
				}
				return LineStyle{Group: p.Swept("load")}
			},
		}
	}
	l, err := chart("cpus", false, false, twice("a"), twice("b")).Lines(sweepSet(t))
	if err != nil || !slices.Equal(l.Caption, []string{"a idle lies under b idle", "a busy lies under b busy"}) {
		t.Errorf("captions %q, %v", l.Caption, err)
	}
	one, mark := l.style(0)
	two, hollow := l.style(2)
	if one.Color != two.Color || one.Dashes != nil || two.Dashes == nil || mark.Shape == hollow.Shape {
		t.Errorf("the lines of a group are drawn as %v %v and %v %v", one, mark, two, hollow)
	}
	third := twice("a")
	third.Style = func(p Point) LineStyle {
		if p.Swept("load") == "busy" {
			return LineStyle{"busy", Dotted}
		}
		return LineStyle{Group: "idle"}
	}
	if l, err = chart("cpus", false, false, third).Lines(sweepSet(t)); err != nil || l.Series[0].Style.Dash == Dotted || l.Series[1].Style.Dash != Dotted {
		t.Fatalf("%+v, %v", l, err)
	}
	if dotted, filled := l.style(1); dotted.Dashes == nil || slices.Equal(dotted.Dashes, two.Dashes) || filled.Shape.(polygon).hollow {
		t.Errorf("the third line of a group is drawn as %v %v", dotted, filled)
	}
}

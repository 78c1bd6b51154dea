package results

import "testing"

// TestUnexplained takes the doubts of a published figure off an error, and no more than there is.
func TestUnexplained(t *testing.T) {
	for _, c := range []struct{ simulated, published, rounding, repeats, want string }{
		{"0.45", "0.43", "0.005", "0.086", "0"},
		{"0.43", "0.43", "0", "0", "0"},
		{"0.5", "0.40", "0.005", "0.04", "13.75"},
		{"0.3", "0.40", "0.005", "0.04", "-13.75"},
		{"0.521", "0.43", "0.005", "0.086", "0"},
	} {
		got, err := Unexplained(value(t, c.simulated), value(t, c.published), value(t, c.rounding), value(t, c.repeats))
		check(t, err)
		if got.String() != c.want {
			t.Errorf("%s against %s: unexplained %s %%, want %s", c.simulated, c.published, got, c.want)
		}
	}
	if got, err := Percent(value(t, "0.43"), value(t, "22")); err != nil || got.String() != "0.0946" {
		t.Errorf("22 %% of 0.43 is %s, %v", got, err)
	}
}

// TestRepeatsInWhisker widens the whisker of a published bar by what repeats differ.
func TestRepeatsInWhisker(t *testing.T) {
	p := Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Seed: 1, Probe: "k"}
	set := &Set{}
	check(t, set.Add(
		Record{p, MetricMicros, "us", value(t, "1"), Predicted, "", Interval{}},
		Record{p, MetricPublished, "us", value(t, "1.00"), Measured, "A paper", Interval{}},
		Record{p, MetricRepeats, "us", value(t, "0.2"), Measured, "", Interval{}},
	))
	f, err := OverheadBars(set, Frame{}, false)
	check(t, err)
	b := f.(*Bars)
	if bar := b.Series[0].Bars[0]; bar.Low != 0.795 || bar.High != 1.205 {
		t.Errorf("whisker from %g to %g, want 0.795 to 1.205", bar.Low, bar.High)
	}
}

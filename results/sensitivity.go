package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// What an analysis of sensitivity observes. Its points have the number that was varied behind their name,
// under the key number; the point without one is the row as it is.
const (
	NumberKey        = "number"
	MetricLowEnd     = "number_low"         // the ends of the number's range
	MetricHighEnd    = "number_high"        //
	MetricLowCycles  = "cycles_at_low"      // unit cycles: a hit with the number at its low end
	MetricHighCycles = "cycles_at_high"     //
	MetricLowPct     = "change_at_low_pct"  // unit %: of MetricCycles
	MetricHighPct    = "change_at_high_pct" //
	MetricRefitted   = "numbers_refitted"   // of the row: how many fitted numbers were fitted again
)

// WithNumber returns the point of a number that was varied.
func (p Point) WithNumber(name string) Point {
	p.Probe += "/" + NumberKey + "=" + name
	return p
}

// TornadoOf charts the numbers that move each row of an analysis most, at most so many of them.
func TornadoOf(s *Set, frame Frame, most int) (*Tornado, error) {
	t := &Tornado{Frame: frame, Columns: 2}
	if !slices.Contains(SweptKeys(s), NumberKey) {
		return nil, fmt.Errorf("%s is %w: it is a figure of the command sensitivity", NumberKey, ErrNotSwept)
	}
	var still []string
	for _, p := range s.Points() {
		if _, row := s.Get(p, MetricCycles); !row || p.Swept(NumberKey) != "" {
			continue
		}
		if of := swings(s, p, most); len(of) > 0 {
			t.Panels = append(t.Panels, TornadoPanel{p.Probe, of})
		} else {
			still = append(still, p.Probe)
		}
	}
	if len(t.Panels) == 0 {
		return nil, fmt.Errorf("no number moves a row: %w", ErrNotSwept)
	}
	if len(still) > 0 {
		t.Caption = append(slices.Clone(t.Caption), "no number moves "+strings.Join(still, ", "))
	}
	return t, nil
}

// leastSwing is the smallest change that a bar can show, in percent.
const leastSwing = 0.05

// swings returns what moves a row most, the largest first.
func swings(s *Set, row Point, most int) []Swing {
	var all []Swing
	for _, p := range s.Points() {
		name, varied := strings.CutPrefix(p.Probe, row.Probe+"/"+NumberKey+"=")
		if !varied || p.Experiment != row.Experiment {
			continue
		}
		low, _ := s.Get(p, MetricLowPct)
		high, _ := s.Get(p, MetricHighPct)
		all = append(all, Swing{name, low.Value.Float(), high.Value.Float()})
	}
	slices.SortStableFunc(all, func(a, b Swing) int {
		switch p, q := a.size(), b.size(); {
		case p > q:
			return -1
		case p < q:
			return 1
		}
		return 0
	})
	all = slices.DeleteFunc(all, func(w Swing) bool { return w.size() < leastSwing })
	return all[:min(most, len(all))]
}

// size is the larger of both ends without its sign.
func (s Swing) size() float64 { return max(math.Abs(s.Low), math.Abs(s.High)) }

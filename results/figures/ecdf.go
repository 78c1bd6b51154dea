package figures

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Step is a place of an empirical distribution: Share of the observations, from 0 to 1, are X at most. Low and
// High are the ends of the interval of X, none when both are zero.
type Step struct {
	Share, X  float64
	Low, High float64
}

// Curve is one distribution, its steps in growing order of Share and of X.
type Curve struct {
	Name  string
	Steps []Step
}

// ECDF is a chart of empirical cumulative distributions: the share of the observations, in percent, over their
// logarithmic value. The axis of shares is logarithmic in what is left to 100 %, so that the few longest
// observations show. Curves differ in colour and dashes, up to six of them; the interval of a curve is a
// pale band behind it.
type ECDF struct {
	Frame
	Curves []Curve
}

func (e *ECDF) validate() error {
	if len(e.Curves) == 0 {
		return errors.New("no curves to draw")
	}
	for _, c := range e.Curves {
		if err := c.check(); err != nil {
			return fmt.Errorf("curve %q: %w", c.Name, err)
		}
	}
	return nil
}

// check wants what a logarithmic axis can show, and a distribution.
func (c Curve) check() error {
	if len(c.Steps) == 0 {
		return errors.New("no steps to draw")
	}
	last := Step{}
	for _, s := range c.Steps {
		if err := drawable(0, s.Share, s.X, s.Low, s.High); err != nil {
			return err
		}
		if s.X <= 0 || s.whisker() && s.Low <= 0 {
			return errLog
		}
		if s.Share < last.Share || s.Share > 1 || s.X < last.X {
			return fmt.Errorf("%g%% of the observations are %g at most: no distribution has that behind %g%% at %g",
				100*s.Share, s.X, 100*last.Share, last.X)
		}
		last = s
	}
	return nil
}

func (s Step) whisker() bool { return s.Low != 0 || s.High != 0 }

func (e *ECDF) legend() []legendEntry {
	var entries []legendEntry
	for i, c := range e.Curves {
		line, _ := groupStyle(c.Name, i)
		entries = append(entries, legendEntry{c.Name, 2 * swatchW, func(c *draw.Canvas, r vg.Rectangle) {
			y := (r.Min.Y + r.Max.Y) / 2
			c.StrokeLine2(line, r.Min.X, y, r.Max.X, y)
		}})
	}
	return entries
}

func (e *ECDF) draw(c draw.Canvas) {
	p := newPlot(&e.Frame)
	low, high := e.extent()
	room := math.Pow(high/low, edgeShare)
	p.X.Min, p.X.Max = low/room, high*room
	p.X.Scale, p.X.Tick.Marker = logScale{}, roomy{curveTicks{}, &p.X, c.Max.X - c.Min.X - axisWidth}
	p.Y.Min, p.Y.Max = 0, height(1)
	p.Y.Tick.Marker = shareTicks()
	p.Add(grid{}, painter(e.paint))
	p.Draw(c)
}

// height is where a share stands on its axis: the logarithm of what is left. Nothing left has no logarithm and
// stands as if half of a thousandth were.
func height(share float64) float64 { return -math.Log10(max(1-share, 0.0005)) }

// shareTicks labels shares in percent.
func shareTicks() plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for _, percent := range []float64{0, 50, 90, 99, 99.9, 100} {
		ticks = append(ticks, plot.Tick{Value: height(percent / 100), Label: fmt.Sprint(percent)})
	}
	return ticks
}

// extent returns the least and the largest value, which differ.
func (e *ECDF) extent() (low, high float64) {
	low, high = math.Inf(1), 0
	for _, c := range e.Curves {
		for _, s := range c.Steps {
			low, high = min(low, s.X), max(high, s.X, s.High)
			if s.whisker() {
				low = min(low, s.Low)
			}
		}
	}
	if low == high {
		low, high = low*0.5, high*2
	}
	return low, high
}

// curveTicks labels 1, 2 and 5 of each decade, also over many of them: the axis is wide.
type curveTicks struct{}

func (curveTicks) Ticks(low, high float64) []plot.Tick {
	ticks := logTicks{}.Ticks(low, high)
	for i, t := range ticks {
		digit := math.Round(t.Value / math.Pow(10, math.Floor(math.Log10(t.Value)+1e-9)))
		if digit == 2 || digit == 5 {
			ticks[i].Label = fmt.Sprintf("%g", t.Value)
		}
	}
	return ticks
}

// paint draws the bands first, so that they hide no curve.
func (e *ECDF) paint(c *draw.Canvas, at func(x, y float64) vg.Point) {
	for i, curve := range e.Curves {
		if band := curve.band(at); band != nil {
			line, _ := groupStyle(curve.Name, i)
			c.FillPolygon(mix(line.Color, paper(), 0.75), band)
		}
	}
	for i, curve := range e.Curves {
		line, _ := groupStyle(curve.Name, i)
		c.StrokeLines(line, curve.path(at, func(s Step) float64 { return s.X }))
	}
}

// path is the line of a distribution: it stays at a share until the value that the next one reaches, and rises
// there.
func (c Curve) path(at func(x, y float64) vg.Point, x func(Step) float64) []vg.Point {
	last := 0.0
	var out []vg.Point
	for _, s := range c.Steps {
		out = append(out, at(x(s), height(last)), at(x(s), height(s.Share)))
		last = s.Share
	}
	return out
}

// band is the area between the ends of the intervals, nil when there are none.
func (c Curve) band(at func(x, y float64) vg.Point) []vg.Point {
	if !slices.ContainsFunc(c.Steps, Step.whisker) {
		return nil
	}
	end := func(pick func(Step) float64) func(Step) float64 {
		return func(s Step) float64 {
			if s.whisker() {
				return pick(s)
			}
			return s.X
		}
	}
	low := c.path(at, end(func(s Step) float64 { return s.Low }))
	high := c.path(at, end(func(s Step) float64 { return s.High }))
	slices.Reverse(high)
	return append(low, high...)
}

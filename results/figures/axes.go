package figures

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// newPlot returns a plot with our type and axes that end at the data.
func newPlot(f *Frame) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Label.Text, p.Y.Label.Text = f.XLabel, f.YLabel
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = typeStyle(labelSize).Font
		a.Label.TextStyle.Color = ink()
		a.Label.Padding = 3
		a.Tick.Label.Font = typeStyle(tickSize).Font
		a.Tick.Label.Color = ink()
		a.Tick.Length = 4
		a.LineStyle.Color, a.Tick.LineStyle.Color = ink(), ink()
		a.Padding = 0
	}
	return p
}

// besideLabel sets the label of the value axis and returns what is left for the plot. The library keeps
// room for it as if it stood at the middle value, which on a logarithmic axis is near the top.
func besideLabel(c draw.Canvas, p *plot.Plot) draw.Canvas {
	style, words := p.Y.Label.TextStyle, p.Y.Label.Text
	p.Y.Label.Text = ""
	left := draw.Crop(c, style.Height(words)+p.Y.Label.Padding, 0, 0, 0)
	data := p.DataCanvas(left)
	style.Rotation, style.XAlign, style.YAlign = math.Pi/2, draw.XCenter, draw.YTop
	c.FillText(style, vg.Point{X: c.Min.X, Y: (data.Min.Y + data.Max.Y) / 2}, words)
	return left
}

// aboveLabel sets the label of the swept axis in as many lines as the place is wide for, and returns what is left for
// the plot. The library keeps room as it does for the other axis, and lets a long label make the data narrow.
func aboveLabel(c draw.Canvas, p *plot.Plot) draw.Canvas {
	style, words := p.X.Label.TextStyle, p.X.Label.Text
	p.X.Label.Text = ""
	lines := wrap(style, words, c.Max.X-c.Min.X)
	left := draw.Crop(c, 0, 0, leading(labelSize)*vg.Length(len(lines)), 0)
	data := p.DataCanvas(left)
	style.XAlign, style.YAlign = draw.XCenter, draw.YTop
	for i, line := range lines {
		middle := min((data.Min.X+data.Max.X)/2, c.Max.X-style.Width(line)/2) // where the place ends, a line ends
		c.FillText(style, vg.Point{X: middle, Y: left.Min.Y - leading(labelSize)*vg.Length(i)}, line)
	}
	return left
}

// categories puts names under whole numbers from 0 and leaves half a step at each end.
func categories(p *plot.Plot, names []string) {
	ticks := make(plot.ConstantTicks, len(names))
	for i, name := range names {
		ticks[i] = plot.Tick{Value: float64(i), Label: name}
	}
	p.X.Tick.Marker = ticks
	p.X.Tick.Length = 3
	p.X.Min, p.X.Max = -0.5, float64(len(names))-0.5
}

// axisLength is about how long the value axis is, beside ticks and label of the other one.
func axisLength(c draw.Canvas) vg.Length { return c.Max.Y - c.Min.Y - 30 }

// valueAxis scales an axis of a length for values from low to high (both positive when log) and leaves room
// above them. A linear axis starts at zero; bars on a log axis start at its lower end,
// since zero is infinitely far down.
func valueAxis(a *plot.Axis, low, high float64, length, room vg.Length, log bool) {
	stretch := 1 / (1 - min(0.5, max(0, float64(room/length))))
	if !log {
		if high <= 0 {
			high = 1
		}
		a.Min, a.Max = min(0, low*1.1), high*stretch
		a.Tick.Marker = linearTicks{most: max(2, int(length/(1.8*tickSize)))}
		return
	}
	a.Min = logBelow(low)
	a.Max = a.Min * math.Pow(high/a.Min, stretch)
	a.Scale = logScale{}
	a.Tick.Marker = logTicks{}
}

// logBelow returns the nearest 1, 2 or 5 times a power of ten at or below 0.8*v.
func logBelow(v float64) float64 {
	v *= 0.8
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2} {
		if m*decade <= v {
			return m * decade
		}
	}
	return decade
}

// logScale is a log scale that takes what lies at or below its lower end as that end, where the
// library's own would panic.
type logScale struct{}

func (logScale) Normalize(low, high, x float64) float64 {
	return math.Log(max(x, low)/low) / math.Log(high/low)
}

// linearTicks marks multiples of 1, 2 or 5 times a power of ten, at most so many of them, nine when it is not said.
type linearTicks struct{ most int }

func (l linearTicks) Ticks(low, high float64) []plot.Tick {
	step := tickStep(high-low, l.most)
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var ticks []plot.Tick
	for i := int64(math.Ceil(low/step - 1e-9)); float64(i)*step <= high*(1+1e-9); i++ {
		v := float64(i) * step
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', decimals, 64)})
	}
	return ticks
}

func tickStep(span float64, most int) float64 {
	if most == 0 || most > 9 {
		most = 9
	}
	decade := math.Pow(10, math.Floor(math.Log10(span)))
	for _, m := range []float64{0.1, 0.2, 0.5, 1, 2, 5} {
		if span/(m*decade) <= float64(most) {
			return m * decade
		}
	}
	return 10 * decade
}

// logTicks labels 1, 2 and 5 of each decade (1 alone over more than three decades) and marks the
// other digits.
type logTicks struct{}

func (logTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	wide := high/low > 1000
	for e := math.Floor(math.Log10(low)); math.Pow(10, e) <= high; e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, e)
			if v < low*(1-1e-9) || v > high {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 || !wide && (m == 2 || m == 5) {
				t.Label = strconv.FormatFloat(v, 'f', max(0, -int(e)), 64)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// grid draws a pale line across the data at each labelled tick of the value axis.
type grid struct{}

func (grid) Plot(c draw.Canvas, p *plot.Plot) {
	style := draw.LineStyle{Color: gridInk(), Width: 0.5}
	_, y := p.Transforms(&c)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if t.Label != "" && t.Value > p.Y.Min {
			c.StrokeLine2(style, c.Min.X, y(t.Value), c.Max.X, y(t.Value))
		}
	}
}

// painter draws data on a plot's canvas; at maps data to paper.
type painter func(c *draw.Canvas, at func(x, y float64) vg.Point)

func (f painter) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	f(&c, func(a, b float64) vg.Point { return vg.Point{X: x(a), Y: y(b)} })
}

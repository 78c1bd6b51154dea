package figures

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bar is one value. Low and High are the ends of a whisker, none when both are zero; for a printed
// figure they are the rounding interval. Label stands above. An absent bar leaves its place free.
type Bar struct {
	Value     float64
	Low, High float64
	Label     string
	Hatched   bool
	Absent    bool
	Kind      string // of probe, which gives the bar its colour; "" for the colour of the series
}

// BarSeries is one bar a group. The legend shows Name for its plain bars and HatchedName for its
// hatched ones, each only when there are such bars.
type BarSeries struct {
	Name, HatchedName string
	Bars              []Bar
	Shade             float64 // of the colours of kinds: 0 full, 1 as white as paper
}

// Bars is a chart of grouped bars. On a logarithmic axis bars stand on the axis' lower end, so only
// their tops mean something.
type Bars struct {
	Frame
	Groups []string
	Series []BarSeries
	Log    bool

	// firstFill is the fill of the first series; grey, the very first, is for what others measured.
	firstFill int
}

const (
	groupShare = 0.8            // of the distance between groups that bars take
	barShare   = 0.9            // of a bar's place that the bar takes
	mostPitch  = vg.Length(34)  // widest place for a bar
	plainRoom  = vg.Length(14)  // above the data, for a label
	capHalf    = vg.Length(2.5) // half the width of a whisker's end
)

func (b *Bars) validate() error {
	if len(b.Groups) == 0 || len(b.Series) == 0 {
		return errors.New("no groups or no series of bars")
	}
	for _, s := range b.Series {
		if len(s.Bars) != len(b.Groups) {
			return fmt.Errorf("series %q has %d bars for %d groups", s.Name, len(s.Bars), len(b.Groups))
		}
		for i, bar := range s.Bars {
			if err := b.check(bar); err != nil {
				return fmt.Errorf("series %q, group %q: %w", s.Name, b.Groups[i], err)
			}
		}
	}
	return nil
}

func (b *Bars) check(bar Bar) error {
	if bar.Absent {
		return nil
	}
	if b.Log && (bar.Value == 0 || bar.whisker() && bar.Low == 0) {
		return errLog
	}
	return drawable(0, bar.Value, bar.Low, bar.High)
}

func (bar Bar) whisker() bool { return bar.Low != 0 || bar.High != 0 }

func (bar Bar) top() float64 { return max(bar.Value, bar.High) }

// extent returns the lowest and highest drawn value.
func (b *Bars) extent() (low, high float64) {
	low = math.Inf(1)
	for _, s := range b.Series {
		for _, bar := range s.Bars {
			if bar.Absent {
				continue
			}
			low, high = min(low, bar.Value), max(high, bar.top())
			if bar.whisker() {
				low = min(low, bar.Low)
			}
		}
	}
	if math.IsInf(low, 1) {
		return 0.5, 1
	}
	return low, high
}

func (b *Bars) legend() []legendEntry {
	var entries []legendEntry
	for i, s := range b.Series {
		plain, hatched := s.kinds()
		if plain && s.Name != "" {
			entries = append(entries, swatch(s.Name, b.sampleFills(i, false)...))
		}
		if hatched {
			entries = append(entries, swatch(s.HatchedName, b.sampleFills(i, true)...))
		}
	}
	return entries
}

func (s BarSeries) kinds() (plain, hatched bool) {
	for _, bar := range s.Bars {
		plain = plain || !bar.Absent && !bar.Hatched
		hatched = hatched || !bar.Absent && bar.Hatched
	}
	return plain, hatched
}

// fill returns how a bar of series i is painted.
func (b *Bars) fill(i int, bar Bar) fill {
	f := seriesFill(i + b.firstFill)
	if bar.Kind != "" {
		f = kindFill(bar.Kind, b.Series[i].Shade)
	}
	if bar.Hatched {
		return f.hatched()
	}
	return f
}

// sampleFills are the fills that stand for the plain or the hatched bars of a series in the legend: the first few,
// since bars of several kinds differ.
func (b *Bars) sampleFills(i int, hatched bool) (fills []fill) {
	const most = 3
	var kinds []string
	for _, bar := range b.Series[i].Bars {
		if !bar.Absent && bar.Hatched == hatched && !slices.Contains(kinds, kindOf(bar.Kind)) && len(fills) < most {
			kinds = append(kinds, kindOf(bar.Kind))
			fills = append(fills, b.fill(i, bar))
		}
	}
	return fills
}

// swatch is a sample of one fill, or of several beside each other.
func swatch(name string, fills ...fill) legendEntry {
	return legendEntry{name, swatchW, func(c *draw.Canvas, r vg.Rectangle) {
		part := r
		width := r.Size().X / vg.Length(len(fills))
		for i, f := range fills {
			part.Min.X = r.Min.X + width*vg.Length(i)
			part.Max.X = part.Min.X + width
			paint(c, part, f)
		}
	}}
}

func (b *Bars) draw(c draw.Canvas) { b.drawScaled(c, b.scale()) }

func (b *Bars) scale() scale {
	s := scale{groups: len(b.Groups), logY: b.Log}
	s.low, s.high = b.extent()
	for _, series := range b.Series {
		for _, bar := range series.Bars {
			s.labels = append(s.labels, bar.Label)
		}
	}
	return s
}

// axisWidth is about what ticks and label of the value axis take.
const axisWidth = vg.Length(36)

// least has room for the labels of bars, upright.
func (b *Bars) least(s scale) vg.Length {
	return axisWidth + vg.Length(s.groups)*(minType+1)*vg.Length(len(b.Series))/groupShare
}

// drawScaled draws the chart in a scale that may hold more.
func (b *Bars) drawScaled(c draw.Canvas, s scale) {
	p := newPlot(&b.Frame)
	categories(p, b.Groups)
	p.X.Max = float64(s.groups) - 0.5
	lay := b.layout((c.Max.X-c.Min.X-axisWidth)/vg.Length(s.groups), s.labels)
	slantWide(p, b.Groups, lay.step)
	valueAxis(&p.Y, s.low, s.high, axisLength(c), lay.room, b.Log)
	p.Add(grid{}, painter(func(c *draw.Canvas, at func(x, y float64) vg.Point) {
		lay := b.layout(at(1, p.Y.Max).X-at(0, p.Y.Max).X, s.labels)
		b.paintBars(c, at, p.Y.Min, lay)
	}))
	p.Draw(c)
}

// barLayout follows from the distance between groups: labels lie flat, stand upright or are left
// out, as the room allows.
type barLayout struct {
	step, pitch vg.Length
	label       text.Style
	room        vg.Length // for labels above the data
	bare        bool      // too narrow for labels of a readable size
}

func (b *Bars) layout(step vg.Length, labels []string) barLayout {
	lay := barLayout{step: step, label: typeStyle(valueSize), room: plainRoom}
	lay.pitch = min(mostPitch, step*groupShare/vg.Length(len(b.Series)))
	widest := widestLabel(lay.label, labels)
	if widest <= lay.pitch {
		lay.label.XAlign = draw.XCenter
		return lay
	}
	lay.bare = lay.pitch < minType
	if lay.bare {
		return lay
	}
	lay.label.Rotation = math.Pi / 2
	lay.label.YAlign = draw.YCenter
	lay.room = widest + 6
	return lay
}

func widestLabel(style text.Style, labels []string) (widest vg.Length) {
	for _, l := range labels {
		widest = max(widest, style.Width(l))
	}
	return widest
}

func (b *Bars) paintBars(c *draw.Canvas, at func(x, y float64) vg.Point, base float64, lay barLayout) {
	for i, s := range b.Series {
		shift := (vg.Length(i) - vg.Length(len(b.Series)-1)/2) * lay.pitch
		for g, bar := range s.Bars {
			if bar.Absent {
				continue
			}
			f := b.fill(i, bar)
			mid := func(v float64) vg.Point { return at(float64(g), v).Add(vg.Point{X: shift}) }
			paintBar(c, bar, f, mid, base, lay)
		}
	}
}

func paintBar(
	c *draw.Canvas, bar Bar, f fill, mid func(v float64) vg.Point, base float64, lay barLayout,
) {
	half := vg.Point{X: lay.pitch * barShare / 2}
	paint(c, vg.Rectangle{Min: mid(max(base, 0)).Sub(half), Max: mid(bar.Value).Add(half)}, f)
	if bar.whisker() {
		paintWhisker(c, mid(bar.Low), mid(bar.High))
	}
	if !lay.bare {
		label(c, lay.label, mid(bar.top()).Add(vg.Point{Y: 2.5}), bar.Label)
	}
}

// label writes a number on paper of its own, so that no line of the grid crosses it.
func label(c *draw.Canvas, style text.Style, at vg.Point, words string) {
	if words == "" {
		return
	}
	r := style.Rectangle(words).Add(at)
	r.Min.Y, r.Max.Y = r.Min.Y-0.3, r.Max.Y+0.3
	c.FillPolygon(paper(), corners(r))
	c.FillText(style, at, words)
}

func paintWhisker(c *draw.Canvas, low, high vg.Point) {
	arm := vg.Point{X: capHalf}
	c.StrokeLines(draw.LineStyle{Color: ink(), Width: 0.6},
		[]vg.Point{low, high},
		[]vg.Point{low.Sub(arm), low.Add(arm)},
		[]vg.Point{high.Sub(arm), high.Add(arm)})
}

// slantWide turns the names of groups when they would run into one another, and sets them upright when lines that slant
// would do so, too.
func slantWide(p *plot.Plot, names []string, step vg.Length) {
	const slant = math.Pi / 5
	label := &p.X.Tick.Label
	if !slices.ContainsFunc(names, func(name string) bool { return label.Width(name) > step*0.95 }) {
		return
	}
	label.Rotation, label.XAlign, label.YAlign = slant, draw.XRight, draw.YTop
	if step*vg.Length(math.Sin(slant)) < label.Font.Size {
		label.Rotation, label.YAlign = math.Pi/2, draw.YCenter
		p.X.Tick.Length, p.X.Tick.LineStyle.Color = p.X.Tick.Length+4, paper() // a tick would stand in the last letter
	}
}

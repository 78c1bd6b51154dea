package figures

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"kprobesim/results"
)

// Swing is one bar of a tornado: what a row does when a number goes to the low and to the high end of its
// range. A side that does nothing has no bar.
type Swing struct {
	Name      string
	Low, High float64
}

// Tornado is a chart of swings, the largest on top, with a panel for each row and one scale for all.
type Tornado struct {
	Frame
	Columns int
	Panels  []TornadoPanel
}

// TornadoPanel is the swings of one row.
type TornadoPanel struct {
	Title  string
	Swings []Swing
}

const (
	swingPitch = vg.Length(13) // from one bar to the next, where there is room
	swingShare = 0.72          // of the pitch that a bar takes
	nameShare  = 0.5           // of a panel's width that names take at most
	axisRoom   = vg.Length(14) // below the bars, for the ticks
)

func (t *Tornado) validate() error {
	if len(t.Panels) == 0 || t.Columns < 1 {
		return errors.New("no panels or no columns of them")
	}
	for _, p := range t.Panels {
		for _, s := range p.Swings {
			if err := drawable(math.Inf(-1), s.Low, s.High); err != nil {
				return fmt.Errorf("panel %q, %s: %w", p.Title, s.Name, err)
			}
		}
	}
	return nil
}

// legend tells the ends apart: grey is for what others measured, so bars take the colours after it.
func (t *Tornado) legend() []legendEntry {
	return []legendEntry{swatch("number at its low end", seriesFill(1)), swatch("at its high end", seriesFill(2))}
}

// draw gives every panel the same scale, so that bars of different rows can be compared.
func (t *Tornado) draw(c draw.Canvas) {
	if t.XLabel != "" {
		style := typeStyle(labelSize)
		style.XAlign = draw.XCenter
		c.FillText(style, vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: c.Min.Y}, t.XLabel)
		c.Min.Y += leading(labelSize)
	}
	low, high, most, names := t.extent()
	columns := t.columns(c.Max.X - c.Min.X)
	for i, p := range t.Panels {
		place := tile(c, i, len(t.Panels), columns)
		place.Max.Y = drawTitle(place, p.Title, labelSize, titleGap)
		drawSwings(place, p.Swings, low, high, most, names)
	}
}

// columns is how many panels stand beside each other where names take half of the width.
func (t *Tornado) columns(width vg.Length) int {
	_, _, _, names := t.extent()
	fit := int((width + panelGap) / (names/nameShare + panelGap))
	return max(1, min(fit, t.Columns, len(t.Panels)))
}

// body has room for the bars of each panel.
func (t *Tornado) body(width vg.Length) vg.Length {
	_, _, most, _ := t.extent()
	columns := t.columns(width)
	rows := (len(t.Panels) + columns - 1) / columns
	row := leading(labelSize) + swingPitch*vg.Length(most) + axisRoom
	return row*vg.Length(rows) + panelGap*vg.Length(rows-1) + leading(labelSize)
}

// extent returns the ends of the scale, the most bars that a panel has and the width of the longest name.
func (t *Tornado) extent() (low, high float64, most int, names vg.Length) {
	style := typeStyle(valueSize)
	for _, p := range t.Panels {
		most = max(most, len(p.Swings))
		for _, s := range p.Swings {
			low, high = min(low, s.Low, s.High), max(high, s.Low, s.High)
			names = max(names, style.Width(s.Name))
		}
	}
	if low == 0 && high == 0 {
		low, high = -1, 1
	}
	return low, high, most, names
}

// drawSwings draws a panel: names on the left, bars from the zero line, ticks below.
func drawSwings(c draw.Canvas, swings []Swing, low, high float64, most int, names vg.Length) {
	width := c.Max.X - c.Min.X
	style := typeStyle(valueSize)
	names = min(names, width*0.7)
	pitch := min(swingPitch, (c.Max.Y-c.Min.Y-axisRoom)/vg.Length(most))
	left, right := c.Min.X+names+4, c.Max.X-6
	x := func(v float64) vg.Length { return left + (right-left)*vg.Length((v-low)/(high-low)) }
	bottom := c.Max.Y - pitch*vg.Length(max(len(swings), 1))
	for _, tick := range (linearTicks{}).Ticks(low, high) {
		c.StrokeLine2(draw.LineStyle{Color: gridInk(), Width: 0.5}, x(tick.Value), bottom, x(tick.Value), c.Max.Y)
		label := typeStyle(valueSize)
		label.XAlign = draw.XCenter
		c.FillText(label, vg.Point{X: x(tick.Value), Y: bottom - leading(valueSize)}, signedTick(tick.Value, tick.Label))
	}
	for i, s := range swings {
		mid := c.Max.Y - pitch*(vg.Length(i)+0.5)
		half := pitch * swingShare / 2
		for _, e := range s.ends() {
			a, b := x(min(e.by, 0)), x(max(e.by, 0))
			paint(&c, vg.Rectangle{Min: vg.Point{X: a, Y: mid - half}, Max: vg.Point{X: b, Y: mid + half}}, e.fill)
		}
		c.FillText(style, vg.Point{X: c.Min.X, Y: mid - style.Font.Size*0.36}, s.Name)
	}
	c.StrokeLine2(draw.LineStyle{Color: ink(), Width: 0.6}, x(0), bottom, x(0), c.Max.Y)
}

// swingEnd is the bar of one end.
type swingEnd struct {
	by   float64
	fill fill
}

// ends returns the bars of a swing, the longer one first, so that both show when they go the same way.
func (s Swing) ends() []swingEnd {
	ends := []swingEnd{{s.Low, seriesFill(1)}, {s.High, seriesFill(2)}}
	if math.Abs(s.High) > math.Abs(s.Low) {
		ends[0], ends[1] = ends[1], ends[0]
	}
	return slices.DeleteFunc(ends, func(e swingEnd) bool { return e.by == 0 })
}

// signedTick puts a plus in front of what is above zero, as changes have one.
func signedTick(v float64, label string) string {
	if f, err := strconv.ParseFloat(label, 64); err == nil && f == 0 {
		return "0"
	}
	if v > 0 {
		return "+" + label
	}
	return label
}

// TornadoOf charts the numbers that move each row of an analysis most, at most so many of them.
func TornadoOf(s *results.Set, frame Frame, most int) (*Tornado, error) {
	t := &Tornado{Frame: frame, Columns: 2}
	if !slices.Contains(results.SweptKeys(s), results.NumberKey) {
		return nil, fmt.Errorf("%s is %w: it is a figure of the command sensitivity", results.NumberKey, ErrNotSwept)
	}
	var still []string
	for _, p := range s.Points() {
		if _, row := s.Get(p, results.MetricCycles); !row || p.Swept(results.NumberKey) != "" {
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
func swings(s *results.Set, row results.Point, most int) []Swing {
	var all []Swing
	for _, p := range s.Points() {
		name, varied := strings.CutPrefix(p.Probe, row.Probe+"/"+results.NumberKey+"=")
		if !varied || p.Experiment != row.Experiment {
			continue
		}
		low, _ := s.Get(p, results.MetricLowPct)
		high, _ := s.Get(p, results.MetricHighPct)
		all = append(all, Swing{name, low.Value.Float(), high.Value.Float()})
	}
	slices.SortStableFunc(all, func(a, b Swing) int { return cmp.Compare(b.size(), a.size()) })
	all = slices.DeleteFunc(all, func(w Swing) bool { return w.size() < leastSwing })
	return all[:min(most, len(all))]
}

// size is the larger of both ends without its sign.
func (s Swing) size() float64 { return max(math.Abs(s.Low), math.Abs(s.High)) }

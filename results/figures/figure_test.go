package figures

import (
	"bytes"
	"flag"
	"image/png"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestLook writes the sample figures to the folder named by KPROBESIM_FIGURES, for a look at them.
func TestLook(t *testing.T) {
	dir := os.Getenv("KPROBESIM_FIGURES")
	if dir == "" {
		t.Skip("on demand: figures to look at; KPROBESIM_FIGURES names no folder to draw into")
	}
	for name, f := range sampleFigures(t) {
		rendered := require.Must(Render(f, name))(t)
		for file, data := range rendered {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), data, 0o644))
		}
	}
}

// TestRender draws every figure twice: the same bytes, and files of the formats of their names.
func TestRender(t *testing.T) {
	once, again := sampleFigures(t), sampleFigures(t)
	names := slices.Sorted(maps.Keys(once))
	twice := hosttools.Share(t, "figures are drawn twice", 4, names)
	for _, name := range names {
		a := require.Must(Render(once[name], name))(t)
		b := a
		if slices.Contains(twice, name) {
			b = require.Must(Render(again[name], name))(t)
		}
		for _, ext := range []string{".svg", ".png", ".pdf", ".tex"} {
			require.That(t, len(a[name+ext]) != 0 && bytes.Equal(a[name+ext], b[name+ext]), "%s%s is empty or differs between two drawings", name, ext)
		}
		checkPNG(t, name, a[name+".png"])
		checkPDF(t, name, a[name+".pdf"])
		require.Golden(t, *update, name+".svg", a[name+".svg"])
	}
}

func checkPNG(t *testing.T, name string, data []byte) {
	t.Helper()
	img := require.Must(png.Decode(bytes.NewReader(data)))(t)
	w := img.Bounds().Dx()
	require.That(t, w >= 600, "%s.png is %d pixels wide, too few to print", name, w)
}

func checkPDF(t *testing.T, name string, data []byte) {
	t.Helper()
	got := bytes.Count(data, []byte("(D:20000101000000)"))
	require.That(t, got == 2, "%s.pdf has %d fixed dates, want 2", name, got)
	require.That(t, bytes.Contains(data, []byte("/FontName /LiberationSans")) && bytes.Contains(data, []byte("/FontFile2")), "%s.pdf has no font of its own", name)
}

func TestStopClock(t *testing.T) {
	at := func(creation, change string) []byte {
		return []byte("x /CreationDate (D:" + creation + ")\n/ModDate (D:" + change + ")\nxref")
	}
	a := require.Must(stopClock(at("20260101120000", "20260101120001")))(t)
	b := require.Must(stopClock(at("20271231235959", "20280101000000")))(t)
	require.That(t, bytes.Equal(a, b) && len(a) == len(at("20260101120000", "20260101120001")), "dates stay: %s and %s", a, b)
	require.That(t, require.Err(stopClock([]byte("no dates"))) != nil, "a PDF without dates was taken")
}

func TestRenderRefuses(t *testing.T) {
	one := func(v float64, log bool) *Bars {
		return &Bars{Groups: []string{"g"}, Series: []BarSeries{{Name: "s", Bars: []Bar{{Value: v}}}}, Log: log}
	}
	point := func(x, y float64, logX, logY bool) *Lines {
		return &Lines{Series: []LineSeries{{Name: "s", Points: []XY{{X: x, Y: y}}}}, LogX: logX, LogY: logY}
	}
	for _, c := range []struct {
		f    Figure
		want string
	}{
		{&Bars{}, "no groups"},
		{one(math.NaN(), false), "NaN"},
		{one(-1, false), "-1 cannot be drawn"},
		{one(0, true), "not positive cannot be drawn on a logarithmic axis"},
		{&Bars{Groups: []string{"g"}, Series: []BarSeries{{Name: "s", Bars: []Bar{{Value: 1, Low: 0, High: 2}}}}, Log: true}, "not positive cannot be drawn on a logarithmic axis"},
		{&Bars{Groups: []string{"a", "b"}, Series: []BarSeries{{Name: "s", Bars: make([]Bar, 1)}}}, "1 bars for 2"},
		{&Bars{Frame: Frame{Width: 5}}, "side of 5 mm"},
		{&Bars{Frame: Frame{Height: math.NaN()}}, "side of NaN"},
		{&Bars{Frame: Frame{Height: 40, Caption: []string{strings.Repeat("long ", 200)}}, Groups: []string{"g"}, Series: []BarSeries{{Name: "s", Bars: []Bar{{Value: 1}}}}}, "40 mm are too low: title, legend and caption take 35 of them; want 57 or more"},
		{&Panels{}, "no panels"},
		{&Panels{Panels: []Panel{one(1, false)}}, "no panels or no columns"},
		{&Tornado{Columns: 1}, "no panels"},
		{&Tornado{Panels: []TornadoPanel{{"k", nil}}}, "no panels or no columns"},
		{&Tornado{Columns: 1, Panels: []TornadoPanel{{"k", []Swing{{"n", math.NaN(), 0}}}}}, `panel "k", n: `},
		{&Tornado{Columns: 1, Panels: []TornadoPanel{{"k", []Swing{{"n", 0, math.Inf(1)}}}}}, `panel "k", n: `},
		{&Panels{Columns: 1, Panels: []Panel{one(math.NaN(), false)}}, "NaN"},
		{&Panels{Columns: 1, Panels: []Panel{one(1, false), one(1, true)}}, "another kind of axis"},
		{&Stack{}, "no groups"},
		{&Stack{Groups: []string{"g"}, Layers: []Layer{{"l", nil}}}, "0 values for 1"},
		{&Stack{Groups: []string{"g"}, Layers: []Layer{{"l", []float64{-1}}}}, "-1 cannot be drawn"},
		{&Stack{Groups: []string{"g"}, Layers: []Layer{{"l", []float64{1}}}, Totals: []float64{1, 2}}, "2 totals for 1 groups"},
		{&Lines{}, "no points"},
		{point(1, math.Inf(1), false, false), "+Inf"},
		{point(0, 1, true, false), "not positive"},
		{point(1, 0, false, true), "not positive"},
	} {
		_, err := Render(c.f, "f")
		require.That(t, err != nil && strings.HasPrefix(err.Error(), "figure f: ") && strings.Contains(err.Error(), c.want), "error %v, want %q", err, c.want)
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		ticks     plot.Ticker
		low, high float64
		want      string
	}{
		{linearTicks{}, 0, 1.3, "0.0 0.2 0.4 0.6 0.8 1.0 1.2"},
		{linearTicks{most: 3}, 0, 3000, "0 1000 2000 3000"},
		{linearTicks{}, 0, 3000, "0 500 1000 1500 2000 2500 3000"},
		{linearTicks{}, -7, 0, "-7 -6 -5 -4 -3 -2 -1 0"},
		{linearTicks{}, 0, 0.07, "0.00 0.01 0.02 0.03 0.04 0.05 0.06 0.07"},
		{logTicks{}, 0.02, 2, "0.02 0.05 0.1 0.2 0.5 1 2"},
		{logTicks{}, 2, 1500, "2 5 10 20 50 100 200 500 1000"},
		{logTicks{}, 1, 100000, "1 10 100 1000 10000 100000"},
		{sweepTicks([]float64{1, 4, 16}), 1, 16, "1 4 16"},
		{sweepTicks([]float64{10, 11, 12}), 10, 12, "10"},
	} {
		var labels []string
		for _, tick := range c.ticks.Ticks(c.low, c.high) {
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		require.Equal(t, strings.Join(labels, " "), c.want, "%T from %g to %g", c.ticks, c.low, c.high)
	}
	for length, want := range map[vg.Length]int{1: 2, 1.8 * tickSize * 2.9: 2, 1.8 * tickSize * 3.1: 3} {
		a := plot.New().Y
		valueAxis(&a, 0, 1, length, 0, false)
		require.Equal(t, a.Tick.Marker, plot.Ticker(linearTicks{most: want}), "ticks of an axis of %.0f points", float64(length))
	}
}

// TestNamesOfGroups has names of groups lie flat where there is room, slant where they are wide, and stand upright where
// slanting ones would overlap.
func TestNamesOfGroups(t *testing.T) {
	for _, c := range []struct {
		names    []string
		step     vg.Length
		rotation float64
	}{
		{[]string{"k", "b"}, 10, 0}, {[]string{"k", "uk-event"}, 24, math.Pi / 5}, {[]string{"k", "uk-event"}, 9, math.Pi / 2},
	} {
		p := plot.New()
		p.X.Tick.Label = typeStyle(valueSize)
		slantWide(p, c.names, c.step)
		require.Equal(t, p.X.Tick.Label.Rotation, c.rotation, "%q every %v points are turned by", c.names, c.step)
		more := map[float64]vg.Length{math.Pi / 2: 4}[c.rotation]
		require.Equal(t, p.X.Tick.Length, plot.New().X.Tick.Length+more, "length of ticks of %q", c.names)
	}
}

// TestTickStep has steps of 1, 2 and 5 in decades, as few as fit.
func TestTickStep(t *testing.T) {
	for _, x := range []struct {
		span float64
		most int
		want float64
	}{
		{9, 0, 1}, {9, 10, 1}, {9, 9, 1}, {9.5, 9, 2}, {9, 2, 5}, {9, 1, 10}, {4.5, 1, 5}, {4.5, 2, 5}, {4.5, 3, 2}, {4.5, 9, 0.5}, {1, 9, 0.2}, {1, 5, 0.2}, {1, 2, 0.5}, {1, 1, 1}, {90, 5, 20},
	} {
		require.Equal(t, tickStep(x.span, x.most), x.want, "a span of %v in %d steps", x.span, x.most)
	}
}

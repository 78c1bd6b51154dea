package figures

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

// A page is a figure with its name.
type page struct {
	name string
	Figure
}

// TestRowsOfPanels bounds the height of a row, and that of all rows by the page.
func TestRowsOfPanels(t *testing.T) {
	const mm = vg.Millimeter
	one := Panel(&Bars{Groups: []string{"a"}, Series: []BarSeries{{Name: "s", Bars: []Bar{{Value: 1}}}}})
	for _, x := range []struct {
		panels int
		width  vg.Length
		want   vg.Length
	}{
		{2, 1000 * mm, 2*55*mm + panelGap}, {2, 10 * mm, 2*45*mm + panelGap}, {4, 1000 * mm, pageBody}, {10, 1000 * mm, 10*leastRow + 9*panelGap}, {0, 100 * mm, 0},
	} {
		p := &Panels{Columns: 1, Panels: slices.Repeat([]Panel{one}, x.panels)}
		got := p.body(x.width)
		require.That(t, !(math.Abs(float64(got-x.want)) > 1e-9), "%d panels in %.0f mm: %.1f mm, want %.1f", x.panels, x.width/mm, got/mm, x.want/mm)
	}
}

// TestSurround has a page as high as title, legend, caption and data take, at every width.
func TestSurround(t *testing.T) {
	words := strings.Repeat("some words of a text ", 12)
	for mm := 40; mm < 160; mm++ {
		f := &Bars{Frame: Frame{Title: words, Caption: []string{words, words}, Width: float64(mm)}, Groups: []string{"a"}}
		for i := range 5 {
			f.Series = append(f.Series, BarSeries{Name: fmt.Sprint("some series ", i), Bars: []Bar{{Value: 1}}})
		}
		w, h := size(f)
		c := drawSurround(f, draw.Crop(draw.NewCanvas(&recorder.Canvas{}, w, h), margin, -margin, margin, -margin))
		left := c.Max.Y - c.Min.Y
		require.That(t, math.Abs(float64(left-max(leastBody, f.body(c.Max.X-c.Min.X)))) < 1e-9, "%d mm: %.1f points are left for the data", mm, float64(left))
	}
}

// TestTornadoColumns gives each panel twice the width of the longest name, and a gap between panels.
func TestTornadoColumns(t *testing.T) {
	sample := sampleTornado()
	sample.Columns = 5
	sample.Panels = slices.Repeat(sample.Panels[:1], 4)
	_, _, _, names := sample.extent()
	for n, want := range []int{1, 1, 2, 3, 4, 4} {
		width := vg.Length(n)*(2*names+panelGap) - panelGap + 1
		got := sample.columns(width)
		require.That(t, got == want, "%.0f pt: %d panels beside each other, want %d", float64(width), got, want)
	}
}

// oddPages are legal and unusual figures: one bar, nothing to show, long texts, as many lines as there are styles.
func oddPages() []page {
	one := []string{"only"}
	bar := func(title string, v float64) *Bars {
		return &Bars{Frame: Frame{Title: title, YLabel: "us"}, Groups: one, Series: []BarSeries{{Name: "s", Bars: []Bar{{Value: v, Label: fmt.Sprint(v)}}}}}
	}
	layers := func(n int) *Stack {
		s := &Stack{Groups: []string{"a", "b"}, Frame: Frame{XLabel: "probe"}}
		for i := range n {
			s.Layers = append(s.Layers, Layer{fmt.Sprint("layer ", i), []float64{float64(i + 1), float64(8 * i)}})
		}
		return s
	}
	styles := &Lines{Frame: Frame{YLabel: "us", XLabel: "CPUs"}, LogY: true}
	for i := range 12 {
		s := LineSeries{Name: fmt.Sprint("line ", i), Points: []XY{{X: 1, Y: float64(1 + i)}, {X: 3, Y: float64(400 / (1 + i))}, {X: 4, Y: 70, Low: 30, High: 90}}}
		if i > 6 {
			s.Style = LineStyle{Group: fmt.Sprint("group ", i/3), Dash: Dash(i % 3)}
		}
		styles.Series = append(styles.Series, s)
	}
	upright := layers(3)
	for i := range 14 {
		upright.Groups, upright.Totals = append(upright.Groups, fmt.Sprint("group ", i)), append(upright.Totals, 1000+float64(i))
		for l := range upright.Layers {
			upright.Layers[l].Values = append(upright.Layers[l].Values, 300)
		}
	}
	upright.Totals = append(upright.Totals, 7, 8)
	far := func(n int, ratio float64) (all []XY) {
		for i := range n {
			all = append(all, XY{X: math.Round(1000 * math.Pow(ratio, float64(i))), Y: float64(i)})
		}
		return all
	}
	tall := &Panels{Columns: 3}
	for i, title := range []string{"a", strings.Repeat("long ", 12), "c", "d"} {
		tall.Panels = append(tall.Panels, bar(title, float64(i)))
	}
	return []page{
		{"absent", &Bars{Groups: one, Series: []BarSeries{{Name: "s", Bars: []Bar{{Absent: true}}}}, Log: true}},
		{"zero", bar("", 0)},
		{"huge", &Bars{Groups: one, Series: []BarSeries{{Name: "s", Bars: []Bar{{Value: 1e12, Label: "µ→∞"}}}}, Log: true}},
		{"one panel", &Panels{Columns: 3, Panels: []Panel{bar(strings.Repeat("long ", 40), 1)}}},
		{"four panels", tall},
		{"narrow panels", &Panels{Columns: 2, Frame: Frame{Width: 60}, Panels: tall.Panels}},
		{"empty layer", &Stack{Groups: one, Layers: []Layer{{"l", []float64{0}}}}},
		{"one layer", layers(1)},
		{"seven layers", layers(7)},
		{"one point", &Lines{Series: []LineSeries{{Name: "s", Points: []XY{{X: 0, Y: 0}}}}}},
		{"below zero", &Lines{Series: []LineSeries{{Name: "empty"}, {Name: "s", Points: []XY{{X: 1, Y: -5}, {X: 2, Y: -7}}}}}},
		{"one logarithmic point", &Lines{Series: []LineSeries{{Name: "s", Points: []XY{{X: 8, Y: 3}}}}, LogX: true, LogY: true}},
		{"twelve lines", styles},
		{"lines beside bars of height", &Panels{Columns: 2, Frame: Frame{Width: 165}, Panels: []Panel{styles, styles}}},
		{"upright sums", upright},
		{"many sums in panels", &Panels{Columns: 2, Frame: Frame{Width: 250}, Panels: []Panel{upright, upright}}},
		{"many values of a logarithmic axis", &Lines{Series: []LineSeries{{Name: "s", Points: far(13, 2)}}, LogX: true}},
		{"near values of a logarithmic axis", &Lines{Series: []LineSeries{{Name: "s", Points: far(4, 1.39)}}, LogX: true}},
		{"labels that run into each other", &Lines{Frame: Frame{Width: 40}, Series: []LineSeries{{Name: "s", Points: far(12, 1.41)}}, LogX: true}},
		{"a label nearly as wide as its place", &Lines{Frame: Frame{Width: 60, XLabel: "a label of the swept axis, nearly as wide"}, Series: []LineSeries{{Name: "s", Points: far(3, 2)}}}},
		{"bare panels", &Panels{Columns: 2, Frame: Frame{Bare: true}, Panels: []Panel{bar("left", 1), bar("right", 2)}}},
		{"tornado of panels", &Tornado{Columns: 2, Panels: []TornadoPanel{{"k", []Swing{{"number", -3, 7}, {"another", 1, -2}}}, {"b", []Swing{{"number", 0.5, 0.25}}}}}},
		{"distribution", sampleECDF()},
		{"narrow distribution", &ECDF{Frame: Frame{Width: 60, YLabel: "calls, %"}, Curves: []Curve{{"c", []Step{{X: 1, Share: 0.5}, {X: 180, Share: 1}}}}}},
		{"distribution of one value", &ECDF{Frame: Frame{XLabel: "cycles"}, Curves: []Curve{{"c", []Step{{X: 7, Share: 1}}}}}},
		{"bare", &Bars{Frame: Frame{Title: "not drawn", Bare: true, Width: 60}, Groups: one, Series: []BarSeries{{Name: "s", Bars: []Bar{{Value: 3}}}}}},
		{"nothing moves", &Tornado{Columns: 1, Panels: []TornadoPanel{{"k", []Swing{{"n", 0, 0}}}}}},
	}
}

// madePages are figures that are made of sets.
func madePages(t *testing.T) []page {
	t.Helper()
	counted, caption := resultstest.Counted(t), append(make([]string, 0, 8), "c")
	frame := Frame{Title: "t", XLabel: "x", YLabel: "microseconds", Caption: caption}
	made := func(name string) func(f Figure, err error) page {
		return func(f Figure, err error) page {
			require.NoError(t, err)
			ShowMissed(f, counted)
			return page{name, f}
		}
	}
	swept := sweptOver(t, []string{"k", "b"}, []string{"kernel.cpus", "workload.load", "kernel.hz"}, []string{"1", "2", "4"}, []string{"idle", "busy", "user"}, []string{"100", "250"})
	lines := chart("kernel.cpus", true, true, SweepLine{Metric: "n", Panel: "left", Series: results.Point.Name},
		SweepLine{Metric: "n", Series: func(p results.Point) string { return p.Swept("workload.load") }, Style: func(p results.Point) LineStyle { return LineStyle{Group: p.Name(), Dash: Dashed} }},
		SweepLine{Metric: results.MetricMicros, Panel: "left", Series: func(p results.Point) string { return "again " + p.Name() }})
	lines.Lines, lines.Frame = []string{"workload.load", "kernel.hz"}, frame
	bars := &BarChart{Frame: frame, Bars: []BarMetric{{results.MetricCycles, "cycles", 1, 0.5}, {results.MetricHits, "hits", 0, 0}}}
	moved := &results.Set{}
	add := func(name, metric, value string) {
		p := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: name}
		require.NoError(t, moved.Add(results.Record{Point: p, Metric: metric, Unit: "u", Value: resultstest.Value(t, value), Role: results.Simulated}))
	}
	for _, row := range []string{"k", "b", "still"} {
		add(row, results.MetricCycles, "100")
		for i, swing := range []string{"0.02", "4.5", "1.25", "-3", "1.25"} {
			if row != "still" || i == 0 {
				at := fmt.Sprintf("%s/%s=n%d", row, results.NumberKey, i)
				add(at, results.MetricLowPct, "-"+strings.TrimPrefix(swing, "-"))
				add(at, results.MetricHighPct, swing)
			}
		}
	}
	for _, r := range slices.Collect(counted.All()) {
		if r.Metric == results.MetricCycles {
			r.Metric = results.MetricMicros
			require.NoError(t, counted.Add(r))
		}
	}
	holey := wishSet(t)
	holey = holey.Only(func(p results.Point) bool { return p != holey.Points()[0] && p != holey.Points()[3] })
	sumless := resultstest.Sample(t)
	require.NoError(t, sumless.Add(results.Record{Point: results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: "k"}, Metric: results.PhaseMetric("step"), Unit: "cycles", Role: results.Simulated}))
	resized := made("resized")(OverheadBars(counted, frame, true))
	Resize(resized, 80, 0, true)
	Resize(resized, 0, 90, false)
	pages := []page{
		resized, made("bars of a set")(bars.Draw(counted)), made("bars of a sweep")(OverheadBars(swept, frame, true)),
		made("lines of a sweep")(lines.Draw(swept)),
		made("tornado of a set")(TornadoOf(moved, frame, 3)),
		made("wished lines")(Wished(wishSet(t), results.Wish{X: "kernel.memory", Series: "machine"}, "here")),
		made("wished bars, some absent")(Wished(holey, results.Wish{X: "machine", Series: "workload.hits", Panel: "kernel.memory", Title: "mine"}, "here")),
		made("overhead and missed hits")(OverheadBars(counted, frame, false)),
		made("phases, one without a sum")(PhaseStack(sumless, resultstest.SamplePhases(), frame)),
		made("phases of several")(PhasePanels(resultstest.SeveralExperiments(t), resultstest.SamplePhases(), frame, func(p results.Point) string { return p.Machine })),
	}
	left := caption[:2]
	require.That(t, left[1] == "", "making a figure writes %q behind the caption that it was given", left[1])
	return pages
}

// TestPages holds the sizes, texts and pictures of many figures. KPROBESIM_FIGURES names a folder for the pictures.
func TestPages(t *testing.T) {
	var out bytes.Buffer
	odd := oddPages()
	for i, p := range append(odd, madePages(t)...) {
		w, h := size(p.Figure)
		frame := *p.frame()
		svg := require.Must(renderSVG(p.Figure))(t)
		if i < len(odd) {
			require.NoError(t, require.Err(Render(p.Figure, "odd")))
		}
		fmt.Fprintf(&out, "%s: %.2f x %.2f mm, sha256 %.8x\n\t%s\n\t%s\n", p.name, w.Points()/72*25.4, h.Points()/72*25.4, sha256.Sum256(svg), Alt(p.Figure), Caption(p.Figure))
		got := *p.frame()
		require.That(t, fmt.Sprint(got) == fmt.Sprint(frame), "%s: drawing changes the frame to %v", p.name, got)
	}
	require.Golden(t, *update, "pages.txt", out.Bytes())
}

// TestStyles holds the colours, dashes and marks of kinds of probes, phases and series.
func TestStyles(t *testing.T) {
	var out bytes.Buffer
	hex := func(c color.Color) string {
		r, g, b, a := c.RGBA()
		return fmt.Sprintf("%02x%02x%02x/%02x", r>>8, g>>8, b>>8, a>>8)
	}
	for _, name := range strings.Fields("k kk post faulting b o oo r rb ro j jb je e ee re er f rf kr jr other k-shared r/x=1 f,one") {
		fmt.Fprintf(&out, "kind %s: %q %s, mark %d\n", name, kindOf(name), hex(kindFill(name, 0.25).color), kindMark(name))
	}
	for _, name := range strings.Fields("entry dispatch handler step return kretprobe rethook event detour stop irq kernel workload user other idle") {
		f := layerFill(name, 0, 1)
		fmt.Fprintf(&out, "phase %s: %s", name, hex(f.color))
		if f.hatch != nil {
			fmt.Fprintf(&out, ", hatched %s, falling %v", hex(f.hatch), f.falling)
		}
		out.WriteString("\n")
	}
	for i := range 8 {
		line, mark := lineStyle(i)
		f := seriesFill(i)
		fmt.Fprintf(&out, "%d: line %s %v, mark %v; bar %s, fitted %s %s; layer %s\n", i, hex(line.Color), line.Dashes, mark.Shape,
			hex(f.color), hex(f.hatched().color), hex(f.hatched().hatch), hex(rampFill(i, 8).color))
		fmt.Fprintf(&out, "\ttext on it %s\n", hex(inkOn(rampFill(i, 8).color)))
	}
	require.Golden(t, *update, "styles.txt", out.Bytes())
}

package reports

import (
	"fmt"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/results"
	"kprobesim/results/figures"
)

// crowdKey is the number that charts of a crowd go over: what is swept of it.
func crowdKey(s *results.Set) (key, label string) {
	for _, k := range results.SweptKeys(s) {
		if k == "crowd.same_bucket" {
			return k, "other probes in the bucket"
		}
	}
	return "crowd.probes", "other probes registered"
}

// byPosition names a line by the probe and by where it stands in its bucket.
func byPosition(p results.Point) string { return words(p.Name(), p.Swept("crowd.position")) }

// overCrowd charts a metric over the size of the crowd. The number is swept in powers of about three.
func overCrowd(s *results.Set, f figures.Frame, logY bool, metrics ...figures.SweepLine) (figures.Figure, error) {
	key, label := crowdKey(s)
	f.Title += ": " + place(s.Points()[0])
	f.XLabel = label
	chart := figures.SweepChart{Frame: f, Over: key, Lines: []string{"crowd.position", "crowd.probes"}, LogX: true, LogY: logY, Metrics: metrics}
	return chart.Draw(s)
}

// firstAndLast explains the positions.
const firstAndLast = "first, last: where the probe that is hit stands in its bucket of the hash table"

// positionLine is a line for each probe and position. A probe that stands first is dashed, since nothing lies in its
// way.
func positionLine(metric string) figures.SweepLine {
	return figures.SweepLine{Metric: metric, Series: byPosition, Style: func(p results.Point) figures.LineStyle {
		return figures.LineStyle{Group: p.Name(), Dash: dashedIf(p.Swept("crowd.position") == schema.First)}
	}}
}

func drawCrowding(s *results.Set) (figures.Figure, error) {
	return overCrowd(s, figures.Frame{
		Title: "A hit among other probes", YLabel: "cycles per hit", Caption: []string{firstAndLast},
	}, false, positionLine(results.MetricCycles))
}

func drawCrowdingFirst(s *results.Set) (figures.Figure, error) {
	return overCrowd(s, figures.Frame{
		Title: "The first hit among other probes", YLabel: "cycles", Caption: []string{firstAndLast},
	}, true, positionLine(results.MetricFirst))
}

// drawCrowdingArming leaves the position out, which is of the one probe that is hit.
func drawCrowdingArming(s *results.Set) (figures.Figure, error) {
	line := func(metric, what string, dash figures.Dash) figures.SweepLine {
		return figures.SweepLine{
			Metric: metric,
			Series: func(p results.Point) string {
				if p.Swept("crowd.position") == schema.First {
					return ""
				}
				return words(p.Name(), what)
			},
			Style: func(p results.Point) figures.LineStyle { return figures.LineStyle{Group: p.Name(), Dash: dash} },
		}
	}
	return overCrowd(s, figures.Frame{
		Title: "Registering and arming probes", YLabel: "microseconds a probe", Caption: []string{charged},
	}, true,
		line(kinds.MetricRegister, "register", figures.Solid), line(kinds.MetricArm, "arm", figures.Dashed))
}

// drawCrowdingMemory stacks the parts for the last, largest crowd of each probe.
func drawCrowdingMemory(s *results.Set) (figures.Figure, error) {
	points := s.Points()
	last := map[string]results.Point{}
	st := &figures.Stack{Frame: figures.Frame{
		Title:  "Memory of a registered probe: " + places(s),
		YLabel: "bytes a probe", Caption: results.ExplainProbes(points),
	}}
	for _, p := range points {
		if _, ok := last[p.Name()]; !ok {
			st.Groups = append(st.Groups, p.Name())
		}
		last[p.Name()] = p
	}
	for _, part := range kinds.MemoryParts() {
		layer, sum := figures.Layer{Name: part}, 0.0
		for _, g := range st.Groups {
			r, _ := s.Get(last[g], kinds.BytesPrefix+part)
			layer.Values = append(layer.Values, r.Value.Float())
			sum += r.Value.Float()
		}
		if sum > 0 {
			st.Layers = append(st.Layers, layer)
		}
	}
	if len(st.Layers) == 0 {
		return nil, fmt.Errorf("no memory of probes to chart")
	}
	return st, nil
}

// charged says what of the times is a prior.
const charged = "registering is charged from a table of costs; of arming, the store that arms is executed and the rest charged"

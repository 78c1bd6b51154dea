package kinds

import (
	"fmt"

	"kprobesim/experiments/schema"
	"kprobesim/kprobes"
	"kprobesim/results"
	"kprobesim/results/figures"
	"kprobesim/results/tables"
)

// Crowding measures what many registered probes cost: each hit that looks its probe up among them, registering and
// arming them, and the guest's memory.
const Crowding = "crowding"

// Metrics of crowding beside those of a hit. Times are means over the crowd, in microseconds a probe.
const (
	MetricRegister = "us_per_registration"
	MetricArm      = "us_per_arming"
	metricBucket   = "probes_in_bucket"  // those that stand in the bucket of the point's probe, with it
	metricJumps    = "probes_optimized"  // of the crowd
	metricBytes    = "bytes_per_probe"   // of the guest's memory, over the point's probes and the crowd
	metricMemory   = "kibibytes"         // of all of them
	bytesPrefix    = "bytes_per_probe: " // of a part
)

// charged says what of the times is a prior.
const charged = "registering is charged from a table of costs; of arming, the store that arms is executed and the rest charged"

func crowdingKind() Kind {
	return Kind{
		Name: Crowding, Workload: schema.ReadWorkload, measure: (*session).crowding,
		figures: []Figure{
			{"crowding", drawCrowding},
			{"crowding-first", drawCrowdingFirst},
			{"crowding-arming", drawCrowdingArming},
			{"crowding-memory", drawCrowdingMemory},
		},
		Columns: []tables.ColumnSpec{
			{Title: "in the\nbucket", Metric: metricBucket, Decimals: 0},
			{Title: "cycles\nper hit", Metric: results.MetricCycles, Decimals: 1},
			{Title: "instrs\nper hit", Metric: results.MetricInstructions, Decimals: 1},
			{Title: "first hit\ncycles", Metric: results.MetricFirst, Decimals: 0},
			{Title: "register\nus a probe", Metric: MetricRegister, Decimals: 2},
			{Title: "arm\nus a probe", Metric: MetricArm, Decimals: 2},
			{Title: "optimized", Metric: metricJumps, Decimals: 0, DropZero: true},
			{Title: "bytes\na probe", Metric: metricBytes, Decimals: 0},
			{Title: "memory\nKiB", Metric: metricMemory, Decimals: 1},
		},
		Notes: []string{
			"probes: registered beside the one that is hit; position: of that one in its bucket",
			charged,
		},
	}
}

// crowding measures the loop without a probe, registers the point's probes and the crowd, and measures the loop
// again.
func (s *session) crowding(m *Measurement) error {
	if err := s.online(); err != nil {
		return err
	}
	plain, err := s.baseline(m)
	if err != nil {
		return fmt.Errorf("without the probe: %w", err)
	}
	if err = s.registerSettled(); err == nil {
		err = s.unprofiled(m, plain)
	}
	if err != nil {
		return err
	}
	m.noteHit()
	s.noteTimes(m)
	if err := s.noteTable(m); err != nil {
		return err
	}
	return s.noteMemory(m)
}

// noteTimes notes what registering and arming took, when there was a crowd.
func (s *session) noteTimes(m *Measurement) {
	n := s.p.Crowd.Size()
	if n > 0 {
		s.share(m, MetricRegister, s.crowded.register, n)
	}
	if n > 0 && s.crowded.arm > 0 {
		s.share(m, MetricArm, s.crowded.arm, n)
	}
}

// noteTable notes how full the bucket of the point's probe is, and how many of the crowd were optimized.
func (s *session) noteTable(m *Measurement) error {
	own, err := s.probes.State(s.active[0].Addr)
	if err != nil {
		return err
	}
	inBucket, jumps := int64(1), int64(0)
	var refusal *kprobes.Refusal
	for _, p := range s.crowd {
		st, err := s.probes.State(p.Addr)
		if err != nil {
			return err
		}
		if s.probes.Bucket(st.Addr) == s.probes.Bucket(own.Addr) {
			inBucket++
		}
		if st.Mode == kprobes.Optimized {
			jumps++
		} else if refusal == nil {
			refusal = st.Refusal
		}
	}
	m.note(metricBucket, "probes", inBucket, 1)
	m.note(metricJumps, "probes", jumps, 1)
	if s.p.Probe.Mode == kprobes.Optimized && refusal != nil && !s.p.Crowd.Disabled {
		s.fact(fmt.Sprintf("%d probes of the crowd are not optimized: %s (rule %s)", s.p.Crowd.Size()-jumps, refusal.Text, refusal.Rule))
	}
	return nil
}

// noteMemory notes the memory of all probes and its parts.
func (s *session) noteMemory(m *Measurement) error {
	all := s.crowd
	for _, p := range s.active {
		all = append(all, p.Probe)
	}
	f, err := s.probes.Footprint(all...)
	if err != nil {
		return err
	}
	n := int64(len(all))
	m.note(metricBytes, "bytes", f.Sum(), n)
	for _, part := range footprintParts(f) {
		m.note(bytesPrefix+part.name, "bytes", part.bytes, n)
	}
	m.note(metricMemory, "KiB", f.Sum(), 1024)
	return nil
}

// footprintPart is a part of the memory of probes under the kernel's name of it.
type footprintPart struct {
	name  string
	bytes int64
}

func footprintParts(f kprobes.Footprint) []footprintPart {
	return []footprintPart{
		{"struct", f.Probes},
		{"instances", f.Instances},
		{"aggregate", f.Aggregates},
		{"slot", f.Slots},
		{"detour buffer", f.Detours},
	}
}

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
		line(MetricRegister, "register", figures.Solid), line(MetricArm, "arm", figures.Dashed))
}

// drawCrowdingMemory stacks the parts for the last, largest crowd of each probe.
func drawCrowdingMemory(s *results.Set) (figures.Figure, error) {
	points := s.Points()
	last := map[string]results.Point{}
	st := &figures.Stack{Frame: figures.Frame{
		Title:  "Memory of a registered probe: " + place(points[0]),
		YLabel: "bytes a probe", Caption: results.ExplainProbes(points),
	}}
	for _, p := range points {
		if _, ok := last[p.Name()]; !ok {
			st.Groups = append(st.Groups, p.Name())
		}
		last[p.Name()] = p
	}
	for _, part := range footprintParts(kprobes.Footprint{}) {
		layer, sum := figures.Layer{Name: part.name}, 0.0
		for _, g := range st.Groups {
			r, _ := s.Get(last[g], bytesPrefix+part.name)
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

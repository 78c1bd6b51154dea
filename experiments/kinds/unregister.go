package kinds

import (
	"fmt"

	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/internal/doc"
	"kprobesim/results"
	"kprobesim/results/figures"
	"kprobesim/results/tables"
)

// Unregister measures what unregistering a probe costs when many are unregistered, with one call
// each and all with one.
const Unregister = "unregister-batch"

// Metrics of unregister-batch, in microseconds a probe.
const (
	MetricSingly   = "us_per_probe_singly"
	MetricTogether = "us_per_probe_together"
)

func unregisterKind() Kind {
	return Kind{
		Name: Unregister, Workload: readUnregister, measure: (*session).unregister, Check: noCrowd,
		figures: []Figure{{"unregister", drawUnregister}},
		Columns: []tables.ColumnSpec{
			{Title: "one call each\nus a probe", Metric: MetricSingly, Decimals: 2},
			{Title: "one call\nus a probe", Metric: MetricTogether, Decimals: 2},
		},
	}
}

// readUnregister wants the load said: busy CPUs make grace periods long, idle ones end them at once.
func readUnregister(r *doc.Reader) schema.Workload {
	defer r.Done()
	return schema.Workload{
		Batch:  doc.Need(r, "batch", doc.Int(1, maxBatch)),
		Singly: doc.Need(r, "singly", doc.Int(1, maxBatch)),
		Load:   doc.Need(r, "load", doc.OneOf(loads()...)),
	}
}

// unregister registers a batch twice and takes the time of unregistering it. One call each is
// measured on fewer probes when the workload says so, since every call waits for a grace period.
func (s *session) unregister(m *Measurement) error {
	if err := s.online(); err != nil {
		return err
	}
	stop, err := s.load()
	if err != nil {
		return err
	}
	n := min(s.p.Workload.Batch, s.p.Workload.Singly)
	took, err := s.unregisterOnce(n, s.removeSingly)
	if err != nil {
		return fmt.Errorf("one call each: %w", err)
	}
	s.share(m, MetricSingly, took, n)
	before := s.read()
	if took, err = s.unregisterOnce(s.p.Workload.Batch, s.removeTogether); err != nil {
		return fmt.Errorf("one call: %w", err)
	}
	m.Accounts = s.account(before, s.read())
	s.share(m, MetricTogether, took, s.p.Workload.Batch)
	return stop()
}

// unregisterOnce registers n probes, brings them into the mode of the point, and takes the time that
// remove needs. Registration and optimization are not part of that time.
func (s *session) unregisterOnce(n int64, remove func() error) (clock.Ticks, error) {
	if err := s.addSites(n); err != nil {
		return 0, err
	}
	if err := s.probes.WaitOptimizer(s.call); err != nil {
		return 0, err
	}
	if err := s.verify(); err != nil {
		return 0, err
	}
	from := s.m.Now()
	err := remove()
	return s.m.Now() - from, err
}

// drawUnregister tells both ways apart by dashes and probes by colours. Loads have panels.
func drawUnregister(s *results.Set) (figures.Figure, error) {
	line := func(metric, how string, dash figures.Dash) figures.SweepLine {
		return figures.SweepLine{
			Metric: metric,
			Series: func(p results.Point) string { return p.Name() + ", " + how },
			Style:  func(p results.Point) figures.LineStyle { return figures.LineStyle{Group: p.Name(), Dash: dash} },
		}
	}
	chart := figures.SweepChart{Over: "workload.batch", LogX: true, LogY: true, Frame: figures.Frame{
		Title:  "Unregistering probes: " + place(s.Points()[0]),
		XLabel: "probes", YLabel: "microseconds a probe",
	}}
	chart.Metrics = []figures.SweepLine{
		line(MetricTogether, "one call", figures.Solid), line(MetricSingly, "one call each", figures.Dashed),
	}
	return chart.Draw(s)
}

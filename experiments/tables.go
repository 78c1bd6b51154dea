package experiments

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/results"
)

// Table returns the table that people read.
func (r *Report) Table() *results.Table {
	var t *results.Table
	if k := kindOf(r.Plan.Kind); k.name == KindOverhead {
		t = results.Tabulate(r.Set, results.OverheadColumns(phasesOf(r.Set)))
	} else {
		t = sweepTable(r.Set, k)
	}
	t.Title = r.Plan.Title
	t.Notes = append(t.Notes, r.notes()...)
	return t
}

// machineOverrides returns the overrides that change what the fitted numbers were fitted with.
func machineOverrides(sets []string) []string {
	return slices.DeleteFunc(slices.Clone(sets), func(s string) bool {
		return !strings.HasPrefix(s, "machine") && !strings.HasPrefix(s, "kernel")
	})
}

// fits says for each experiment of the report what was fitted, and where when it was not fitted here.
func (r *Report) fits() []string {
	var notes []string
	seen := map[string]bool{}
	for _, pt := range r.Plan.Points {
		if m := pt.Machine; !seen[pt.Experiment] && len(m.FittedParams()) > 0 {
			notes = append(notes, fitNote(m, r.fittedHere(pt.Experiment)))
		}
		seen[pt.Experiment] = true
	}
	return notes
}

// fittedHere reports whether an experiment has a point that something was fitted on.
func (r *Report) fittedHere(experiment string) bool {
	return slices.ContainsFunc(r.Plan.Points, func(pt Point) bool {
		return pt.Experiment == experiment && pt.Probe.Role == results.Fitted
	})
}

func fitNote(m *Machine, here bool) string {
	n := len(m.FittedParams())
	note := fmt.Sprintf("%s: %d parameter%s fitted on %s", m.Name, n, plural(n), strings.Join(m.FittedOn(), ", "))
	if here {
		return note + "; every other figure is predicted"
	}
	return note + " of " + filepath.Base(m.Experiment) + "; every figure here is predicted"
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// notes are the lines below a table: fits, overrides, sources, and what was noticed at points.
func (r *Report) notes() []string {
	var notes []string
	notes = append(notes, r.fits()...)
	_, undrawn := r.drawable()
	notes = append(notes, undrawn...)
	if o := machineOverrides(r.Plan.Overrides); len(o) > 0 {
		notes = append(notes, "the machine was changed, and nothing fitted anew: "+strings.Join(o, ", "))
	}
	for _, s := range r.Set.Sources() {
		notes = append(notes, "published: "+s)
	}
	for _, o := range r.Outcomes {
		if o.Err == nil {
			notes = append(notes, prefix(o.Point.Name+": ", o.Measurement.Notes)...)
		}
	}
	return notes
}

// Tables returns the tables that people read: one for an experiment, and for a collection its figures
// and its differences.
func (r *Report) Tables() []*results.Table {
	if len(r.Plan.Collected) == 0 {
		return []*results.Table{r.Table()}
	}
	tables := []*results.Table{r.publishedTable()}
	if t := r.differencesTable(); len(t.Rows) > 0 {
		tables = append(tables, t)
	}
	return tables
}

// publishedTable holds every figure against the published one.
func (r *Report) publishedTable() *results.Table {
	t := results.Tabulate(r.Set, results.PublishedColumns())
	t.BlankRepeats(3)
	t.Title = r.Plan.Title
	t.Notes = append(t.Notes, r.accuracy()...)
	t.Notes = append(t.Notes, r.notes()...)
	return t
}

// accuracy says how far the predictions of the report are off.
func (r *Report) accuracy() []string {
	var errors []results.Value
	var worst results.Record
	for _, rec := range r.Set.Records() {
		if rec.Metric != results.MetricError || rec.Role != results.Predicted {
			continue
		}
		errors = append(errors, rec.Value)
		if rec.Value.Abs().Cmp(worst.Value.Abs()) > 0 {
			worst = rec
		}
	}
	mean, err := results.MeanAbs(errors)
	if err != nil {
		return nil // nothing was predicted
	}
	note := fmt.Sprintf("%d predictions: mean absolute error %s %%", len(errors), mean.Round(1))
	if worst.Probe != "" {
		note += fmt.Sprintf(", largest %s %% (%s of %s)", worst.Value.Abs().Round(1), worst.Probe, worst.Experiment)
	}
	return []string{note}
}

// differencesTable holds the differences against the published figures, in cycles.
func (r *Report) differencesTable() *results.Table {
	t := &results.Table{
		Title: "What one probe costs more than another, in cycles",
		Columns: []results.Column{
			{Title: "difference"},
			{Title: "machine"},
			{Title: "era"},
			{Title: "published\ncycles", Align: results.Right},
			{Title: "rounding\n+-", Align: results.Right},
			{Title: "simulated\ncycles", Align: results.Right},
			{Title: "error\n%", Align: results.Right},
			{Title: "fitted\nin it"},
			{Title: "what it is"},
		},
	}
	for _, d := range r.Plan.Differences {
		means := d.Means
		for _, p := range r.Plan.pairs(d) {
			row := r.difference(p)
			if row == nil {
				continue
			}
			t.Rows = append(t.Rows, slices.Concat([]string{d.String()}, row, []string{means}))
			means = "" // said once
		}
	}
	t.BlankRepeats(1)
	return t
}

// difference fills the row of one pair, or returns nil when one of its points failed.
func (r *Report) difference(p pair) []string {
	of, okOf := r.Set.Get(p.of.at(), results.MetricCycles)
	less, okLess := r.Set.Get(p.less.at(), results.MetricCycles)
	if !okOf || !okLess {
		return nil
	}
	perMicro := float64(p.of.Machine.CPU.Hz) / 1e6
	a, b := p.of.Probe.Published.Micros, p.less.Probe.Published.Micros
	published, rounding := a.Sub(b).Float()*perMicro, (halfDigit(a)+halfDigit(b))*perMicro
	simulated := of.Value.Sub(less.Value).Float()
	return []string{
		p.of.Machine.Name, p.of.Kernel.Era, fmt.Sprintf("%.0f", published), fmt.Sprintf("%.0f", rounding),
		fmt.Sprintf("%.0f", simulated), errorText(simulated, published), fittedOf(p),
	}
}

// halfDigit returns how far a printed figure may be from what was measured.
func halfDigit(v results.Value) float64 {
	_, high := v.Bounds()
	return high.Sub(v).Float()
}

// errorText is the error of a difference in percent; one that was published as zero has none.
func errorText(simulated, published float64) string {
	if published == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1f", 100*(simulated-published)/math.Abs(published))
}

// fittedOf names those of two points that a number was fitted on.
func fittedOf(p pair) string {
	var names []string
	for _, pt := range []*Point{p.of, p.less} {
		if pt.Probe.Role == results.Fitted {
			names = append(names, pt.Probe.Name)
		}
	}
	return strings.Join(names, ", ")
}

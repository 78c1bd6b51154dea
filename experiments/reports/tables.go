package reports

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/machines"
	"kprobesim/results"
)

// sweepTable tabulates what was swept and the columns of a kind.
func sweepTable(s *results.Set, k kinds.Kind) *results.Table {
	t := results.Tabulate(s, append(results.SweepColumns(s), k.Columns...))
	t.Notes = append(t.Notes, k.Notes...)
	return t
}

// Table returns the table that people read.
func (r *Report) Table() *results.Table {
	var t *results.Table
	if k := kinds.Of(r.Plan.Kind); k.Name == kinds.Overhead {
		t = results.Tabulate(r.Set, results.OverheadColumns(kinds.PhasesOf(r.Set)))
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
			notes = append(notes, fitNote(m, pt.Experiment, r.fittedHere(pt.Experiment)))
		}
		seen[pt.Experiment] = true
	}
	return notes
}

// fittedHere reports whether an experiment has a point that something was fitted on.
func (r *Report) fittedHere(experiment string) bool {
	return slices.ContainsFunc(r.Plan.Points, func(pt schema.Point) bool {
		return pt.Experiment == experiment && pt.Probe.Role == results.Fitted
	})
}

// fitNote says on what a machine was fitted, and what that leaves of the figures of an experiment.
func fitNote(m *machines.Machine, experiment string, here bool) string {
	n := len(m.FittedParams())
	note := fmt.Sprintf("%s: %d parameter%s fitted on %s", m.Name, n, plural(n), strings.Join(m.FittedOn(), ", "))
	if from := strings.TrimSuffix(filepath.Base(m.Experiment), ".toml"); from != experiment {
		note += " of " + from
	}
	if here {
		return note + "; every other figure is predicted"
	}
	return note + "; every figure here is predicted"
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

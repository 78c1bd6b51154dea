package reports

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/experiments/schema"
	"kprobesim/internal/distinct"
	"kprobesim/machines"
	"kprobesim/results"
	"kprobesim/results/tables"
)

// sweepTable tabulates what was swept and the columns of a kind. Several experiments have a column of their names.
func sweepTable(s *results.Set, p presentation) *tables.Table {
	columns := append(tables.SweepColumns(s), p.columns...)
	if len(s.Points()) > 0 && several(s) {
		columns = slices.Insert(columns, 0, tables.ColumnSpec{Title: "experiment", Key: func(p results.Point) string { return p.Experiment }})
	}
	t := tables.Tabulate(s, columns)
	t.Notes = append(t.Notes, p.notes...)
	return t
}

// Table returns the table that people read.
func (r *Report) Table() *tables.Table {
	var t *tables.Table
	if r.Plan.Kind == schema.KindOverhead {
		t = tables.Tabulate(r.Means, tables.OverheadColumns(r.Means, phasesOf(r.Means)))
	} else {
		p, _ := presentationOf(r.Plan.Kind)
		t = sweepTable(r.Means, p)
	}
	t.Title = r.title()
	t.Notes = append(t.Notes, r.notes()...)
	return t
}

// fits says for each experiment of the report what was fitted, and where when it was not fitted here. What holds
// for several is said once.
func (r *Report) fits() []string {
	var notes []string
	seen := map[string]bool{}
	for _, pt := range r.Plan.Points {
		if seen[pt.Experiment] {
			continue
		}
		seen[pt.Experiment] = true
		m := pt.Machine
		if note := inherits(m); note != "" {
			notes = distinct.Append(notes, note)
		}
		if len(m.FittedParams()) > 0 && !m.InheritsFigures() {
			notes = distinct.Append(notes, r.fitNote(m, pt.Experiment))
		}
	}
	return notes
}

// roles returns the roles that the points of an experiment have, and whether any has a published figure.
func (r *Report) roles(experiment string) (roles map[results.Role]bool, published bool) {
	roles = map[results.Role]bool{}
	for _, pt := range r.Plan.Points {
		if pt.Experiment == experiment {
			roles[pt.Probe.Role] = true
			published = published || pt.Published() != nil
		}
	}
	return roles, published
}

// inherits says how many numbers of each class a user's description has from the machine that it builds on, and which of
// them are fitted on figures of that machine. Descriptions of this program say the same in their documents.
func inherits(m *machines.Machine) string {
	if !m.InheritsFigures() {
		return ""
	}
	all, have := map[string]int{}, map[string]int{}
	for _, p := range m.Params {
		class, _, _ := strings.Cut(p.Path, ".")
		if all[class]++; m.Inherited(p) {
			have[class]++
		}
	}
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(have)) {
		parts = append(parts, fmt.Sprintf("%s %d of %d", class, have[class], all[class]))
	}
	note := fmt.Sprintf("%s inherits from %s: %s", m.Name, strings.TrimSuffix(filepath.Base(m.FiguresOf), ".toml"), strings.Join(parts, ", "))
	var fitted []string
	for _, p := range m.FittedParams() {
		if m.Inherited(p) {
			fitted = append(fitted, p.Path)
		}
	}
	if len(fitted) > 0 {
		note += "; fitted on figures of that machine: " + strings.Join(fitted, ", ")
	}
	return note
}

// fitNote says on what a machine was fitted, and what that leaves of the figures of an experiment.
func (r *Report) fitNote(m *machines.Machine, experiment string) string {
	n := len(m.FittedParams())
	note := fmt.Sprintf("%s: %d parameter%s fitted on %s", m.Name, n, plural(n), strings.Join(m.FittedOn(), ", "))
	if from := strings.TrimSuffix(filepath.Base(cmp.Or(m.Experiment, m.Measured)), ".toml"); from != experiment {
		note += " of " + from
	}
	roles, published := r.roles(experiment)
	switch {
	case !published:
		note += "; nobody published a figure of this setup"
	case roles[results.Fitted] && roles[results.Predicted] && !roles[results.Simulated]:
		note += "; every other figure is predicted"
	case roles[results.Predicted] && !roles[results.Simulated]:
		note += "; every figure here is predicted"
	}
	return note
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// title is the title of the experiment, with where it ran and what was set in front of the eye.
func (r *Report) title() string { return Placed(r.Plan.Title, r.Set.Points()) + r.Set.OverridesText() }

// Placed is the title of an experiment with the machine, instruction set and era that its points ran on, unless they differ.
func Placed(title string, points []results.Point) string {
	if len(points) > 0 && !results.Differ(points, place) {
		title += ", " + place(points[0])
	}
	return title
}

// notes are the lines below a table: fits, overrides, sources, and what was noticed at points.
func (r *Report) notes() []string {
	var notes []string
	notes = append(notes, r.fits()...)
	_, undrawn := r.drawable()
	notes = append(notes, undrawn...)
	if o := r.Plan.Overrides; len(o) > 0 {
		notes = append(notes, "set: "+strings.Join(o, ", "))
		notes = append(notes, r.moved()...)
	}
	notes = append(notes, r.Plan.Notes...)
	notes = append(notes, r.claims()...)
	for _, s := range r.Set.Sources() {
		notes = append(notes, "published: "+s)
	}
	notes = append(notes, r.doubts()...)
	return append(notes, r.noticed()...)
}

// moved says which kernels a setting chose that moved experiments to another instruction set, and which points are
// others than their names say. Kernels of a collection have the names of their experiments behind them.
func (r *Report) moved() (notes []string) {
	if !slices.ContainsFunc(r.Plan.Overrides, func(s string) bool { return strings.HasPrefix(s, schema.PortKey+"=") }) {
		return nil
	}
	var images []string
	by := map[string][]string{}
	for _, pt := range r.Plan.Points {
		im := pt.Image.Name
		images = distinct.Append(images, im)
		by[im] = distinct.Append(by[im], pt.Experiment)
	}
	for _, im := range images {
		note := "kernel " + im
		if len(r.Plan.Collected) > 0 {
			note += ": " + strings.Join(by[im], ", ")
		}
		notes = append(notes, note)
	}
	if m := r.Plan.Moved; len(m.Points) > 0 {
		notes = append(notes, fmt.Sprintf("%s, where the experiment says %s: %s", m.Is, m.Was, strings.Join(m.Points, ", ")))
	}
	for _, left := range r.Plan.Moved.Left {
		notes = append(notes, "left out, as "+r.Plan.Points[0].Target.Name+" has none: "+left)
	}
	return notes
}

// noticed says what was noticed at points, of the replicates of a point once.
func (r *Report) noticed() []string {
	var notes []string
	seen := map[string]bool{}
	for _, o := range r.Outcomes {
		if o.Err != nil {
			continue
		}
		at, _, _ := strings.Cut(o.Point.Name, "/replicate=")
		for _, n := range prefix(at+": ", o.Measurement.Notes) {
			if !seen[n] {
				seen[n] = true
				notes = append(notes, n)
			}
		}
	}
	return notes
}

// doubts says how far published figures may be from a second measurement, and where that is from.
func (r *Report) doubts() []string {
	var notes []string
	least, most := math.MaxFloat64, 0.0
	for i := range r.Plan.Points {
		pub := r.Plan.Points[i].Published()
		if pub == nil {
			continue
		}
		cycles := halfDigit(pub.Micros) * float64(r.Plan.Points[i].Machine.CPU.Hz) / 1e6
		least, most = min(least, cycles), max(most, cycles)
		again := pub.Repeats
		if text := fmt.Sprintf("repeats: +-%s %%: %s", again.Percent, again.Source); again.Source != "" {
			notes = distinct.Append(notes, text)
		}
	}
	if most == 0 {
		return nil
	}
	rounding := fmt.Sprintf("rounding: half of the last printed digit, +-%.0f cycles", least)
	if fmt.Sprintf("%.0f", most) != fmt.Sprintf("%.0f", least) {
		rounding = fmt.Sprintf("rounding: half of the last printed digit, +-%.0f to %.0f cycles", least, most)
	}
	return append([]string{rounding}, notes...)
}

// claims says by what points differ from what their published figures were measured on, one line a
// difference with the points that it concerns.
func (r *Report) claims() []string {
	var notes []string
	points := map[string][]string{}
	add := func(pt *schema.Point, text string) {
		if len(points[text]) == 0 {
			notes = append(notes, text)
		}
		points[text] = append(points[text], pt.Name)
	}
	for i := range r.Plan.Points {
		pt := &r.Plan.Points[i]
		for _, d := range pt.Differs {
			add(pt, "not the setup of the published figures: "+d)
		}
		for _, d := range pt.Remodelled {
			add(pt, "another model of the measured machine, nothing fitted anew: "+d)
		}
	}
	more := len(notes) - mostClaims
	notes = notes[:min(len(notes), mostClaims)]
	for i, text := range notes {
		if of := points[text]; len(of) < len(r.Plan.Points) {
			notes[i] = text + " (" + shortened(of) + ")"
		}
	}
	if more > 0 {
		notes = append(notes, fmt.Sprintf("%d more such differences: no published figure stands where a point has one", more))
	}
	return notes
}

// mostClaims bounds the differences from published setups that are told one by one. A sweep has one for each of its values.
const mostClaims = 20

// shortened lists names, the first few when there are many.
func shortened(names []string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more points", strings.Join(names[:most], ", "), len(names)-most)
}

// Tables returns the tables that people read: one for an experiment, and for a collection one for each kind of experiment
// and one of its differences. What is said of the whole stands below the last kind.
func (r *Report) Tables() (all []*tables.Table) {
	if len(r.Plan.Collected) == 0 {
		return []*tables.Table{r.Table()}
	}
	experiments, kinds := map[string]string{}, []string(nil)
	for i := range r.Plan.Points {
		pt := &r.Plan.Points[i]
		experiments[pt.Experiment] = pt.Kind
		kinds = distinct.Append(kinds, pt.Kind)
	}
	for _, kind := range kinds {
		t := r.collectedTable(kind, r.Means.Only(func(p results.Point) bool { return experiments[p.Experiment] == kind }))
		if t.Title = r.title(); len(kinds) > 1 {
			t.Title += ": " + kind
		}
		all = append(all, t)
	}
	last := all[len(all)-1]
	last.Notes = append(last.Notes, r.notes()...)
	if t := r.differencesTable(); len(t.Rows) > 0 {
		all = append(all, t)
	}
	return all
}

// collectedTable holds every overhead against the published one, and has the columns of other kinds. A collection that charts
// cycles has them in its table.
func (r *Report) collectedTable(kind string, s *results.Set) *tables.Table {
	if p, _ := presentationOf(kind); kind != schema.KindOverhead {
		return sweepTable(s, p)
	}
	t := tables.Tabulate(s, tables.PublishedColumns(slices.Contains(r.Plan.Figures, figurePhases)))
	t.BlankRepeats(3)
	t.Notes = append(t.Notes, r.accuracy()...)
	return t
}

// accuracy says how far the predictions of the report are off.
func (r *Report) accuracy() []string {
	note := predictions(r.Means)
	if note == "" {
		return nil
	}
	return slices.Concat([]string{note}, r.sisters(), r.unexplained())
}

// predictions says how far the predictions of a set are off, nothing when there are none.
func predictions(s *results.Set) string {
	var errors []results.Value
	var worst results.Record
	for rec := range s.All() {
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
		return "" // nothing was predicted
	}
	note := fmt.Sprintf("%d prediction%s: mean absolute error %s %%", len(errors), plural(len(errors)), mean.Round(1))
	if worst.Probe != "" {
		note += fmt.Sprintf(", largest %s %% (%s of %s)", worst.Value.Abs().Round(1), worst.Probe, worst.Experiment)
	}
	return note
}

// unexplained names the predictions whose error exceeds the doubts of their published figure.
func (r *Report) unexplained() []string {
	var of []string
	for rec := range r.Means.All() {
		if rec.Metric == results.MetricUnexplained && rec.Role == results.Predicted && !rec.Value.IsZero() {
			of = append(of, fmt.Sprintf("%s of %s by %s %%", rec.Probe, rec.Experiment, rec.Value.Abs().Round(1)))
		}
	}
	switch {
	case !r.hasRepeats():
		return nil
	case len(of) == 0:
		return []string{"no error of a prediction exceeds the rounding and the repeats of its published figure"}
	}
	return []string{"beyond rounding and repeats: " + strings.Join(of, ", ")}
}

package sensitivity

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"kprobesim/experiments/reports"
	"kprobesim/results"
	"kprobesim/results/figures"
	"kprobesim/results/formats"
	"kprobesim/results/outdir"
	"kprobesim/results/tables"
)

// Set returns the records of the analysis: of each row what it is, and of each number that moves a row
// what every row does at its ends.
func (a *Analysis) Set() (*results.Set, error) {
	s := &results.Set{Overrides: slices.Clone(a.user())}
	for i := range a.Plan.Points {
		w := recorder{at: a.Plan.Points[i].At()}
		w.add(results.MetricCycles, "cycles", a.base[i])
		w.add(results.MetricHits, "hits", big.NewRat(a.hits[i], 1))
		if a.fit != nil {
			w.add(results.MetricRefitted, "numbers", big.NewRat(int64(len(a.fit.params)), 1))
		}
		for k := range a.Effects {
			w.effect(a, &a.Effects[k], i)
		}
		if w.err == nil {
			w.err = s.Add(w.out...)
		}
		if w.err != nil {
			return nil, fmt.Errorf("numbers of the analysis: %w", w.err)
		}
	}
	return s, nil
}

// recorder collects the records of one row; the first error stays.
type recorder struct {
	at  results.Point
	out []results.Record
	err error
}

// add rounds a value to the decimals of records.
func (w *recorder) add(metric, unit string, v *big.Rat) {
	value, err := results.Rational(v)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("%s: %w", metric, err)
	}
	w.out = append(w.out, results.Record{
		Point: w.at, Metric: metric, Unit: unit, Value: value, Role: results.Simulated,
	})
}

// effect adds what a number does to the row.
func (w *recorder) effect(a *Analysis, e *Effect, row int) {
	at := w.at
	w.at = at.WithNumber(e.Name())
	for _, end := range []struct {
		to                  string
		cycles              []*big.Rat
		number, metric, pct string
	}{
		{e.Low, e.AtLow, results.MetricLowEnd, results.MetricLowCycles, results.MetricLowPct},
		{e.High, e.AtHigh, results.MetricHighEnd, results.MetricHighCycles, results.MetricHighPct},
	} {
		if end.cycles == nil {
			continue
		}
		number, unit, _ := strings.Cut(end.to, " ")
		if unit == "" {
			unit = "units"
		}
		v, ok := new(big.Rat).SetString(number)
		if !ok {
			v = new(big.Rat)
		}
		w.add(end.number, unit, v)
		w.add(end.metric, "cycles", end.cycles[row])
		w.add(end.pct, "%", a.change(row, end.cycles))
	}
	w.at = at
}

// places are the points without their numbers.
func (a *Analysis) places() (all []results.Point) {
	for i := range a.Plan.Points {
		all = append(all, a.Plan.Points[i].At())
	}
	return all
}

// Table lists the numbers that move each row most, so many of each.
func (a *Analysis) Table(top int) *tables.Table {
	t := &tables.Table{
		Title:   "What moves a hit most: " + reports.Placed(a.Plan.Title, a.places()),
		Columns: tables.Columns("probe", "number", ">is", ">low", ">high", "uncertainty", ">at low\n%", ">at high\n%"),
	}
	for i := range a.Plan.Points {
		name := a.Plan.Points[i].Label
		for _, e := range a.Top(i, top) {
			t.Rows = append(t.Rows, []string{
				name, e.Name(), e.Value, e.Low, e.High, e.Doubt(), a.cell(i, e.AtLow), a.cell(i, e.AtHigh),
			})
		}
		all := a.Together(i)
		t.Rows = append(t.Rows, []string{name, "all together", "", "", "", "if independent", change(-all), change(all)})
	}
	t.BlankRepeats(1)
	t.Notes = a.notes()
	return t
}

// cell is a change in percent, empty for an end that there is not.
func (a *Analysis) cell(row int, to []*big.Rat) string {
	if to == nil {
		return ""
	}
	return change(a.Percent(row, to))
}

// change writes a change in percent; nothing has no sign.
func change(percent float64) string {
	if text := fmt.Sprintf("%+.1f", percent); strings.Trim(text, "+-0.") != "" {
		return text
	}
	return "0.0"
}

// notes say what was varied and what was not.
func (a *Analysis) notes() []string {
	l := a.Left
	varied := len(a.Effects) + l.Unused
	notes := []string{
		fmt.Sprintf("%s: %d numbers varied, one at a time; %d of them move a row; %d are left out, as no measured path or not this cost model uses them", a.Machine.Name, varied,
			len(a.Effects), l.Unused),
		fmt.Sprintf("not varied: %d fitted, %d counts, sizes and frequencies that were read in a source, %d costs of nothing, %d that the description refuses",
			l.Fitted, l.Exact, l.Zero, l.Refused),
	}
	if a.fit != nil {
		notes = append(notes, "what is fitted is fitted again behind each change, so that the figures that it is fitted on stay")
	} else if l.Fitted > 0 {
		notes = append(notes, "the fitted numbers stay (--refit fits them again behind each change)")
	}
	if sets := a.user(); len(sets) > 0 {
		notes = append(notes, "set: "+strings.Join(sets, ", "))
	}
	if a.shortened {
		notes = append(notes, fmt.Sprintf("every point makes %d calls, fewer than the experiment", mostHits))
	}
	return append(notes, a.Notes...)
}

// Files returns the contents of the results directory.
func (a *Analysis) Files() (map[string][]byte, error) {
	s, err := a.Set()
	if err != nil {
		return nil, err
	}
	m := &outdir.Manifest{Program: outdir.This(), Inputs: a.Plan.Inputs, Overrides: a.Plan.Overrides, Seed: a.Plan.Seed}
	for i := range a.Plan.Points {
		m.Points = append(m.Points, outdir.PointStatus{Name: a.Plan.Points[i].Name, Status: outdir.StatusOK})
	}
	manifest, err := m.JSON()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{outdir.ManifestName: manifest, reports.ResultsName: formats.CSV(s)}
	if err = reports.Draw(files, s, []string{reports.FigureTornado}, reports.Look{}); errors.Is(err, figures.ErrNotSwept) {
		err = nil // no number moves a row, which the table says
	}
	return files, err
}

package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/results"
	"kprobesim/results/tables"
)

// moreThan names what a metric is in the records of a difference.
func moreThan(metric, less string) string { return metric + "_more_than_" + less }

// difference returns records at the first point of a pair: what that costs more
// than the second one, simulated (cycles, us) and published (us). A difference of two fitted points is
// fitted. A pair of which a point failed, or was measured on another setup, has no records.
func (r *Report) difference(d schema.Difference, p schema.Pair) []results.Record {
	role := differenceRole(p.Of.Probe.Role, p.Less.Probe.Role)
	var out []results.Record
	for _, metric := range []string{results.MetricCycles, results.MetricMicros, results.MetricPublished} {
		of, okOf := r.Set.Get(p.Of.At(), metric)
		less, okLess := r.Set.Get(p.Less.At(), metric)
		if !okOf || !okLess {
			return nil
		}
		of.Metric, of.Value = moreThan(of.Metric, d.Less), of.Value.Sub(less.Value)
		if of.Role != results.Measured {
			of.Role = role
		}
		out = append(out, of)
	}
	return out
}

// differenceRole is the weaker claim of two: a simulated figure makes its difference one, and one that
// was not fitted makes it a prediction.
func differenceRole(a, b results.Role) results.Role {
	for _, role := range []results.Role{results.Simulated, results.Predicted} {
		if a == role || b == role {
			return role
		}
	}
	return results.Fitted
}

// addDifferences adds the records of every difference of a collection. Where numbers make no record, the
// first point of the difference counts as failed.
func (r *Report) addDifferences() {
	for _, d := range r.Plan.Differences {
		for _, p := range r.Plan.Pairs(d) {
			err := r.Set.Add(r.difference(d, p)...)
			if err == nil {
				continue
			}
			i := slices.IndexFunc(r.Outcomes, func(o running.Outcome) bool { return o.Point.Name == p.Of.Name })
			r.Outcomes[i].Err = fmt.Errorf("difference %s: %w", d, err)
		}
	}
}

// differencesTable holds the differences against the published figures, in cycles.
func (r *Report) differencesTable() *tables.Table {
	t := &tables.Table{
		Title:   "What one probe costs more than another, in cycles",
		Columns: tables.Columns("difference", "machine", "era", ">published\ncycles", ">rounding\n+-", ">repeats\n+-", ">simulated\ncycles", ">error\n%", ">unex-\nplained %", "fitted\nin it", "what it is"),
	}
	for _, d := range r.Plan.Differences {
		means := d.Means
		for _, p := range r.Plan.Pairs(d) {
			if p.Of.Further {
				continue // the means stand at the first replicate
			}
			row := r.differenceRow(d, p)
			if row == nil {
				continue
			}
			t.Rows = append(t.Rows, slices.Concat([]string{d.String()}, row, []string{means}))
			means = "" // said once
		}
	}
	t.BlankRepeats(1)
	if r.hasRepeats() {
		t.Notes = append(t.Notes, "repeats of a difference: the same share of it as of a figure, because both figures are of one run")
	}
	return t
}

// hasRepeats reports whether anything is known of second measurements.
func (r *Report) hasRepeats() bool {
	return slices.ContainsFunc(r.Plan.Points, func(pt schema.Point) bool {
		pub := pt.Published()
		return pub != nil && !pub.Repeats.Percent.IsZero()
	})
}

// differenceRow fills the row of one pair, or returns nil when one of its points failed.
func (r *Report) differenceRow(d schema.Difference, p schema.Pair) []string {
	more, ok := r.Means.Get(p.Of.At(), moreThan(results.MetricCycles, d.Less))
	if !ok {
		return nil
	}
	perMicro := float64(p.Of.Machine.CPU.Hz) / 1e6
	a, b := p.Of.Probe.Published, p.Less.Probe.Published
	published := a.Micros.Sub(b.Micros).Float() * perMicro
	rounding := (halfDigit(a.Micros) + halfDigit(b.Micros)) * perMicro
	simulated, again, left := more.Value.Float(), "-", "-"
	if share := a.Repeats.Percent.Float(); share > 0 {
		repeats := math.Abs(published) * share / 100
		again = fmt.Sprintf("%.0f", repeats)
		left = errorText(beyond(simulated, published, rounding+repeats), published)
	}
	return []string{
		p.Of.Machine.Name, p.Of.Kernel.Era, fmt.Sprintf("%.0f", published), fmt.Sprintf("%.0f", rounding), again,
		fmt.Sprintf("%.0f", simulated), errorText(simulated, published), left, fittedOf(p),
	}
}

// beyond returns the simulated value less what the doubts of the published one explain of its error.
func beyond(simulated, published, doubts float64) float64 {
	miss := simulated - published
	return published + math.Copysign(max(0, math.Abs(miss)-doubts), miss)
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
	if simulated == published {
		return "0.0"
	}
	return fmt.Sprintf("%+.1f", 100*(simulated-published)/math.Abs(published))
}

// fittedOf names the points of a pair that a number was fitted on.
func fittedOf(p schema.Pair) string {
	var names []string
	for _, pt := range []*schema.Point{p.Of, p.Less} {
		if pt.Probe.Role == results.Fitted {
			names = append(names, pt.Probe.Name)
		}
	}
	return strings.Join(names, ", ")
}

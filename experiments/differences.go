package experiments

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"kprobesim/internal/doc"
	"kprobesim/results"
)

// Difference is a quantity that a collection holds against the published figures: what one probe costs
// more than another one of the same experiment.
type Difference struct {
	Of, Less string // names of points
	Era      string // of the kernels for which it is reported; "" for all
	Means    string // what the difference consists of
	pos      doc.Pos
}

// String names the difference as tables do.
func (d Difference) String() string { return d.Of + " - " + d.Less }

func readDifference(r *doc.Reader) Difference {
	defer r.Done()
	return Difference{
		Of: doc.Need(r, "of", doc.Text), Less: doc.Need(r, "less", doc.Text),
		Era: doc.Opt(r, "era", "", doc.Name), Means: doc.Need(r, "means", doc.Text),
		pos: r.Pos(),
	}
}

// checkDifferences holds every difference to figures that were published, otherwise it would be missing
// in the table without a word, and to being asked for once.
func (p *planner) checkDifferences() {
	seen := map[string]doc.Pos{}
	for _, d := range p.plan.Differences {
		pairs := p.plan.pairs(d)
		for _, pr := range pairs {
			name := pr.of.Name + " - " + pr.less.Name
			if first, twice := seen[name]; twice {
				p.errs.Add(d.pos, "differences: %s is also asked for at %s: leave one out", name, first)
				break
			}
			seen[name] = d.pos
		}
		if len(pairs) == 0 {
			p.errs.Add(d.pos, "differences: no collected experiment%s has published figures of both %s and %s",
				ofEra(d.Era), d.Of, d.Less)
		}
	}
}

func ofEra(era string) string {
	if era == "" {
		return ""
	}
	return " of era " + era
}

// pair is the two points of a difference in one experiment.
type pair struct{ of, less *Point }

// pairs returns the points of a difference in each experiment that has published figures of both, with
// every combination of a sweep.
func (p *Plan) pairs(d Difference) []pair {
	var out []pair
	for i := range p.Points {
		of := &p.Points[i]
		if of.Probe.Name != d.Of || of.Probe.Published == nil || d.Era != "" && d.Era != of.Kernel.Era {
			continue
		}
		want := of.Experiment + ":" + d.Less + strings.TrimPrefix(of.Label, of.Probe.Name)
		if less, err := p.Point(want); err == nil && less.Probe.Published != nil {
			out = append(out, pair{of, less})
		}
	}
	return out
}

// moreThan names what a metric is in the records of a difference.
func moreThan(metric, less string) string { return metric + "_more_than_" + less }

// difference returns the records of a pair, which are those of its first point: what it costs more
// than the second one, simulated (cycles, us) and published (us). A difference of two fitted points is
// fitted, every other one predicted. A pair of which a point failed has no records.
func (r *Report) difference(d Difference, p pair) []results.Record {
	role := results.Predicted
	if p.of.Probe.Role == results.Fitted && p.less.Probe.Role == results.Fitted {
		role = results.Fitted
	}
	var out []results.Record
	for _, metric := range []string{results.MetricCycles, results.MetricMicros, results.MetricPublished} {
		of, okOf := r.Set.Get(p.of.at(), metric)
		less, okLess := r.Set.Get(p.less.at(), metric)
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

// addDifferences adds the records of every difference of a collection. Where numbers make no record, the
// first point of the difference counts as failed.
func (r *Report) addDifferences() {
	for _, d := range r.Plan.Differences {
		for _, p := range r.Plan.pairs(d) {
			err := r.Set.Add(r.difference(d, p)...)
			if err == nil {
				continue
			}
			i := slices.IndexFunc(r.Outcomes, func(o Outcome) bool { return o.Point.Name == p.of.Name })
			r.Outcomes[i].Err = fmt.Errorf("difference %s: %w", d, err)
		}
	}
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
			row := r.differenceRow(d, p)
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

// differenceRow fills the row of one pair, or returns nil when one of its points failed.
func (r *Report) differenceRow(d Difference, p pair) []string {
	more, ok := r.Set.Get(p.of.at(), moreThan(results.MetricCycles, d.Less))
	if !ok {
		return nil
	}
	perMicro := float64(p.of.Machine.CPU.Hz) / 1e6
	a, b := p.of.Probe.Published.Micros, p.less.Probe.Published.Micros
	published, rounding := a.Sub(b).Float()*perMicro, (halfDigit(a)+halfDigit(b))*perMicro
	simulated := more.Value.Float()
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

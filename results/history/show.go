package history

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"kprobesim/results"
	"kprobesim/results/compare"
	"kprobesim/results/figures"
	"kprobesim/results/tables"
)

// Merit is a figure of merit: a metric of an experiment, at all of its points.
type Merit struct {
	Experiment, Metric, Unit string
	Revisions                []Revision
	Series                   []*Series
}

// Merits puts series of one experiment and metric together.
func Merits(revisions []Revision, series []*Series) (all []*Merit) {
	for _, s := range series {
		i := slices.IndexFunc(all, func(m *Merit) bool { return m.Experiment == s.Point.Experiment && m.Metric == s.Metric })
		if i < 0 {
			i = len(all)
			all = append(all, &Merit{Experiment: s.Point.Experiment, Metric: s.Metric, Unit: s.Unit, Revisions: revisions})
		}
		all[i].Series = append(all[i].Series, s)
	}
	return all
}

// name is the merit as a title has it.
func (m *Merit) name() string { return m.Experiment + ": " + m.Metric }

// span says over which revisions the merit was followed.
func (m *Merit) span() string {
	last := len(m.Revisions) - 1
	return fmt.Sprintf("%d revisions, from %s to %s", last+1, m.Revisions[0].label(), m.Revisions[last].label())
}

// Table lists the revisions at which points of the merit stepped, and the largest of these steps. Where results of revisions
// between were not kept, the step lies behind the last that was.
func (m *Merit) Table() *tables.Table {
	t := &tables.Table{Title: m.name(), Columns: tables.Columns("since", "date", ">points\nmoved", ">largest\nchange", ">before\n"+m.Unit, ">after\n"+m.Unit, "at")}
	steps, still := m.steps()
	for i, r := range m.Revisions {
		if len(steps[i]) == 0 {
			continue
		}
		most := slices.MaxFunc(steps[i], func(a, b pointStep) int { return cmp.Compare(a.size(), b.size()) })
		t.Rows = append(t.Rows, []string{
			r.Name, r.Date, strconv.Itoa(len(steps[i])), percent(most.Percent()),
			number(most.Before), number(most.After), compare.PointName(most.point),
		})
		if r.Subject != "" {
			t.Notes = append(t.Notes, r.Name+": "+r.Subject)
		}
	}
	t.Notes = append([]string{m.span(), fmt.Sprintf("%d of %d points kept their level", still, len(m.Series))}, t.Notes...)
	return t
}

// pointStep is a step and where it is.
type pointStep struct {
	Step
	point results.Point
}

// steps returns the steps by the index of their revision, and how many points have none.
func (m *Merit) steps() (by map[int][]pointStep, still int) {
	by = map[int][]pointStep{}
	for _, s := range m.Series {
		steps := s.Steps()
		if len(steps) == 0 {
			still++
		}
		for _, x := range steps {
			by[x.First] = append(by[x.First], pointStep{x, s.Point})
		}
	}
	return by, still
}

func number(v float64) string { return fmt.Sprintf("%.6g", v) }

func percent(v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return "from zero"
	}
	return fmt.Sprintf("%+.3g %%", v)
}

// mostShown is how many points a figure has. More lines cannot be told apart.
const mostShown = 6

// Figure draws the merit over the revisions, relative to its first value: the points that newer revisions have, those with
// the largest steps first. A point that began at
// zero has no such change, so there may be no line at all.
func (m *Merit) Figure() *figures.Lines {
	shown := slices.DeleteFunc(slices.Clone(m.Series), func(s *Series) bool { return s.Values[0].IsZero() })
	slices.SortStableFunc(shown, func(a, b *Series) int {
		return cmp.Or(b.At[len(b.At)-1]-a.At[len(a.At)-1], cmp.Compare(b.largest(), a.largest()))
	})
	shown = shown[:min(len(shown), mostShown)]
	l := &figures.Lines{Frame: figures.Frame{
		Title: m.name(), XLabel: "revision, oldest first", YLabel: "change since the first, %",
		Caption: []string{m.span() + "."},
	}}
	for i, r := range m.Revisions {
		if slices.ContainsFunc(shown, func(s *Series) bool { return s.stepsAt(i) }) {
			l.Caption = append(l.Caption, fmt.Sprintf("%d: %s %s", i+1, r.label(), r.Subject))
		}
	}
	if n := len(m.Series) - len(shown); n > 0 {
		l.Caption = append(l.Caption, fmt.Sprintf("Not drawn: %d points that older revisions had, that began at zero, or with smaller steps.", n))
	}
	for _, s := range shown {
		l.Series = append(l.Series, figures.LineSeries{Name: compare.PointName(s.Point), Points: s.relative()})
	}
	return l
}

func (s *Series) stepsAt(revision int) bool {
	return slices.ContainsFunc(s.Steps(), func(x Step) bool { return x.First == revision })
}

// relative returns the changes of the values since the first one, in percent.
func (s *Series) relative() (points []figures.XY) {
	first := s.Values[0].Float()
	for i, v := range s.Values {
		points = append(points, figures.XY{X: float64(s.At[i] + 1), Y: (v.Float()/first - 1) * 100})
	}
	return points
}

// CSV returns all values of the merits in long form: a line for each revision that has a figure. A revision's name may be any folder's,
// so fields are quoted where they need it.
func CSV(merits []*Merit) ([]byte, error) {
	lines := [][]string{strings.Split("revision,date,experiment,machine,isa,era,cpus,seed,probe,metric,unit,value,step", ",")}
	for _, m := range merits {
		for _, s := range m.Series {
			for i, v := range s.Values {
				r, p := m.Revisions[s.At[i]], s.Point
				lines = append(lines, []string{
					r.Name, r.Date, p.Experiment, p.Machine, p.ISA, p.Era, strconv.Itoa(p.CPUs),
					fmt.Sprint(p.Seed), p.Probe, s.Metric, s.Unit, v.String(), strconv.FormatBool(s.stepsAt(s.At[i])),
				})
			}
		}
	}
	var b bytes.Buffer
	err := csv.NewWriter(&b).WriteAll(lines)
	return b.Bytes(), err
}

package tables

import (
	"fmt"
	"slices"
	"strings"

	"kprobesim/results"
)

// mostRows bounds a table that people read.
const mostRows = 1000

// missing stands in a cell for an observation that was not made.
const missing = "-"

// ColumnSpec declares a column over the points of a set. Exactly one of Key, Metric and RoleOf says
// what its cells hold.
type ColumnSpec struct {
	Title    string
	Key      func(results.Point) string // a text from the point itself
	Metric   string                     // the value of this metric
	RoleOf   string                     // the role of this metric's record
	Decimals int                        // of a metric; negative keeps the value's own decimals
	Signed   bool                       // write + before positive values
	DropZero bool                       // leave the column out when no point has a value other than zero
	Beside   string                     // leave the column out when no point has this metric
	Interval bool                       // put the interval of each mean behind it, when any shows at these decimals
}

// Tabulate fills a table: one row a point, in the order of the set; a point without a column's
// metric shows "-". Columns of metrics stand right, others left. Points behind the first mostRows are counted below it.
func Tabulate(s *results.Set, specs []ColumnSpec) *Table {
	t := &Table{}
	points := s.Points()
	rows := points[:min(len(points), mostRows)]
	t.Rows = make([][]string, len(rows))
	for _, spec := range append(slices.Clip(specs), countColumns()...) {
		if spec.DropZero && spec.allZero(s, points) || spec.pointless(s, points) {
			continue
		}
		t.Columns = append(t.Columns, spec.column())
		for i, p := range rows {
			t.Rows[i] = append(t.Rows[i], spec.cell(s, p))
		}
		if spec.Interval && spec.spreads(s, points) {
			t.addIntervals(s, rows, spec)
		}
	}
	if more := len(points) - len(rows); more > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d more points are in the files of the results, not in this table", more))
	}
	t.Notes = append(t.Notes, countNotes(s)...)
	t.Notes = append(t.Notes, results.ReplicateNotes(s, "95 % interval of the mean (bootstrap) where it shows in these digits")...)
	return t
}

func (c ColumnSpec) column() Column {
	if c.Metric != "" {
		return Column{Title: c.Title, Align: Right}
	}
	return Column{Title: c.Title}
}

func (c ColumnSpec) allZero(s *results.Set, points []results.Point) bool {
	for _, p := range points {
		if r, ok := s.Get(p, c.Metric); ok && !r.Value.IsZero() {
			return false
		}
	}
	return true
}

// pointless reports whether the metric that the column stands beside is nowhere.
func (c ColumnSpec) pointless(s *results.Set, points []results.Point) bool {
	return c.Beside != "" && !slices.ContainsFunc(points, func(p results.Point) bool {
		_, ok := s.Get(p, c.Beside)
		return ok
	})
}

func (c ColumnSpec) cell(s *results.Set, p results.Point) string {
	if c.Key != nil {
		return c.Key(p)
	}
	r, ok := s.Get(p, c.Metric+c.RoleOf)
	switch {
	case !ok:
		return missing
	case c.RoleOf != "":
		return string(r.Role)
	}
	if strings.HasPrefix(c.Metric, results.PhaseMetric("")) {
		return c.number(r.Value) // the figure that phases are parts of is marked
	}
	return c.number(r.Value) + s.Mark(p, c.Metric)
}

func (c ColumnSpec) number(v results.Value) string {
	if c.Decimals >= 0 {
		v = v.Round(c.Decimals)
	}
	if c.Signed {
		return results.Signed(v)
	}
	return v.String()
}

package results

import "slices"

// missing stands in a cell for an observation that was not made.
const missing = "-"

// ColumnSpec declares a column over the points of a set. Exactly one of Key, Metric and RoleOf says
// what its cells hold.
type ColumnSpec struct {
	Title    string
	Key      func(Point) string // a text from the point itself
	Metric   string             // the value of this metric
	RoleOf   string             // the role of this metric's record
	Decimals int                // of a metric; negative keeps the value's own decimals
	Signed   bool               // write + before positive values
	DropZero bool               // leave the column out when no point has a value other than zero
	Beside   string             // leave the column out when no point has this metric
	Interval bool               // put the interval of each mean behind it, when any shows at these decimals
}

// ProbeColumn is the column that names the probe of a row.
func ProbeColumn() ColumnSpec {
	return ColumnSpec{Title: "probe", Key: func(p Point) string { return p.Probe }}
}

// OverheadColumns declares the table of the overhead of probe hits: cycles and microseconds, the
// published figure, the error, fitted or predicted, instructions, cycles by phase in the given order
// (a phase that is zero or absent for every probe is left out), and the first, cold hit.
func OverheadColumns(phases []string) []ColumnSpec {
	specs := []ColumnSpec{
		ProbeColumn(),
		{Title: "cycles\nper hit", Metric: MetricCycles, Decimals: 1, Interval: true},
		{Title: "us\nper hit", Metric: MetricMicros, Decimals: 3},
		{Title: "published\nus", Metric: MetricPublished, Decimals: -1},
		{Title: "error\n%", Metric: MetricError, Decimals: 1, Signed: true},
		{Title: "unex-\nplained %", Metric: MetricUnexplained, Decimals: 1, Signed: true, DropZero: true},
		{Title: "role", RoleOf: MetricMicros},
		{Title: "instrs\nper hit", Metric: MetricInstructions, Decimals: 1},
	}
	for _, phase := range phases {
		specs = append(specs, ColumnSpec{
			Title: phase + "\ncycles", Metric: PhaseMetric(phase), Decimals: 1, DropZero: true,
		})
	}
	specs = append(specs, callColumns()...)
	return append(specs, ColumnSpec{
		Title: "first hit\ncycles", Metric: MetricFirst, Decimals: 0, DropZero: true, Interval: true,
	})
}

// PublishedColumns declares the table that holds experiments of several machines against published
// figures: where, which probe, the published figure with its doubts, the simulated one, its error and what
// of it the doubts leave unexplained, and whether it was fitted or predicted. What is said of published figures is
// left out where there are none. Cycles stand beside microseconds if they are asked for.
func PublishedColumns(cycles bool) []ColumnSpec {
	columns := []ColumnSpec{
		{Title: "machine", Key: func(p Point) string { return p.Machine }},
		{Title: "era", Key: func(p Point) string { return p.Era }},
		{Title: "ISA", Key: func(p Point) string { return p.ISA }},
		ProbeColumn(),
		{Title: "published\nus", Metric: MetricPublished, Decimals: -1, Beside: MetricPublished},
		{Title: "rounding\n+- us", Metric: MetricRounding, Decimals: 3, Beside: MetricPublished},
		{Title: "repeats\n+- us", Metric: MetricRepeats, Decimals: 3, Beside: MetricPublished},
		{Title: "simulated\nus", Metric: MetricMicros, Decimals: 3, Interval: true},
		{Title: "error\n%", Metric: MetricError, Decimals: 1, Signed: true, Beside: MetricPublished},
		{Title: "unex-\nplained %", Metric: MetricUnexplained, Decimals: 1, Signed: true, Beside: MetricPublished},
		{Title: "role", RoleOf: MetricMicros},
	}
	if !cycles {
		return columns
	}
	at := slices.IndexFunc(columns, func(c ColumnSpec) bool { return c.Metric == MetricMicros })
	return slices.Insert(columns, at+1, ColumnSpec{Title: "\ncycles", Metric: MetricCycles, Decimals: 0, Interval: true})
}

// Tabulate fills a table: one row a point, in the order of the set; a point without a column's
// metric shows "-". Columns of metrics stand right, others left.
func Tabulate(s *Set, specs []ColumnSpec) *Table {
	t := &Table{}
	points := s.Points()
	t.Rows = make([][]string, len(points))
	for _, spec := range append(slices.Clip(specs), countColumns()...) {
		if spec.DropZero && spec.allZero(s, points) || spec.pointless(s, points) {
			continue
		}
		t.Columns = append(t.Columns, spec.column())
		for i, p := range points {
			t.Rows[i] = append(t.Rows[i], spec.cell(s, p))
		}
		if spec.Interval && spec.spreads(s, points) {
			t.addIntervals(s, points, spec)
		}
	}
	t.Notes = append(t.Notes, countNotes(s)...)
	t.Notes = append(t.Notes, replicateNotes(s, "95 % interval of the mean (bootstrap) where it shows in these digits")...)
	return t
}

func (c ColumnSpec) column() Column {
	if c.Metric != "" {
		return Column{Title: c.Title, Align: Right}
	}
	return Column{Title: c.Title}
}

func (c ColumnSpec) allZero(s *Set, points []Point) bool {
	for _, p := range points {
		if r, ok := s.Get(p, c.Metric); ok && !r.Value.IsZero() {
			return false
		}
	}
	return true
}

// pointless reports whether the metric that the column stands beside is nowhere.
func (c ColumnSpec) pointless(s *Set, points []Point) bool {
	return c.Beside != "" && !slices.ContainsFunc(points, func(p Point) bool {
		_, ok := s.Get(p, c.Beside)
		return ok
	})
}

func (c ColumnSpec) cell(s *Set, p Point) string {
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
	return c.number(r.Value) + s.markOf(p, c.Metric)
}

func (c ColumnSpec) number(v Value) string {
	if c.Decimals >= 0 {
		v = v.Round(c.Decimals)
	}
	if c.Signed {
		return signed(v)
	}
	return v.String()
}

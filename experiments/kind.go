package experiments

import (
	"strconv"

	"kprobesim/internal/doc"
	"kprobesim/results"
)

// kind is what an experiment measures, and how that is reported. Each has a file of its own.
type kind struct {
	name string
	// workload reads the table [workload], whose keys differ from kind to kind.
	workload func(r *doc.Reader) Workload
	// figures are those that an experiment may ask for.
	figures []figureOf
	// columns are the numbers of the table, behind the columns of the sweep.
	columns []results.ColumnSpec
	notes   []string // below the table: what words mean
	// check finds what the kind cannot measure; may be nil.
	check func(e *Experiment) []mistake
	// measure runs a point on a machine that has booted and fills in the measurement.
	measure func(s *session, m *Measurement) error
}

// mistake is what is wrong with the value at a path of an experiment.
type mistake struct {
	path []string
	text string
}

// probesWith asks of every probe what is wrong with it, "" for nothing; it concerns one of its keys.
func probesWith(e *Experiment, wrong func(*Probe) string, key string) []mistake {
	var all []mistake
	for i := range e.Probes {
		if text := wrong(&e.Probes[i]); text != "" {
			all = append(all, mistake{[]string{"points", strconv.Itoa(i), key}, text})
		}
	}
	return all
}

// figureOf is a figure by its name.
type figureOf struct {
	name string
	draw func(s *results.Set) (results.Figure, error)
}

// KindOverhead measures what a probe hit costs, the default.
const KindOverhead = "overhead"

// kinds lists every kind, the default first.
func kinds() []kind {
	return []kind{
		overheadKind(), latencyKind(), bystanderKind(), scalingKind(), irqOffKind(), unregisterKind(),
		missedKind(),
	}
}

func overheadKind() kind {
	return kind{
		name: KindOverhead, workload: readWorkload, measure: (*session).overhead,
		figures: []figureOf{{FigureOverhead, drawOverhead}, {FigurePhases, drawPhases}},
	}
}

func knownKinds() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// kindOf returns the kind of a name, the default for one that there is not.
func kindOf(name string) kind {
	for _, k := range kinds() {
		if k.name == name {
			return k
		}
	}
	return overheadKind()
}

// figureNames lists the figures of a kind.
func (k kind) figureNames() []string {
	var names []string
	for _, f := range k.figures {
		names = append(names, f.name)
	}
	return names
}

// allFigures returns the figures of all kinds.
func allFigures() []figureOf {
	var all []figureOf
	for _, k := range kinds() {
		all = append(all, k.figures...)
	}
	return all
}

// FigureNames lists the figures that a results directory can hold.
func FigureNames() []string {
	var names []string
	for _, f := range allFigures() {
		names = append(names, f.name)
	}
	return names
}

// Quantity is an observation that is not the overhead of a hit: Num over Den of Unit.
type Quantity struct {
	Metric, Unit string
	Num, Den     int64
}

// quantities turns the quantities of a measurement into records.
func quantities(p *Point, m *Measurement) ([]results.Record, error) {
	w := recorder{at: p.at(), role: p.Probe.Role}
	for _, q := range m.Quantities {
		w.ratio(q.Metric, q.Unit, q.Num, q.Den)
	}
	return w.out, w.err
}

// sweepTable tabulates what was swept and the columns of a kind.
func sweepTable(s *results.Set, k kind) *results.Table {
	t := results.Tabulate(s, append(results.SweepColumns(s), k.columns...))
	t.Notes = append(t.Notes, k.notes...)
	return t
}

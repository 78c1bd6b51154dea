package reports

import (
	_ "embed" // the tables of kinds
	"fmt"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/internal/doc"
	"kprobesim/results"
	"kprobesim/results/figures"
	"kprobesim/results/tables"
)

// kindsText has the columns and notes of the table of each kind.
//
//go:embed kinds.toml
var kindsText []byte

// presentation is how the table of a kind shows its results.
type presentation struct {
	columns []tables.ColumnSpec // behind the columns of the sweep
	notes   []string            // below the table: what words mean
}

// presentationOf returns how a kind is shown; false for a kind that no experiment has, such as an analysis.
func presentationOf(kind string) (p presentation, known bool) {
	var errs doc.Errors
	root, err := doc.Parse("kinds.toml", kindsText)
	if err != nil {
		panic(err) // the file is part of the program
	}
	n := root.Get(kind)
	if n == nil {
		return p, false
	}
	r := doc.NewReader(n, &errs)
	p.notes = doc.Opt(r, "notes", nil, doc.ListOf(doc.Text))
	for _, c := range r.List("columns") {
		p.columns = append(p.columns, tables.ColumnSpec{
			Title: doc.Need(c, "title", doc.Text), Metric: doc.Need(c, "metric", doc.Text),
			Decimals: int(doc.Opt(c, "decimals", 0, doc.Int(0, results.MaxDecimals))),
			DropZero: doc.Opt(c, "drop_zero", false, doc.Flag), Interval: true,
		})
		c.Done()
	}
	r.Done()
	if len(errs) > 0 {
		panic(fmt.Sprint(errs.Err()))
	}
	return p, true
}

// namedFigure is a figure by its name. Its name is unique among all kinds, because figures are asked for by name alone.
type namedFigure struct {
	name string
	draw func(s *results.Set) (figures.Figure, error)
	of   string // metric by which experiments of its kind are known, "" where it shows points of all kinds
}

// shown returns the points of a set that a figure shows: all that are of its kind. A set of one experiment has no others.
func (f *namedFigure) shown(s *results.Set) *results.Set {
	if f.of == "" || !several(s) {
		return s
	}
	of := map[string]bool{}
	for r := range s.All() {
		if r.Metric == f.of {
			of[r.Experiment] = true
		}
	}
	return s.Only(func(p results.Point) bool { return len(of) == 0 || of[p.Experiment] })
}

// FigureTornado is the figure of an analysis of sensitivity. No experiment can ask for it.
const FigureTornado = "tornado"

// Figures that a collection may have.
const (
	figureOverhead = "overhead"
	figurePhases   = "phases"
)

// allFigures lists the figures of all kinds, and that of an analysis. A collection draws figures of several kinds.
func allFigures() []namedFigure {
	return []namedFigure{
		{figureOverhead, drawOverhead, results.MetricUnprobed},
		{figurePhases, drawPhases, results.MetricUnprobed},
		{"calls", drawCalls, results.MetricUnprobed},
		{"latency", drawLatency, kinds.MetricOptimized},
		{"latency-parts", drawLatencyParts, kinds.MetricOptimized},
		{"bystander", drawBystander, kinds.BystanderMetric(kinds.Operations()[0])},
		{"scaling", drawScaling, kinds.MetricRate},
		{"irq-off", drawIRQOff, kinds.MetricOff},
		{"unregister", drawUnregister, kinds.MetricTogether},
		{"missed", drawMissed, kinds.MetricMissShare},
		{"missed-default", drawMissedDefault, kinds.MetricMissShare},
		{"missed-least", drawMissedLeast, kinds.MetricMissShare},
		{"crowding", drawCrowding, kinds.MetricArm},
		{"crowding-first", drawCrowdingFirst, kinds.MetricArm},
		{"crowding-arming", drawCrowdingArming, kinds.MetricArm},
		{"crowding-memory", drawCrowdingMemory, kinds.MetricArm},
		{"attach", drawAttachTime, kinds.MetricStep(kinds.StepRegister)},
		{schema.KindEventRate, drawEventRate, kinds.MetricEvent},
		{schema.KindUserProbes, drawUserProbes, kinds.MetricUserWarm},
		{schema.KindWatchpoints, drawWatchpoints, kinds.MetricWatch},
		{"watchpoints-registering", drawWatching, kinds.MetricWatch},
		{"linux-phases", drawLinux, kinds.MetricCall},
		{"linux-attach", drawAttach, kinds.MetricTrigger},
		{"linux-workload", drawWorkload, kinds.MetricRegion},
		{FigureTornado, drawTornado, ""},
		{"figure", drawWished, ""},
	}
}

// FigureNames lists the figures that a results directory can hold.
func FigureNames() (names []string) {
	for _, f := range allFigures() {
		names = append(names, f.name)
	}
	return names
}

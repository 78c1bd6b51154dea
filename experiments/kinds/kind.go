package kinds

import (
	"fmt"
	"io"
	"strconv"

	"kprobesim/cpus"
	"kprobesim/experiments/schema"
	"kprobesim/internal/doc"
	"kprobesim/results"
	"kprobesim/results/figures"
	"kprobesim/results/tables"
	"kprobesim/sim"
)

// Kind is what an experiment measures, and how that is reported. Each has a file of its own. Its
// functions are values, so that reading, running and drawing look a kind up and never switch on its
// name.
type Kind struct {
	Name string
	// Linux are the parameters of the kernel of a distribution for a number of CPUs where the kind boots one in place of one
	// of this program's, nil elsewhere.
	Linux func(cpus int) string
	// Workload reads the table [workload], whose keys differ from kind to kind.
	Workload func(r *doc.Reader) schema.Workload
	// figures are those that an experiment may ask for.
	figures []Figure
	// Columns are the numbers of the table, behind the columns of the sweep.
	Columns []tables.ColumnSpec
	Notes   []string // below the table: what words mean
	// Check finds what the kind cannot measure; may be nil.
	Check func(e *schema.Experiment) []Mistake
	// Once says why replicates of the kind would all be the same, "" for one whose replicates differ.
	Once string
	// measure runs a point on a machine that has booted and fills in the measurement.
	measure func(s *session, m *Measurement) error
	// trace writes one hit; may be nil where the workload's loop makes the calls.
	trace func(s *session, n int64, w io.Writer) error
	// alone and traceAlone stand for measure and trace of a kind that boots no kernel of this program.
	alone      func(p *schema.Point, watch func(*sim.Machine) cpus.Observer) (*Measurement, error)
	traceAlone func(p *schema.Point, n int64, w io.Writer) error
}

// Mistake is what is wrong with the value at a path of an experiment. Whoever reads the experiment
// adds file and line, so that all mistakes of a file are reported at once.
type Mistake struct {
	Path []string // of keys, for instance points, 0, mode
	Text string
}

// probesWith asks of every probe what is wrong with it, "" for nothing; it concerns one of its keys.
// The path lets the reader of the file point at the line of that key.
func probesWith(e *schema.Experiment, wrong func(*schema.Probe) string, key string) []Mistake {
	var all []Mistake
	for i := range e.Probes {
		if text := wrong(&e.Probes[i]); text != "" {
			all = append(all, Mistake{[]string{"points", strconv.Itoa(i), key}, text})
		}
	}
	return all
}

// warmOnly refuses to go without a warm-up where calls are measured that cannot be the first ones.
func warmOnly(e *schema.Experiment) []Mistake {
	if e.Workload.Warmup > 0 {
		return nil
	}
	return []Mistake{{
		[]string{"workload", "warmup"},
		fmt.Sprintf("kind %s measures warm hits: 1 or more; a cold hit is measured by kind %s", e.Kind, Overhead),
	}}
}

// Figure is a figure by its name. Its name is unique among all kinds, because figures are asked for
// by name alone.
type Figure struct {
	Name string
	Draw func(s *results.Set) (figures.Figure, error)
}

// List has every kind, the default first. It is a function because packages keep no variables.
func List() []Kind {
	return []Kind{
		overheadKind(), latencyKind(), bystanderKind(), scalingKind(), irqOffKind(), unregisterKind(),
		missedKind(), crowdingKind(), userProbesKind(),
		watchpointsKind(), linuxKind(),
	}
}

// Names lists the names of all kinds, the default first.
func Names() []string {
	var names []string
	for _, k := range List() {
		names = append(names, k.Name)
	}
	return names
}

// Of returns the kind of a name, the default for one that there is not. Reading has refused unknown
// names before.
func Of(name string) Kind {
	for _, k := range List() {
		if k.Name == name {
			return k
		}
	}
	return overheadKind()
}

// FigureNames lists the figures of a kind. An experiment may ask for these and no others.
func (k Kind) FigureNames() []string {
	var names []string
	for _, f := range k.figures {
		names = append(names, f.Name)
	}
	return names
}

// Figures returns the figures of all kinds, and that of an analysis. A collection draws figures of
// several kinds.
func Figures() []Figure {
	var all []Figure
	for _, k := range List() {
		all = append(all, k.figures...)
	}
	return append(all, Figure{FigureTornado, drawTornado})
}

// FigureNames lists the figures that a results directory can hold.
func FigureNames() []string {
	var names []string
	for _, f := range Figures() {
		names = append(names, f.Name)
	}
	return names
}

// Package results has what a measurement gives: exact decimal numbers (Value), records of a point's metrics (Record, Set),
// and the means of replicates with their intervals (Means). It knows nothing of the simulator, and could hold measurements of
// a real machine.
//
// The packages below it turn records into what people read and keep. The data flow is one way:
//
//	reports -> results -> formats   results.csv, results.json, bench.txt, inputs.txt
//	                   -> tables    text, LaTeX, Markdown, CSV
//	                   -> figures   SVG, PNG, PDF, PGF
//	                   -> compare   the exact comparison with a committed baseline
//	          files    -> outdir    the results directory, whole or not at all
//
// Everything written is a function of what was handed in: no clock, no host name, no map order, so that the same experiment
// is the same bytes. Floats appear only where figures are drawn.
package results

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Role says how a number came about.
type Role string

// The roles of a record.
const (
	Fitted    Role = "fitted"    // a parameter was fitted on the figure this number is compared with
	Predicted Role = "predicted" // computed for a setup with a published figure that nothing was fitted on
	Simulated Role = "simulated" // computed for a setup that nobody has published a figure of
	Measured  Role = "measured"  // published by someone who ran a real machine
)

// Point identifies what was observed. Probe is the probe kind; a sweep appends its parameters as
// "/name=value" ("k/work=100").
type Point struct {
	Experiment string
	Machine    string
	ISA        string
	Era        string
	CPUs       int
	Seed       uint64
	Replicate  int // which of the layouts that the seed gives, from 0
	Probe      string
}

// Record is one observation. Source names the publication of a measured value; it is for captions
// and notes and is not a column of the CSV form (the experiment file is where sources live). Spread is
// computed from records and no column either.
type Record struct {
	Point
	Metric string
	Unit   string
	Value  Value
	Role   Role
	Source string
	Spread Interval // of a mean over replicates, see Means
}

// String names the record without its value.
func (r Record) String() string {
	return fmt.Sprintf("%s %s %s", r.Experiment, r.Probe, r.Metric)
}

// validate refuses what the CSV form could not hold.
func (r Record) validate() error {
	names := Columns()
	for i, text := range r.Fields() {
		if err := CheckField(text); err != nil {
			return fmt.Errorf("%s %q %w", names[i], text, err)
		}
	}
	if r.CPUs < 1 {
		return fmt.Errorf("cpus %d is not positive", r.CPUs)
	}
	if r.Replicate < 0 {
		return fmt.Errorf("replicate %d is below zero", r.Replicate)
	}
	return r.Role.validate()
}

func (r Role) validate() error {
	switch r {
	case Fitted, Predicted, Simulated, Measured:
		return nil
	}
	return fmt.Errorf("role %q is not one of fitted, predicted, simulated, measured", string(r))
}

// CheckField holds a field to what needs no quoting.
func CheckField(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("is empty")
	case !utf8.ValidString(s):
		return fmt.Errorf("is not UTF-8")
	case strings.ContainsAny(s, ",\""):
		return fmt.Errorf("holds a comma or a quote")
	case strings.TrimSpace(s) != s:
		return fmt.Errorf("begins or ends with a space")
	case strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }):
		return fmt.Errorf("holds an unprintable character")
	}
	return nil
}

// Columns names the columns of the long form.
func Columns() []string {
	return []string{
		"experiment", "machine", "isa", "era", "cpus", "seed", "probe", "metric", "unit", "value",
		"role",
	}
}

// Fields returns the columns of one record, as Columns names them.
func (r Record) Fields() []string {
	return []string{
		r.Experiment, r.Machine, r.ISA, r.Era, strconv.Itoa(r.CPUs),
		strconv.FormatUint(r.Seed, 10), r.Probe, r.Metric, r.Unit, r.Value.String(),
		string(r.Role),
	}
}

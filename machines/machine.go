package machines

import (
	"maps"
	"path/filepath"
	"slices"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/doc"
)

// Machine is a machine description: what one CPU of it costs, and where every number comes from.
type Machine struct {
	Name  string // as experiments name it
	Title string // as tables and figures print it
	ISA   string // name of the instruction set
	File  string // where the description was read
	CPU   cpus.Config

	TimerHz int64   // what the timers of the interrupt controllers count
	Params  []Param // every number of the description, in the order in which it is read

	// Sources says what the names before the colon in Param.Source stand for.
	Sources map[string]string

	// Experiment is the file whose published figures the fitted parameters were fitted on, or "".
	Experiment string
	// Measured is the folder of measured figures that they were fitted on in place of published ones, or "".
	Measured string
	// FiguresOf is the file that names one of these: another one than File where a description inherits it from its base.
	FiguresOf string
}

// Param is one number of a machine description with its origin.
type Param struct {
	Path   string   // dotted path of the number, for instance "event.mispredict.cycles"
	Value  string   // as written; of an event tied by same_as the name of the other event
	Source string   // where it was published, or from what it follows
	Fitted []string // names of the points it was fitted on; empty for a sourced number
	Pos    doc.Pos

	Uncertainty Uncertainty
}

// Mark notes that a parameter was overridden, so that its old source does not vouch for the new
// value.
func (m *Machine) Mark(s doc.Setting) {
	key := s.Key()
	for i := range m.Params {
		if p := &m.Params[i]; p.Path == key {
			p.Source = "overridden by " + s.Value.Pos.String()
		}
	}
}

// FittedOn returns the names of the points that any parameter of m was fitted on, sorted.
// Package experiments holds these points apart: a figure that a number was fitted on is no test of
// it.
func (m *Machine) FittedOn() []string {
	set := map[string]bool{}
	for _, p := range m.Params {
		for _, f := range p.Fitted {
			set[f] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// CalibratedBy reports whether m was fitted on the experiment of a name and file.
// Experiments name machines and machines name experiments, by name or by path, so both ways have
// to be met.
func (m *Machine) CalibratedBy(name, file string) bool {
	if !doc.IsPath(m.Experiment) {
		return m.Experiment == name
	}
	return absolute(m.Experiment) == absolute(file)
}

// absolute returns a path from the root, so that two ways to write it can be compared.
func absolute(file string) string {
	if abs, err := filepath.Abs(file); err == nil {
		return abs
	}
	return filepath.Clean(file) // no folder to start from
}

// FittedParams returns the parameters of m that are marked fitted.
func (m *Machine) FittedParams() []Param {
	return slices.DeleteFunc(slices.Clone(m.Params), func(p Param) bool { return len(p.Fitted) == 0 })
}

// Inherited reports whether a number is that of another description, on which this one builds.
func (m *Machine) Inherited(p Param) bool { return p.Pos.File != m.File }

// InheritsFigures reports whether the figures that numbers were fitted on are figures of another machine.
func (m *Machine) InheritsFigures() bool { return m.FiguresOf != "" && m.FiguresOf != m.File }

// MaxCost bounds one cost: a hundred thousand cycles is more than anything a CPU does.
const MaxCost = 100_000 * clock.PerCycle

package schema

import (
	"fmt"
	"slices"
	"strings"

	"kprobesim/image"
	"kprobesim/internal/doc"
	"kprobesim/machines"
	"kprobesim/results"
	"kprobesim/results/formats"
	"kprobesim/results/outdir"
	"kprobesim/sim"
	"kprobesim/targets"
)

// Plan is an experiment ready to run: everything was read and checked, nothing in it changes.
type Plan struct {
	Name, Title string
	Kind        string // what the points measure
	File        string // the experiment file
	Figures     []string
	Seed        uint64
	Points      []Point
	Parted      bool           // Points belong to one shard
	Collected   []string       // of a collection: the names of its experiments
	Differences []Difference   // of a collection: what it reports beside the figures
	Inputs      []outdir.Input // every file that was read, with its hash
	Keys        formats.Keys   // what those files say, without settings
	Overrides   []string       // the --set options
	Axes        []results.Axis // swept keys, each with what its values are in results; a collection may have one twice
	Wish        results.Wish   // the table [figure], and the user's own title
	Moved       Moved          // what a setting of PortKey changed beside the kernel
	Notes       []string       // for the reader of a table: what of the file was left out
	Lacking     error          // what the plan cannot be run without and this host has not, or nil
}

// PortKey is the key of a setting that moves an experiment to another instruction set. No file has it.
const PortKey = "isa"

// Moved names points of an experiment that were written for a mode of hits which the other instruction set does
// not have, and got the one that it has.
type Moved struct {
	Points  []string
	Was, Is string   // the words for the modes
	Left    []string // keys of a sweep with values that the other machine or its kernels cannot have
}

// Point is one measurement: machine, kernel, workload, probe and seed.
type Point struct {
	Name       string // unique in the plan: the label, behind "EXPERIMENT:" in a collection and before "/replicate=N"
	Label      string // the probe's name and the values of the sweep, "k/workload.hits=100"
	Experiment string // name of the experiment that the point is of
	Kind       string // what is measured
	Machine    *machines.Machine
	Target     *targets.Target
	Image      *Image
	Kernel     Kernel
	Linux      *Linux // of the kind linux; else nil
	Workload   Workload
	Crowd      Crowd
	Modules    []Module
	Writes     []Write
	Probe      Probe
	Seed       uint64
	Replicate  int   // which of the layouts that the seed gives, from 0
	Further    bool  // not the first replicate of its point that is measured
	Budget     int64 // microseconds of simulated time

	// Halt, if not nil, is asked while the point is measured, and its error ends that (sim.Config). No measurement that is
	// whole depends on it.
	Halt func() error
	// Attach, if not nil, is given the machine before its first instruction, and what lists the probes of its kernel. What it
	// returns is called when the run has ended (sim.Config).
	Attach func(m *sim.Machine, probes func() (string, error)) (end func(error))

	// Differs lists by what the point is not the setup that its published figure was measured on, and
	// Remodelled by what only its cost model or its fitted numbers are others.
	Differs, Remodelled []string
}

// Published returns the figure that the point may be compared with, or nil.
func (p *Point) Published() *Published {
	if len(p.Differs) > 0 {
		return nil
	}
	return p.Probe.Published
}

// Layout draws the layout of the point. It depends on the seed and the number of the replicate alone, so
// that all points of an experiment are compared under the same layouts.
func (p *Point) Layout() sim.Layout { return sim.DrawLayout(p.Seed, p.Replicate) }

// Point returns the point of a name.
func (p *Plan) Point(name string) (*Point, error) {
	var known []string
	for i := range p.Points {
		if p.Points[i].Name == name {
			return &p.Points[i], nil
		}
		if !p.Points[i].Further {
			known = append(known, p.Points[i].Name)
		}
	}
	if name == "" {
		return nil, fmt.Errorf("name a point of %s: %s", p.Name, strings.Join(known, ", "))
	}
	if first := name + "/replicate=0"; slices.Contains(known, first) {
		return nil, fmt.Errorf("point %s of %s has replicates: name one of them, such as %s", name, p.Name, first)
	}
	return nil, fmt.Errorf("%s has no point %q: known are %s%s", p.Name, name,
		strings.Join(known, ", "), doc.Suggest(name, known))
}

// At returns how records name the point.
func (p *Point) At() results.Point {
	return results.Point{
		Experiment: p.Experiment, Machine: p.Machine.Name, ISA: p.Target.Name, Era: p.Kernel.Era,
		CPUs: int(p.Kernel.CPUs), Seed: p.Seed, Replicate: p.Replicate, Probe: p.Label,
	}
}

// InUser tells a loop that runs in user mode and has the kernel call the target.
func (p *Point) InUser() bool { return p.UserCode(p.Workload.Loop) }

// UserCode tells a function that runs in user mode.
func (p *Point) UserCode(name string) bool {
	f, ok := p.Image.Func(name)
	return ok && p.Image.Phase(f.Entry) == image.PhaseUser
}

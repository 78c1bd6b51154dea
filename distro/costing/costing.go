// Package costing measures what a hit of a probe costs in the kernel of a distribution, for each way in which a hit runs.
// It finds places on the path of a system call by the verdicts of package probing, and has package measuring run that call
// in a loop, with a probe and without. Probes of user mode stand in functions of the program that runs the loops.
//
// The handler is that of a trace event, which writes a record, or the empty one of a module of this program. Watchpoints are
// left out, and so are verdicts on instructions of programs.
package costing

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/distro/measuring"
	"kprobesim/distro/phases"
	"kprobesim/distro/probing"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// Cost counts what a warm hit takes beyond the system call without a probe.
type Cost struct {
	Mode         string  `json:"mode"`              // how the hit runs
	Machine      string  `json:"machine,omitempty"` // name of the description, where that is not known otherwise
	Place        string  `json:"place"`             // where it was measured
	Handler      string  `json:"handler,omitempty"` // "" for an empty one of the guest
	Cycles       float64 `json:"cycles"`
	Micros       float64 `json:"microseconds"`
	Instructions float64 `json:"instructions"`
	Exceptions   float64 `json:"exceptions"`
	Concluded    string  `json:"concluded,omitempty"` // from which measurements; "" for one that was measured as it is
	// Phases are the steps of the hit, in the order of tables, by the functions of 6.1 that package phases lists. The sum of
	// all is Cycles.
	Phases []Share `json:"phases"`
	// Functions are those in which a hit spends the most cycles, in order of size. The sum of all is Cycles.
	Functions []Share `json:"functions"`
}

// Share counts what a hit spends in a phase or a function. For functions, code that has no name, such as slots and detours,
// counts for "?".
type Share struct {
	Name   string  `json:"name"`
	Cycles float64 `json:"cycles"`
}

// String says it in a sentence, with the phases that take a cycle or more, and what takes a fiftieth of the hit or more.
func (c *Cost) String() string {
	text := fmt.Sprintf("%s: a hit takes %.0f cycles (%.3f us), %.0f instructions and %.0f exceptions", c.Mode, c.Cycles, c.Micros, c.Instructions, c.Exceptions)
	if c.Machine != "" {
		text += " on " + c.Machine
	}
	if text += ", measured at " + c.Place; c.Handler != "" {
		text += " with " + c.Handler
	}
	if c.Concluded != "" {
		text += ", " + c.Concluded
	}
	if text += "; cycles by phase: " + listed(c.Phases, 1); c.Functions != nil {
		text += "; cycles by function: " + listed(c.Functions, c.Cycles/50)
	}
	return text
}

// listed names the shares that are as large as least, or as much below zero.
func listed(shares []Share, least float64) string {
	var parts []string
	for _, s := range shares {
		if math.Abs(s.Cycles) >= least {
			parts = append(parts, fmt.Sprintf("%s %.0f", s.Name, s.Cycles))
		}
	}
	return strings.Join(parts, ", ")
}

// Ways in which hits run.
const (
	emulated  = "emulated"
	stepped   = "stepped"
	optimized = "optimized"
)

// Lab is a kernel that has booted to its program.
type Lab struct {
	lab    *measuring.Lab
	rules  *probing.Kernel
	hz     int64
	module []byte
	base   map[string]*sample // loops without a probe, by name
}

// The loop of a measurement. It is shorter than the time between two interrupts of the timer.
const (
	workload = "getppid"
	warm     = 100
	calls    = 150
)

// entries are the names of the function in which the system call begins, for each instruction set.
var entries = [...]string{"__x64_sys_getppid", "__ia32_sys_getppid", "sys_getppid"}

// Boot boots the kernel for measurements. A module is our own with an empty handler (distro/module), built for this
// kernel; nil has the handler of a trace event.
func Boot(c distro.Config, rules *probing.Kernel, module []byte) (*Lab, error) {
	c.RAM = 0 // what a measurement needs
	lab, err := measuring.Boot(c)
	if err != nil {
		return nil, err
	}
	return &Lab{lab: lab, rules: rules, hz: c.CPU.Hz, module: module, base: map[string]*sample{}}, nil
}

// sample counts what a region took.
type sample struct {
	ticks        clock.Ticks
	instructions uint64
	exceptions   uint64
	by           map[string]clock.Ticks // by function
	phases       [image.PhaseOther + 1]clock.Ticks
}

// byFunction adds up time by function, without interrupts, which come by the clock and not because of a probe.
type byFunction struct {
	im   *image.Image
	by   map[uint64]clock.Ticks // by the start of the function
	last clock.Ticks
}

func newByFunction(im *image.Image) *byFunction {
	return &byFunction{im: im, by: map[uint64]clock.Ticks{}}
}

// Step implements cpus.Observer.
func (b *byFunction) Step(s *cpus.Step) {
	if b.last == 0 {
		b.last = s.Start
	}
	if s.Context == cpus.Interrupted {
		b.last = s.End
		return
	}
	_, start := b.im.SymbolOff(s.PC)
	if s.User {
		start = 1 // the program's
	}
	b.by[start] += s.End - b.last
	b.last = s.End
}

// hit measures what an order adds to a hit of its loop.
func (l *Lab) hit(loop string, o measuring.Order) (*Cost, error) {
	if l.base[loop] == nil {
		plain, err := l.run(loop, measuring.Order{})
		if err != nil {
			return nil, err
		}
		l.base[loop] = plain
	}
	s, err := l.run(loop, o)
	if err != nil {
		return nil, err
	}
	return costOf(l.base[loop], s, l.hz), nil
}

// run measures an order.
func (l *Lab) run(loop string, o measuring.Order) (*sample, error) {
	o.Workload, o.Warm, o.Calls = loop, warm, calls
	var seen *byFunction
	tally := sim.NewTally(sim.OfSteps{})
	r, err := l.lab.Run(o, func(m *sim.Machine) cpus.Observer {
		seen = newByFunction(m.Image())
		return sim.Phased(phases.New(m.Image()), tally, seen)
	})
	if err != nil {
		return nil, err
	}
	s := &sample{ticks: r.Ticks - r.Interrupted, instructions: r.Instructions, by: map[string]clock.Ticks{}}
	for phase, t := range tally.Time() {
		if phase != image.PhaseIRQ {
			s.phases[phase] = t
		}
	}
	for _, n := range r.Counters.Exceptions {
		s.exceptions += n
	}
	for start, t := range seen.by {
		name := "?"
		switch {
		case start == 1:
			name = "user mode"
		case start != 0:
			name = l.lab.Kernel().Image.SymbolText(start)
			name = strings.TrimSuffix(name, "+0x0")
		}
		s.by[name] += t
	}
	return s, nil
}

// Measure measures a hit of a mode: "ftrace", "emulated", "stepped", "boosted" or "optimized". It is nil where no instruction that
// every call executes is of that mode.
func (l *Lab) Measure(mode string) (*Cost, error) {
	fn, start, err := l.entry()
	if err != nil {
		return nil, err
	}
	var failed error
	for _, at := range l.rules.Starts(start) {
		v := l.rules.At(at)
		if !v.Probe || !v.Event && l.module == nil || Mode(&v) != mode && !((mode == "stepped" || mode == "boosted") && v.Kind == mode) {
			continue
		}
		c, err := l.measureAt(fn, at-start, mode)
		if err == nil {
			return c, nil
		}
		failed = err // a call may pass another way
	}
	return nil, failed
}

// entry is the function in which the system call of the loop begins.
func (l *Lab) entry() (name string, start uint64, err error) {
	for _, name := range entries {
		if start, err := l.rules.Resolve(name); err == nil {
			return name, start, nil
		}
	}
	return "", 0, errors.New("the kernel has no function in which the system call getppid begins: its hits cannot be measured")
}

// Mode is how hits of a verdict's probe run once the kernel has done what it will.
func Mode(v *probing.Verdict) string {
	if v.Optimized {
		return optimized
	}
	return v.Kind
}

// measureAt measures a probe at a place.
func (l *Lab) measureAt(fn string, offset uint64, mode string) (*Cost, error) {
	o := measuring.Order{Optimize: mode == optimized, Modules: l.empty(fmt.Sprintf("symbol=%s offset=%d kind=kprobe", fn, offset))}
	if l.module == nil {
		o.Events = []string{fmt.Sprintf("p %s+%d", fn, offset)}
	}
	return l.noted(workload, o, mode, fmt.Sprintf("%s+%#x", fn, offset))
}

// noted is hit with the mode, the place and the handler.
func (l *Lab) noted(loop string, o measuring.Order, mode, place string) (*Cost, error) {
	c, err := l.hit(loop, o)
	if err != nil {
		return nil, fmt.Errorf("measuring a hit that is %s at %s: %w", mode, place, err)
	}
	c.Mode, c.Place, c.Handler = mode, place, "the handler of a trace event"
	if l.module != nil {
		c.Handler = "an empty handler"
	}
	return c, nil
}

// empty is the module with the empty handler, nil where trace events are measured.
func (l *Lab) empty(params string) []measuring.Module {
	if l.module == nil {
		return nil
	}
	return []measuring.Module{{Name: distro.EmptyModule, File: l.module, Params: params, Hits: "hits"}}
}

// costOf returns what a hit takes in a loop with a probe beyond the loop without, at a frequency in Hz.
func costOf(base, s *sample, hz int64) *Cost {
	per := func(t clock.Ticks) float64 { return float64(t) / float64(clock.PerCycle) / calls }
	c := &Cost{
		Cycles:       per(s.ticks - base.ticks),
		Instructions: (float64(s.instructions) - float64(base.instructions)) / calls,
		Exceptions:   (float64(s.exceptions) - float64(base.exceptions)) / calls,
	}
	c.Micros = c.Cycles / float64(hz) * 1e6
	for p := range s.phases {
		if t := s.phases[p] - base.phases[p]; t != 0 {
			c.Phases = append(c.Phases, Share{image.Phase(p).String(), per(t)})
		}
	}
	by := maps.Clone(s.by)
	for name, t := range base.by {
		by[name] -= t
	}
	for name, t := range by {
		if t != 0 {
			c.Functions = append(c.Functions, Share{name, per(t)})
		}
	}
	slices.SortFunc(c.Functions, largest)
	return c
}

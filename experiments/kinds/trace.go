package kinds

import (
	"fmt"
	"io"
	"slices"

	"kprobesim/cpus"
	"kprobesim/experiments/schema"
	"kprobesim/image"
	"kprobesim/sim"
)

// Trace boots a machine for p and writes hit number n, counted from 1, instruction by instruction:
// from the first instruction of the target to the return into the loop, or from the system call to the
// return from it when the loop is in user mode. Everything before is as
// Measure does it; the hit is the last of the calls after the first one.
func Trace(p *schema.Point, n int64, w io.Writer) error {
	if alone := kindOf(p.Kind).traceAlone; alone != nil {
		return alone(p, n, w)
	}
	trace := kindOf(p.Kind).trace
	if trace == nil {
		trace = (*session).traceCall
	}
	if p.Workload.Loop == "" && p.Kind != schema.KindUserProbes {
		return fmt.Errorf("experiments of kind %s call no function again and again: look at them with timeline", p.Kind)
	}
	return boot(p, nil, func(s *session) error {
		return trace(s, n, w)
	})
}

// traceCall traces a call of the workload's loop.
func (s *session) traceCall(n int64, w io.Writer) error {
	if _, err := s.baseline(&Measurement{}); err != nil {
		return fmt.Errorf("without the probe: %w", err)
	}
	if err := s.registerSettled(); err != nil {
		return err
	}
	if n > 1 {
		if _, _, err := s.loop(1); err != nil {
			return err
		}
	}
	return s.traceLast(max(1, n-1), w)
}

// traceLast runs n calls of the target and writes the last one. The calls before it are executed in
// full and not shown, so that the traced hit is as warm as measured ones.
func (s *session) traceLast(n int64, w io.Writer) error {
	t := sim.NewTracer(w, s.m.Image(), s.p.Target.ISA)
	target, _ := s.m.Image().Func(s.p.Workload.Target) // the loop checks that it is there
	loop, _ := s.m.Image().Func(s.p.Workload.Loop)
	var calls cpus.Observer = &callFilter{to: t, target: target, loop: loop, skip: n - 1}
	if s.p.InUser() {
		entry, _ := s.m.Image().Func(callEntry)
		calls = &userFilter{to: t, entry: entry.Entry, skip: n - 1}
	}
	s.tell(s.cpu(), calls)
	if _, _, err := s.loop(n); err != nil {
		return err
	}
	return t.Close()
}

// callFilter leaves out the calls of target that it is to skip, and passes the steps of the others: from the first
// instruction behind the one that calls target until the return into loop. That is target's own but where it is watched and
// traps first. A handler or trampoline outside of both functions belongs to the call that it interrupts.
type callFilter struct {
	to           cpus.Observer
	target, loop image.Func
	skip         int64
	inside       bool
	before       []cpus.Step // since loop was left: of a call that begins, or of an interrupt of loop
}

// Step implements cpus.Observer.
func (f *callFilter) Step(s *cpus.Step) {
	switch {
	case s.PC >= f.loop.Entry && s.PC < f.loop.Entry+f.loop.Size:
		f.inside, f.before = false, f.before[:0]
	case f.inside:
	case s.PC != f.target.Entry:
		f.before = append(f.before, remembered(s))
	default:
		f.inside = true
		f.skip--
		f.pass(f.before)
	}
	if f.inside && f.skip < 0 {
		f.to.Step(s)
	}
}

// remembered is a step that stays as it is: its code is the guest's memory, which may change behind it.
func remembered(s *cpus.Step) cpus.Step {
	kept := *s
	kept.Code = slices.Clone(s.Code)
	return kept
}

// pass passes steps that turned out to belong to a call.
func (f *callFilter) pass(steps []cpus.Step) {
	for i := range steps {
		if f.skip < 0 {
			f.to.Step(&steps[i])
		}
	}
}

// userFilter is callFilter for a loop in user mode: a call begins with the instruction there that calls the
// kernel, and ends with the one behind it. The first is known only when the second has come, so the
// last step in user mode is kept.
type userFilter struct {
	to     cpus.Observer
	entry  uint64
	skip   int64
	inside bool
	last   cpus.Step // in user mode
}

// wanted is the value of skip in the call that is shown. Behind it comes the one that ends the task.
const wanted = -1

// Step implements cpus.Observer.
func (f *userFilter) Step(s *cpus.Step) {
	if s.PC == f.entry && !f.inside {
		f.inside = true
		if f.skip--; f.skip == wanted {
			f.to.Step(&f.last)
		}
	}
	if f.inside && f.skip == wanted {
		f.to.Step(s)
	}
	if s.User {
		f.inside = false
		f.last = remembered(s)
	}
}

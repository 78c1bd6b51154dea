package kinds

import (
	"fmt"
	"slices"

	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/kprobes"
	"kprobesim/smp"
	"kprobesim/workloads"
)

// Steps of attach-time, in their order. Each begins in the state that the one before leaves.
const (
	StepRegister = "register" // disabled
	StepArm      = "arm"
	StepOptimize = "optimize" // until the last jump stands; only of probes that are to be optimized
	StepRemove   = "remove"   // all by one call
	StepClean    = "clean"    // until the last jump is gone and what it had is free; only of optimized probes
	StepSingly   = "singly"   // removing a probe by a call of its own
)

// AttachSteps lists them.
func AttachSteps() []string {
	return []string{StepRegister, StepArm, StepOptimize, StepRemove, StepClean, StepSingly}
}

// MetricStep times a step for all probes, or for one where each has a call of its own.
func MetricStep(step string) string { return "us_to_" + step }

// MetricPeriods counts the grace periods of a step, with those that the optimizer waits for.
func MetricPeriods(step string) string { return "grace_periods_" + step }

// metricWaited is the time in them.
func metricWaited(step string) string { return "us_grace_periods_" + step }

// MetricStops counts stops of the machine.
func MetricStops(step string) string { return "stops_" + step }

// MetricSyncs counts CPUs that drop fetched instructions for a change of text.
func MetricSyncs(step string) string { return "syncs_" + step }

// MetricLosses times the work that one of the other CPUs does for a step.
func MetricLosses(step string) string { return "us_others_" + step }

// attachTime has the first CPU attach a number of probes and remove them, and times each step, while the other CPUs do what
// the workload says. The probes are removed by one call, and some of them once more by a call each.
func (s *session) attachTime(m *Measurement) error {
	w := s.p.Workload
	places, err := s.places(w.Batch)
	if err != nil {
		return err
	}
	stop, err := s.load()
	if err != nil {
		return err
	}
	if err := s.k.Sleep(s.call, 1); err != nil { // the others are in their loops
		return err
	}
	a := &stepping{session: s, m: m, n: 1}
	a.seen = s.listen(kprobes.EventProbe, kprobes.EventSync, smp.EventGraceBegin, smp.EventGraceEnd, smp.EventStop)
	steps := append(a.attach(places), timedStep{StepRemove, s.removeTogether})
	if s.jumps() {
		steps = append(steps, timedStep{StepClean, a.idle})
	}
	if err := a.each(steps, a.timed); err != nil {
		return err
	}
	a.n = min(w.Singly, w.Batch)
	if err := a.each(a.attach(places[:a.n]), func(step timedStep) error { return step.run() }); err != nil {
		return err
	}
	if err := a.timed(timedStep{StepSingly, s.removeSingly}); err != nil {
		return err
	}
	return stop()
}

// stepping is a session whose steps are timed.
type stepping struct {
	*session
	m    *Measurement
	n    int64 // what a step's time is divided by
	seen *events
}

type timedStep struct {
	name string
	run  func() error
}

func (a *stepping) each(steps []timedStep, take func(timedStep) error) error {
	for _, step := range steps {
		if err := take(step); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// attach has the steps from registering to the last jump.
func (a *stepping) attach(places []workloads.Site) []timedStep {
	steps := []timedStep{{StepRegister, func() error { return a.registerDisabled(places) }}, {StepArm, a.armAll}}
	if a.jumps() {
		steps = append(steps, timedStep{StepOptimize, a.idle})
	}
	last := &steps[len(steps)-1]
	run := last.run
	last.run = func() error {
		if err := run(); err != nil {
			return err
		}
		return a.verify()
	}
	return steps
}

// jumps reports whether the probes of the point are to be optimized.
func (s *session) jumps() bool { return s.p.Probe.Mode == kprobes.Optimized }

// registerDisabled registers a probe at each place and arms none.
func (s *session) registerDisabled(places []workloads.Site) error {
	r := s.p.Probe.Registration
	r.Disabled = true
	if err := s.add([]schema.Registration{r}, places...); err != nil {
		return err
	}
	for i := range s.active {
		s.active[i].Disabled = false // armAll will enable them
	}
	return nil
}

func (s *session) armAll() error {
	for _, p := range s.active {
		if err := s.probes.Enable(s.call, p.Probe); err != nil {
			return err
		}
	}
	return nil
}

// idle sleeps until the optimizer has nothing left to do. Waiting for it by a call would have it begin at once.
func (a *stepping) idle() error {
	const nap = 4 // jiffies, less than the optimizer's delay
	for a.probes.Busy() {
		if err := a.k.Sleep(a.call, nap); err != nil {
			return err
		}
	}
	return nil
}

// timed takes a step and notes its time, what it has waited for, and what the other CPUs have lost. What the optimizer does
// ends with the last that becomes of a probe, and not when the first CPU looks.
func (a *stepping) timed(step timedStep) error {
	if err := a.settle(); err != nil {
		return err
	}
	a.seen.forget()
	from := a.read()
	if err := step.run(); err != nil {
		return err
	}
	end := a.call.Now()
	if err := a.settle(); err != nil {
		return err
	}
	of := a.account(from, a.read())
	if step.name == StepOptimize || step.name == StepClean {
		end = a.seen.last(kprobes.EventProbe)
	}
	a.m.Accounts = of
	a.share(a.m, MetricStep(step.name), end-from.at, a.n)
	a.noteWaits(step.name)
	a.noteLosses(step.name, of[1:])
	return nil
}

// noteLosses notes what each of the other CPUs has lost in a step. Idle ones have nothing to lose, and may run the first task.
func (a *stepping) noteLosses(step string, others []Accounts) {
	if a.p.Workload.Load == schema.LoadIdle || len(others) == 0 {
		return
	}
	var lost clock.Ticks
	for _, c := range others {
		for i, t := range c {
			if account(i) != ForWorkload && account(i) != ForUser && account(i) != forIdle {
				lost += t
			}
		}
	}
	a.share(a.m, MetricLosses(step), lost, int64(len(others))*a.n)
}

// noteWaits notes how many grace periods, stops and synchronizations there were in a step, and the time in grace periods.
func (a *stepping) noteWaits(step string) {
	var periods, stops, syncs int64
	var waited, began clock.Ticks
	for _, e := range a.seen.all {
		switch {
		case e.Kind == smp.EventGraceBegin:
			periods, began = periods+1, e.At
		case e.Kind == smp.EventGraceEnd:
			waited += e.At - began
		case e.Kind == smp.EventStop && e.Name == "run":
			stops++
		case e.Kind == kprobes.EventSync:
			syncs++
		}
	}
	a.m.note(MetricPeriods(step), "grace periods", periods, a.n)
	a.share(a.m, metricWaited(step), waited, a.n)
	a.m.note(MetricStops(step), "stops", stops, a.n)
	a.m.note(MetricSyncs(step), "synchronizations", syncs, a.n)
}

// places chooses where n probes are attached: in the text for a crowd, of which the function tracer is told when the probes
// are to be its. A return probe stands at the start of a function.
func (s *session) places(n int64) ([]workloads.Site, error) {
	all, err := s.crowdText()
	if err != nil {
		return nil, err
	}
	if s.p.Probe.Kind == kprobes.Kretprobe {
		all = slices.DeleteFunc(all, func(at workloads.Site) bool { return at.Offset != 0 })
	}
	if n > int64(len(all)) {
		return nil, fmt.Errorf("workload.batch = %d: image %s has %d places for a %s", n, s.m.Image().Name, len(all), s.p.Probe.Kind)
	}
	if s.p.Probe.Mode == kprobes.Ftrace {
		err = s.traceCrowd(all[:n])
	}
	return all[:n], err
}

// traceCrowd writes the nop by which traced functions of the image begin over the text for a crowd, and adds places to the
// function tracer's table, as a loader does for a module.
func (s *session) traceCrowd(places []workloads.Site) error {
	im, word := s.m.Image(), s.m.ISA().Bits/8
	table, ok := im.Symbol("__start_mcount_loc")
	if !ok || !s.probes.Traced() {
		return fmt.Errorf("no function of image %s begins with a nop for the function tracer (`kprobesim list images`)", im.Name)
	}
	entry, err := s.m.Load(table.Addr, word)
	if err != nil {
		return err
	}
	if err := s.fillCrowd(entry); err != nil {
		return err
	}
	at, err := s.m.Alloc(uint64(len(places)*word), uint64(word))
	if err != nil {
		return err
	}
	for i, p := range places {
		f, _ := im.Func(p.Symbol)
		if err := s.m.Store(at+uint64(i*word), word, f.Entry+p.Offset); err != nil {
			return err
		}
	}
	return s.probes.TraceInModule(kprobes.Span{Start: at, End: at + uint64(len(places)*word)})
}

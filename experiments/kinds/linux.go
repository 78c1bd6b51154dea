package kinds

import (
	"bytes"
	"fmt"
	"io"

	"kprobesim/cpus"
	"kprobesim/distro/measuring"
	"kprobesim/experiments/schema"
	"kprobesim/image"
	"kprobesim/results"
	"kprobesim/sim"
)

// Metrics of linux. A hit has its usual ones.
const (
	MetricCall       = "cycles_per_call"
	metricExceptions = "exceptions_per_hit"
	metricArming     = "arming_cycles"
	metricOthers     = "arming_interrupt_cycles" // on the other CPUs
)

// linuxPhases are the phases of a hit in the order of tables: the probe's first, then user mode and the rest.
func LinuxPhases() []image.Phase {
	return []image.Phase{
		image.PhaseEntry, image.PhaseDispatch, image.PhaseHandler, image.PhaseEvent, image.PhaseStep, image.PhaseReturn,
		image.PhaseRethook, image.PhaseDetour, image.PhaseUser, image.PhaseOther,
	}
}

// measureLinux measures the loop of a point with its probe, and beyond the loop without it.
func measureLinux(p *schema.Point, watch func(*sim.Machine) cpus.Observer) (*Measurement, error) {
	b, err := benchOf(p)
	if err != nil {
		return nil, err
	}
	plain, err := b.plain(p)
	if err != nil {
		return nil, err
	}
	o, site, err := b.order(p)
	if err != nil {
		return nil, err
	}
	var profile *sim.Profile
	seen := arrivals{}
	with, err := b.run(p, o, func(m *sim.Machine) cpus.Observer {
		profile = sim.NewPhasedProfile(m.Image())
		twice := &twoObservers{first: &twoObservers{seen, profile}}
		if watch != nil {
			twice.second = watch(m)
		}
		return twice
	})
	if err != nil {
		return nil, err
	}
	counts, err := site.counts(p, b.lab.Kernel().Image.Symbol, plain, with, seen)
	if err != nil {
		return nil, err
	}
	if err := verifyAttached(p, with, counts); err != nil {
		return nil, err
	}
	if err := site.verify(p, plain, with, counts); err != nil {
		return nil, err
	}
	m := &Measurement{Counts: counts, Console: with.Console}
	var text bytes.Buffer
	if err := profile.Write(&text); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	m.Profile = text.Bytes()
	m.linux(p, plain, with)
	if err := m.arming(p, b, o); err != nil {
		return nil, fmt.Errorf("arming: %w", err)
	}
	if site != nil && site.instruction != "" {
		m.Notes = append(m.Notes, fmt.Sprintf("at %s (%s)", site.place, site.instruction))
	}
	return m, nil
}

// linux notes what the point took, and what its probe did.
func (m *Measurement) linux(p *schema.Point, plain, with *stretch) {
	m.cyclesOver(MetricCall, with.time, p.Workload.Hits)
	if p.Probe.Linux.What == schema.LinuxNone {
		return
	}
	m.note(results.MetricHits, "hits", m.Hits, 1)
	over := with.time - plain.time
	m.cyclesOver(results.MetricCycles, over, m.Hits)
	m.microsOver(results.MetricMicros, over, m.Hits, p.Machine.CPU.Hz)
	m.note(results.MetricInstructions, "instructions", with.instructions-plain.instructions, m.Hits)
	m.note(metricExceptions, "exceptions", with.exceptions-plain.exceptions, m.Hits)
	m.attached(p, plain, with)
	for _, phase := range LinuxPhases() {
		m.cyclesOver(results.PhaseMetric(phase.String()), with.phases[phase]-plain.phases[phase], m.Hits)
	}
}

// arming measures how the trace event of a point is armed, if the workload asks for that.
func (m *Measurement) arming(p *schema.Point, b *bench, o measuring.Order) error {
	if !p.Workload.Arming || len(o.Events)+len(o.UserEvents) == 0 && o.Attach == nil {
		return nil
	}
	a, err := b.lab.Arm(o)
	if err != nil {
		return err
	}
	m.cyclesOver(metricArming, a.Ticks, 1)
	m.cyclesOver(metricOthers, a.Interrupted, 1)
	return nil
}

// twoObservers tells two of every instruction; the second may be nil.
type twoObservers struct{ first, second cpus.Observer }

// Step implements cpus.Observer.
func (o *twoObservers) Step(s *cpus.Step) {
	o.first.Step(s)
	if o.second != nil {
		o.second.Step(s)
	}
}

// traceLinux writes call number n of the loop: from the marker in front of it to the one behind it.
func traceLinux(p *schema.Point, n int64, w io.Writer) error {
	b, err := benchOf(p)
	if err != nil {
		return err
	}
	o, site, err := b.order(p)
	if err != nil {
		return err
	}
	o.Warm, o.Calls = int(n-1), 1
	var t *sim.Tracer
	r, err := b.run(p, o, func(m *sim.Machine) cpus.Observer {
		t = sim.NewTracer(w, m.Image(), p.Target.ISA)
		return t
	})
	if err == nil && site != nil {
		err = site.verifyMarks(p, r.Region)
	}
	if err != nil {
		return err
	}
	return t.Close()
}

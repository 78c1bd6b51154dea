package explaining

import (
	"fmt"

	"kprobesim/distro/costing"
	"kprobesim/experiments/kinds"
	"kprobesim/internal/clock"
	"kprobesim/kprobes"
)

// Costs measures a hit of every mode that the verdicts have, each once, and notes it in them. A hit of a mode costs nearly the
// same everywhere, but for what the probed instruction itself does. So it is measured where each call of a loop
// passes: at the beginning of a function of the image that is made to be probed.
func (k *Kernel) Costs(verdicts []Verdict) error {
	known := map[kprobes.Mode]*costing.Cost{}
	for i := range verdicts {
		v := &verdicts[i]
		if !v.Probe {
			continue
		}
		if _, ok := known[v.Mode()]; !ok {
			cost, err := k.measure(v.Mode())
			if err != nil {
				return err
			}
			known[v.Mode()] = cost
		}
		v.Cost = known[v.Mode()]
	}
	return nil
}

// measure finds a place whose hits are of a mode and runs the experiment there; nil where the image has none.
func (k *Kernel) measure(mode kprobes.Mode) (*costing.Cost, error) {
	for _, f := range k.image.Functions() {
		fn, ok := k.point.Image.Func(f.Name)
		if !ok {
			continue
		}
		offset, err := k.offsetOf(fn.Entry, mode)
		if err != nil {
			return nil, err
		}
		if offset < 0 {
			continue
		}
		return k.measureAt(f.Name, uint64(offset), mode)
	}
	return nil, nil
}

// offsetOf looks at a function's first instruction, and at the one behind the call of ftrace; -1 where neither is of a
// mode. A kernel that can do without a step does not when boosting is off, so its places can be stepped.
func (k *Kernel) offsetOf(entry uint64, mode kprobes.Mode) (int64, error) {
	at := entry
	for {
		v, err := k.system.Probes.Judge(at)
		switch {
		case err != nil || v.Denied != nil:
			return -1, err
		case v.Kept == nil && mode == kprobes.Optimized, v.Then == mode, mode == kprobes.Stepped && v.First == mode,
			mode == kprobes.Stepped && v.Then == kprobes.Boosted:
			return int64(at - entry), nil
		case v.Then != kprobes.Ftrace || at != entry:
			return -1, nil
		}
		at += uint64(k.point.Target.Probes.Reach())
	}
}

// measureAt runs the experiment at a place.
func (k *Kernel) measureAt(function string, offset uint64, mode kprobes.Mode) (*costing.Cost, error) {
	pt, err := k.plan(function, offset, mode)
	if err != nil {
		return nil, err
	}
	pt.Further = true // no profile is wanted
	m, err := kinds.Measure(pt)
	if err == nil {
		err = m.AllHandled()
	}
	if err != nil {
		return nil, fmt.Errorf("measuring a hit that is %s at %s+%#x: %w", mode, function, offset, err)
	}
	over, phases := m.Over(), kinds.Phases()
	per := func(t clock.Ticks) float64 { return float64(t) / float64(clock.PerCycle) / float64(m.Hits) }
	c := &costing.Cost{
		Mode: mode.String(), Machine: k.Machine, Place: fmt.Sprintf("%s+%#x", function, offset),
		Cycles: per(over.Time), Instructions: float64(over.Instructions) / float64(m.Hits),
		Exceptions: float64(over.Exceptions) / float64(m.Hits),
	}
	c.Micros = c.Cycles / float64(pt.Machine.CPU.Hz) * 1e6
	for i, p := range phases {
		if over.Phases[i] != 0 {
			c.Phases = append(c.Phases, costing.Share{Name: p.String(), Cycles: per(over.Phases[i])})
		}
	}
	return c, nil
}

package kinds

import (
	"fmt"

	"kprobesim/distro/attaching"
	"kprobesim/distro/measuring"
	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/kprobes"
)

// Metrics of what is attached to a kernel.
const (
	MetricTrigger = "cycles_trigger"        // of a call of the loop that hits it, without it
	metricRate    = "million_hits_a_second" // with it, as `bench trig-*` of the kernel counts them
)

// attachment completes the order of a loop by what a point attaches. A probe of a named instruction has a site, as one with
// another handler.
func (b *bench) attachment(p *schema.Point, o measuring.Order) (_ measuring.Order, s *site, err error) {
	l := p.Probe.Linux
	if l.Object != nil {
		object, err := attaching.ReadObject(l.Object.File, l.Object.Choice)
		o.Attach = &attaching.Attachment{Object: object}
		return o, nil, err
	}
	a := attaching.Attachment{Way: l.What, Program: l.Program, Target: targetOf(p)}
	switch {
	case l.What == schema.LinuxKprobe || l.What == schema.LinuxKretprobe:
		o.Optimize = p.Probe.Mode == kprobes.Optimized
		if s, err = b.kernelSite(p); err == nil {
			sym, _, _ := b.lab.Kernel().Image.At(s.addr)
			a.Target, a.Offset = sym.Name, s.addr-sym.Addr
		}
	case l.User() || p.Probe.Called():
		if s, err = b.userSite(p); err == nil {
			a.Offset = uint64(max(l.Offset, 0))
		}
	}
	o.Attach = &a
	return o, s, err
}

// attachedHits counts how often a region has reached what is attached: entries of each of its programs, or of a function of the kernel.
func attachedHits(a *attaching.Attached, kernel lookup, seen arrivals) (n int64, err error) {
	if a.Function == "" {
		for _, p := range a.Programs {
			if n = seen[p.Entry()]; n != seen[a.Programs[0].Entry()] {
				return 0, fmt.Errorf("program %s was entered %d times, and %s %d times: choose programs that each call of the loop enters once",
					p.Name, n, a.Programs[0].Name, seen[a.Programs[0].Entry()])
			}
		}
		if n%a.Times() != 0 {
			return 0, fmt.Errorf("the program was entered %d times, and each hit enters it %d times", n, a.Times())
		}
		return n / a.Times(), nil
	}
	n, ok := seen.at(kernel, a.Function)
	if !ok {
		return 0, fmt.Errorf("the kernel has no function %s, by which hits are counted", a.Function)
	}
	return n, nil
}

// verifyAttached wants a hit in each call, as it was seen from outside, and as the program has counted itself.
func verifyAttached(p *schema.Point, with *stretch, c Counts) error {
	switch {
	case with.attached == nil:
		return nil
	case c.Hits != c.Calls:
		return fmt.Errorf("%s was hit %d times in %d calls: put %s on the path of the loop, once a call", p.Probe.Linux.What, c.Hits, c.Calls, placed(p))
	case with.Counts && int64(with.Counted) != c.Hits*with.attached.Times():
		return fmt.Errorf("the program was entered %d times, and has counted %d: what it counts is not there", c.Hits*with.attached.Times(), with.Counted)
	}
	return nil
}

// placed names what a point attaches, or where.
func placed(p *schema.Point) string {
	if o := p.Probe.Linux.Object; o != nil {
		return o.Path
	}
	return targetOf(p)
}

// attached notes what a call takes without the probe, and how many hits a second there are with it.
func (m *Measurement) attached(p *schema.Point, plain, with *stretch) {
	if with.attached == nil {
		return
	}
	m.cyclesOver(MetricTrigger, plain.time, p.Workload.Hits)
	const million = 1_000_000
	m.note(metricRate, "million/s", m.Hits*p.Machine.CPU.Hz*int64(clock.PerCycle), int64(with.time)*million)
}

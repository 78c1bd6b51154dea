package kinds

import (
	"debug/elf"
	"errors"
	"fmt"
	"strings"

	"kprobesim/boards/pc"
	"kprobesim/boards/vexpress"
	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/distro/attaching"
	"kprobesim/distro/measuring"
	"kprobesim/distro/phases"
	"kprobesim/distro/probing"
	"kprobesim/experiments/schema"
	"kprobesim/image"
	"kprobesim/image/linux"
	"kprobesim/internal/clock"
	"kprobesim/kprobes"
	"kprobesim/sim"
)

// bench is a kernel that has booted, with what several points need of it.
type bench struct {
	lab  *measuring.Lab
	work *schema.Work
}

// benchOf boots the kernel of a point, or returns what another point with the same kernel and machine has booted.
func benchOf(p *schema.Point) (*bench, error) {
	l := p.Linux
	root := ""
	if l.Working != nil {
		root = l.Working.Hash
	}
	key := fmt.Sprintf("%s %s %+v %d %q %d %d %d %t %s", p.Image.Hash, l.TreeHash, p.Machine.CPU, p.Machine.TimerHz, l.Command, l.Date, l.Memory, l.CPUs, l.Attaching, root)
	made, err := l.Work.Do(key, func() (any, error) {
		c := distro.Config{
			Kernel: l.Kernel, CPU: p.Machine.CPU, TimerHz: p.Machine.TimerHz, Board: boardOf(l), Tree: l.Tree,
			CPUs: int(l.CPUs), RAM: int(l.Memory), Command: l.Command, Halt: p.Halt, Kept: l.Kept,
		}
		boot := func() (*measuring.Lab, error) { return measuring.Boot(c) }
		switch {
		case l.Working != nil:
			boot = func() (*measuring.Lab, error) {
				return measuring.BootWorking(c, l.Working.Archive, diskOf(&l.Working.Disk))
			}
		case l.Attaching:
			boot = func() (*measuring.Lab, error) { return measuring.BootAttaching(c) }
		}
		lab, err := boot()
		return &bench{lab: lab, work: &schema.Work{Most: benchWork}}, err
	})
	if err != nil {
		return nil, err
	}
	b := made.(*bench)
	return &bench{b.lab.Under(p.Halt), b.work}, nil
}

// diskOf is the disk of a program; nil for none.
func diskOf(d *schema.Disk) *measuring.Disk {
	if d.Image == nil {
		return nil
	}
	out := &measuring.Disk{Image: d.Image, Type: d.Type, At: d.At}
	for _, m := range d.Modules {
		out.Modules = append(out.Modules, measuring.Module{Name: m.Path, File: m.File})
	}
	return out
}

// boardOf is the board around the CPUs.
func boardOf(l *schema.Linux) sim.Board {
	if l.Tree != nil {
		return vexpress.Board{}
	}
	return pc.Legacy{Date: l.Date}
}

// benchWork is how many loops without probes and places of probes are kept; they are small.
const benchWork = 256

// stretch is a region of interest without the interrupts in it, which come by the clock and not because of a probe.
type stretch struct {
	*measuring.Region
	time         clock.Ticks
	instructions int64
	exceptions   int64
	phases       map[image.Phase]clock.Ticks
	attached     *attaching.Attached // nil without one
}

// run measures an order, and tells watch, if it is not nil, of every instruction of the region with its phase.
func (b *bench) run(p *schema.Point, o measuring.Order, watch func(*sim.Machine) cpus.Observer) (*stretch, error) {
	tally := sim.NewTally(sim.OfSteps{})
	var attached *attaching.Attached
	o.Attached = func(a *attaching.Attached) { attached = a }
	r, err := b.lab.Run(o, func(m *sim.Machine) cpus.Observer {
		to := []cpus.Observer{tally}
		if watch != nil {
			to = append(to, watch(m))
		}
		sorter := phases.New(m.Image())
		if attached != nil {
			sorter.Programs(attached.Code())
		}
		return sim.Phased(sorter, to...)
	})
	if err != nil {
		return nil, err
	}
	return stretchOf(r, p.Target.ISA.Exceptions, tally.Time(), attached)
}

// stretchOf is a region with its time by phase, on a processor whose exceptions have names, with what was attached.
func stretchOf(r *measuring.Region, exceptions []string, phases map[image.Phase]clock.Ticks, attached *attaching.Attached) (*stretch, error) {
	if r.Counters.Unmodelled > 0 {
		return nil, fmt.Errorf("%d instructions were not modelled, the last %s", r.Counters.Unmodelled, r.Counters.LastUnknown)
	}
	out := &stretch{Region: r, time: r.Ticks - r.Interrupted, instructions: int64(r.Instructions), phases: phases, attached: attached}
	for _, n := range r.Counters.Count[cpus.Interrupted] {
		out.instructions -= int64(n)
	}
	for i, name := range exceptions {
		if !interrupt(name) {
			out.exceptions += int64(r.Counters.Exceptions[i])
		}
	}
	return out, nil
}

// interrupt reports whether a name is that of an interrupt, and of no other exception.
func interrupt(name string) bool {
	return strings.HasPrefix(name, "interrupt") || name == "irq" || name == "fiq"
}

// plain measures the loop of a point without a probe, once for all points with that loop.
func (b *bench) plain(p *schema.Point) (*stretch, error) {
	o := loopOf(p)
	made, err := b.work.Do(fmt.Sprintf("%+v", o), func() (any, error) { return b.run(p, o, nil) })
	if err != nil {
		return nil, fmt.Errorf("without the probe: %w", err)
	}
	return made.(*stretch), nil
}

// loopOf is the order for the loop of a point alone.
func loopOf(p *schema.Point) measuring.Order {
	o := measuring.Order{Workload: p.Workload.Loop, Warm: int(p.Workload.Warmup), Calls: int(p.Workload.Hits)}
	if p.Probe.Linux.Loop != "" {
		o.Workload = p.Probe.Linux.Loop
	}
	if p.Workload.Load == schema.LinuxBusy {
		o.Busy = o.Workload
	}
	return o
}

// program is how orders write a place in the program that runs the loops.
const program = "/init:"

// targetOf is the function or variable that a point probes.
func targetOf(p *schema.Point) string {
	if t := p.Probe.Linux.Target; t != "" {
		return t
	}
	return p.Workload.Target
}

// order completes the order of a loop by the probe of a point, and says where it stands; nil without a probe, for a
// watchpoint that the kernel counts, and for a module of the user's.
func (b *bench) order(p *schema.Point) (o measuring.Order, s *site, err error) {
	o = loopOf(p)
	switch l := p.Probe.Linux; {
	case l.What == schema.LinuxNone:
		return o, nil, nil
	case l.What == schema.LinuxModule:
		o.Modules, o.Optimize = []measuring.Module{userModule(l.Module)}, p.Probe.Mode == kprobes.Optimized
		return o, nil, nil // it says where its probes stand itself
	case l.What == schema.LinuxWatch && l.Handler == schema.LinuxEmpty && b.lab.Kernel().Image.Machine == elf.EM_ARM:
		return o, nil, errors.New("a kernel of ARM steps over a watched access for events of perf alone, and a module's handler would be called for it for ever: leave handler out")
	case l.What == schema.LinuxWatch:
		if s, err = b.watched(p); err == nil && l.Handler != schema.LinuxEmpty {
			o.Watchpoint = &measuring.Watchpoint{Addr: s.addr, Access: accessOf(b.lab.Kernel().Image.Machine)}
			return o, nil, nil // its hits are its debug exceptions: there is nothing to compare
		}
	case l.Attached():
		return b.attachment(p, o)
	case l.User():
		s, err = b.userSite(p)
	default:
		o.Optimize = p.Probe.Mode == kprobes.Optimized
		s, err = b.kernelSite(p)
	}
	if err != nil {
		return o, nil, err
	}
	if p.Probe.Linux.Handler == schema.LinuxEmpty {
		m, err := emptyModule(p, s)
		o.Modules = []measuring.Module{m}
		return o, s, err
	}
	if s.user {
		o.UserEvents = []string{eventLine(p, s.place)}
	} else {
		o.Events = []string{eventLine(p, s.place)}
	}
	return o, s, nil
}

// accessOf returns the accesses that a watchpoint waits for: stores. Kernels of ARM cannot tell them from loads, and refuse what would have them do so.
func accessOf(machine elf.Machine) measuring.Access {
	if machine == elf.EM_ARM {
		return measuring.ReadWrite
	}
	return measuring.Write
}

// eventLine asks for a trace event. One at a return is named by its function alone.
func eventLine(p *schema.Point, place string) string {
	if !p.Probe.Linux.Returns() {
		return "p " + place
	}
	return "r " + strings.TrimSuffix(place, "+0x0")
}

func symbolPlace(symbol string, offset uint64) string {
	if offset == 0 {
		return symbol
	}
	return fmt.Sprintf("%s+%#x", symbol, offset)
}

// named is the verdict on a place in a kernel to which no rules can be applied. It is as the point wants, and the kernel's
// list and the number of exceptions then confirm it.
func (b *bench) named(p *schema.Point, target string, offset int64) (v probing.Verdict, err error) {
	sym, ok := b.lab.Kernel().Image.Symbol(target)
	switch {
	case !ok:
		return v, fmt.Errorf("the kernel has no function %s", target)
	case offset < 0 && p.Probe.Mode != kprobes.Ftrace:
		return v, fmt.Errorf("the place of a probe in %s that is %s cannot be chosen; write its offset", target, p.Probe.Mode)
	}
	at := uint64(max(offset, 0))
	return probing.Verdict{
		Addr: sym.Addr + at, Place: symbolPlace(target, at), Probe: true, Event: true, Kind: p.Probe.Mode.String(),
		Optimized: p.Probe.Mode == kprobes.Optimized,
	}, nil
}

// rules asks the rules of the kernel, by the text that it has behind its boot; nil for a kernel to which they cannot be
// applied.
func (b *bench) rules(ask func(*probing.Kernel) error) error {
	var err error
	_, failed := b.lab.Run(measuring.Order{Workload: "empty", Calls: 1}, func(m *sim.Machine) cpus.Observer {
		k, none := probing.Read(b.lab.Kernel(), textOf(m, b.lab.Kernel()))
		if err = ask(k); err != nil && none != nil {
			err = fmt.Errorf("%w: %w", err, none)
		}
		return nil
	})
	if failed != nil {
		return failed
	}
	return err
}

// textOf reads text where the kernel's file puts it in memory: the page tables of a program need not have it.
func textOf(m *sim.Machine, k *linux.Kernel) func(va uint64, n int) []byte {
	return func(va uint64, n int) []byte {
		for _, s := range k.Image.Segments {
			if va-s.VA < s.MemSize {
				b, err := m.ReadPhysical(s.PA+va-s.VA, n)
				if err != nil {
					return nil
				}
				return b
			}
		}
		return nil
	}
}

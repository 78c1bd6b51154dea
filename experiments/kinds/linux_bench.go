package kinds

import (
	"fmt"
	"strings"

	"kprobesim/boards/pc"
	"kprobesim/cpus"
	"kprobesim/distro"
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
	work schema.Work
}

// benchOf boots the kernel of a point, or returns what another point with the same kernel and machine has booted.
func benchOf(p *schema.Point) (*bench, error) {
	l := p.Linux
	key := fmt.Sprintf("%s %+v %d %q %d %d", p.Image.Hash, p.Machine.CPU, p.Machine.TimerHz, l.Command, l.Date, l.Memory)
	made, err := l.Work.Do(key, func() (any, error) {
		lab, err := measuring.Boot(distro.Config{
			Kernel: l.Kernel, CPU: p.Machine.CPU, TimerHz: p.Machine.TimerHz, Board: pc.Legacy{Date: l.Date},
			RAM: int(l.Memory), Command: l.Command,
		})
		return &bench{lab: lab, work: schema.Work{Most: benchWork}}, err
	})
	if err != nil {
		return nil, err
	}
	return made.(*bench), nil
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
}

// run measures an order, and tells watch, if it is not nil, of every instruction of the region with its phase.
func (b *bench) run(p *schema.Point, o measuring.Order, watch func(*sim.Machine) cpus.Observer) (*stretch, error) {
	tally := sim.NewTally(sim.OfSteps{})
	r, err := b.lab.Run(o, func(m *sim.Machine) cpus.Observer {
		to := []cpus.Observer{tally}
		if watch != nil {
			to = append(to, watch(m))
		}
		return sim.Phased(phases.New(m.Image()), to...)
	})
	if err != nil {
		return nil, err
	}
	if r.Counters.Unmodelled > 0 {
		return nil, fmt.Errorf("%d instructions were not modelled, the last %s", r.Counters.Unmodelled, r.Counters.LastUnknown)
	}
	out := &stretch{Region: r, time: r.Ticks - r.Interrupted, instructions: int64(r.Instructions), phases: tally.Time}
	for _, n := range r.Counters.Count[cpus.Interrupted] {
		out.instructions -= int64(n)
	}
	for i, n := range r.Counters.Exceptions {
		if !strings.HasPrefix(p.Target.ISA.Exceptions[i], "interrupt") {
			out.exceptions += int64(n)
		}
	}
	return out, nil
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

// order completes the order of a loop by the probe of a point, and says what the kernel's rules say of its place.
func (b *bench) order(p *schema.Point) (measuring.Order, *probing.Verdict, error) {
	o, l := loopOf(p), p.Probe.Linux
	switch l.What {
	case schema.LinuxUprobe, schema.LinuxUretprobe:
		how := map[string]string{schema.LinuxUprobe: "p ", schema.LinuxUretprobe: "r "}[l.What]
		o.UserEvents = []string{how + program + symbolPlace(targetOf(p), uint64(max(l.Offset, 0)))}
	case schema.LinuxWatch:
		o.Watchpoint = &measuring.Watchpoint{Symbol: program + targetOf(p), Addr: uint64(max(l.Offset, 0)), Access: measuring.Write}
	case schema.LinuxKprobe, schema.LinuxKretprobe:
		v, err := b.site(p)
		if err != nil {
			return o, nil, err
		}
		o.Optimize = p.Probe.Mode == kprobes.Optimized
		if l.Handler == schema.LinuxEmpty {
			m, err := emptyModule(p, v)
			o.Modules = []measuring.Module{m}
			return o, v, err
		}
		how := map[string]string{schema.LinuxKprobe: "p ", schema.LinuxKretprobe: "r "}[l.What]
		o.Events = []string{how + v.Place}
		if l.What == schema.LinuxKretprobe {
			o.Events = []string{how + targetOf(p)}
		}
		return o, v, nil
	}
	return o, nil, nil
}

func symbolPlace(symbol string, offset uint64) string {
	if offset == 0 {
		return symbol
	}
	return fmt.Sprintf("%s+%#x", symbol, offset)
}

// site finds the place of a probe in the kernel, and holds it against the mode that the point asks for.
func (b *bench) site(p *schema.Point) (*probing.Verdict, error) {
	l, target := p.Probe.Linux, targetOf(p)
	offset := l.Offset
	if l.What == schema.LinuxKretprobe {
		offset = 0
	}
	key := fmt.Sprintf("site %s %d %s", target, offset, p.Probe.Mode)
	made, err := b.work.Do(key, func() (any, error) {
		var v probing.Verdict
		err := b.rules(func(k *probing.Kernel) (err error) {
			if k == nil {
				v, err = b.named(p, target, offset)
				return err
			}
			if offset < 0 {
				v, err = k.Choose(target, p.Probe.Mode)
			} else {
				var at uint64
				at, err = k.Resolve(symbolPlace(target, uint64(offset)))
				v = k.At(at)
			}
			v.Instruction = distro.Disassemble(b.lab.Kernel(), k.Code(v.Addr), v.Addr)
			return err
		})
		return &v, err
	})
	if err != nil {
		return nil, err
	}
	v := made.(*probing.Verdict)
	switch {
	case !v.Probe:
		return nil, fmt.Errorf("no probe may stand at %s: %s (rule %s)", v.Place, v.Why, v.Rule)
	case l.Handler == schema.LinuxEvent && !v.Event:
		return nil, fmt.Errorf("no trace event may stand at %s, because ftrace does not know the function: ask for handler %q", v.Place, schema.LinuxEmpty)
	case p.Probe.Mode == kprobes.Optimized && !v.Optimized:
		return nil, fmt.Errorf("the probe at %s is %s, not %s: %s (rule %s)", v.Place, v.Kind, p.Probe.Mode, v.KeptWhy, v.Kept)
	case p.Probe.Mode != kprobes.Optimized && v.Kind != p.Probe.Mode.String():
		return nil, fmt.Errorf("the probe at %s is %s, not %s", v.Place, v.Kind, p.Probe.Mode)
	}
	return v, nil
}

// named is what is said of a place in a kernel to which no rules can be applied: what the point wants, which the kernel's
// list and the number of exceptions then show.
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
		if none != nil {
			k = nil
		}
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

// verifyExceptions holds the exceptions of all hits against the mode: the kernel's list does not tell a breakpoint behind
// which the instruction is emulated from one behind which it is executed and a second breakpoint is hit.
func verifyExceptions(p *schema.Point, v *probing.Verdict, n int64) error {
	if v == nil {
		return nil
	}
	want := map[kprobes.Mode]int64{kprobes.Stepped: 2, kprobes.Emulated: 1}[p.Probe.Mode]
	if n < want*p.Workload.Hits || n >= (want+1)*p.Workload.Hits {
		return fmt.Errorf("%d hits of the probe at %s took %d exceptions more: one that is %s takes %d a hit", p.Workload.Hits, v.Place, n, p.Probe.Mode, want)
	}
	return nil
}

// verifyLinux holds the kernel's own list of probes against the point.
func verifyLinux(p *schema.Point, v *probing.Verdict, r *measuring.Region) error {
	if v == nil {
		return nil
	}
	for _, l := range r.List {
		if l.Addr != v.Addr {
			continue
		}
		is, want := "a breakpoint", p.Probe.Mode
		switch {
		case l.Ftrace:
			is = kprobes.Ftrace.String()
		case l.Optimized:
			is = kprobes.Optimized.String()
		}
		if l.Ftrace != (want == kprobes.Ftrace) || l.Optimized != (want == kprobes.Optimized) || l.Disabled {
			return fmt.Errorf("the kernel says that its probe at %s is %s, not %s", v.Place, is, want)
		}
		return nil
	}
	return fmt.Errorf("the kernel's list has no probe at %s (%#x)", v.Place, v.Addr)
}

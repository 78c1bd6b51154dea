package kinds

import (
	"errors"
	"fmt"
	"math/big"

	"kprobesim/cpus"
	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/internal/host"
	"kprobesim/kprobes"
	"kprobesim/modules"
	"kprobesim/sim"
	"kprobesim/smp"
	"kprobesim/targets"
)

// session is one booted machine with the services of its kernel, made for one point. It is used by
// the boot task, and by tasks of that while it waits.
type session struct {
	p       *schema.Point
	m       *sim.Machine
	k       *smp.Kernel
	probes  *kprobes.Kprobes
	call    *sim.Call       // the boot task's call of sim_main
	active  []registered    // the point's own, in the order of registration
	waiting []schema.Module // modules of the point that are still to be loaded
	loader  *modules.Loader // nil as long as no module has been loaded
	loaded  []*modules.Module
	crowd   []*kprobes.Probe // probes beside the point's own
	crowded crowdTimes       // what registering the crowd took
	facts   []string         // what was found beside the numbers, each once
	// observer is the one that is told of every step but the profiled ones, or nil.
	observer cpus.Observer
	counter  *counter // counts calls and hits, once the point's probes are registered
}

// registered is a probe and what it was registered with.
type registered struct {
	*kprobes.Probe
	schema.Registration
}

// boot builds a machine for p, starts it with all its CPUs, and runs body on the boot task of its kernel. The machine ends
// when body does. An observer of watch, if not nil, is told of every instruction from the start of the other CPUs on.
// Nothing is kept between points: each has cold caches and a kernel as it comes up. Its RAM goes back to the host at the end,
// so body keeps nothing that looks at it.
func boot(p *schema.Point, watch func(*sim.Machine) cpus.Observer, body func(*session) error) (err error) {
	var ram host.Pages
	defer func() { err = errors.Join(err, ram.Free()) }()
	c := config(p)
	c.Machine.Zeroed = ram.Zeroed
	var sys *targets.System
	if p.Attach != nil {
		c.Machine.Attach = func(m *sim.Machine) func(error) { return p.Attach(m, sys.Probes.List) }
	}
	sys, err = p.Target.Build(c)
	if err != nil {
		return err
	}
	s := &session{p: p, m: sys.Machine, k: sys.Kernel, probes: sys.Probes, waiting: p.Modules}
	return sys.Run(func(c *sim.Call) error {
		s.call = c
		if err := s.loadModules(schema.LoadBoot); err != nil {
			return err
		}
		if watch != nil {
			s.observer = watch(s.m)
			s.observe(s.observer)
		}
		if err := s.online(); err != nil {
			return err
		}
		return body(s)
	})
}

// config is the machine and the kernel that a point boots.
func config(p *schema.Point) targets.Config {
	return targets.Config{
		Machine: sim.Config{
			CPU: p.Machine.CPU, CPUs: int(p.Kernel.CPUs), RAM: int(p.Kernel.Memory),
			Image: p.Image.Image, TimerHz: p.Machine.TimerHz, Budget: budget(p),
			Layout: p.Layout(), Halt: p.Halt,
		},
		Kernel: smp.Options{
			HZ: p.Kernel.HZ, Preempt: p.Kernel.Preempt == schema.PreemptFull,
			Tick: p.Kernel.Tick != schema.TickNone, Spread: p.Kernel.Tick == schema.TickSpread,
		},
		Probes: probeOptions(p),
	}
}

// budget returns the simulated time that a point may take. Big numbers are needed, since
// microseconds times Hz times ticks may not fit.
func budget(p *schema.Point) clock.Ticks {
	t := new(big.Int).Mul(big.NewInt(p.Budget), big.NewInt(p.Machine.CPU.Hz))
	t.Mul(t, big.NewInt(int64(clock.PerCycle)))
	t.Quo(t, big.NewInt(1_000_000))
	if !t.IsInt64() {
		return 1 << 62
	}
	return clock.Ticks(t.Int64())
}

// probeOptions returns the Kprobes that a mode needs: without boosting and optimization to single-step,
// without optimization to boost. A mode is made by what the kernel leaves out, and not by a switch
// in the probe.
func probeOptions(p *schema.Point) kprobes.Options {
	o := kprobes.Default()
	o.Patching, o.Quiesce, o.Preempt = p.Kernel.Patching, p.Kernel.Quiesce, p.Kernel.Preempt == schema.PreemptFull
	o.Boost = p.Probe.Mode != kprobes.Stepped
	o.OptProbes = p.Probe.Mode == kprobes.Optimized
	o.Optimization = o.OptProbes
	return o
}

// cpu is the CPU that the boot task runs on.
func (s *session) cpu() cpus.CPU { return s.m.CPU(s.call.CPU()) }

// online starts the other CPUs and the ticks, when there are any. A kernel with one CPU and no ticks
// has nothing to start, and its code for that stays cold. Probes that the kernel has for itself are optimized before
// anything is measured.
func (s *session) online() error {
	if s.m.CPUs() == 1 && s.p.Kernel.Tick == schema.TickNone {
		return nil
	}
	if err := s.k.Online(s.call); err != nil || !s.probes.Busy() {
		return err
	}
	return s.probes.WaitOptimizer(s.call)
}

// loop runs n calls of the target and returns what they took, and the sum of their results. Only the
// CPU of the boot task is counted; a call that moves to another would be counted in part, so that is
// an error.
func (s *session) loop(n int64) (Sample, uint64, error) {
	target, ok := s.m.Image().Func(s.p.Workload.Target)
	if !ok {
		return Sample{}, 0, fmt.Errorf("image %s has no function %s", s.m.Image().Name,
			s.p.Workload.Target)
	}
	cpu, at := s.cpu(), s.call.CPU()
	before := *cpu.Counters()
	var sum uint64
	counts, err := s.counted(func() (err error) {
		sum, err = s.calls(target.Pointer, n)
		return err
	}, at)
	d := cpu.Counters().Sub(&before)
	if err == nil && s.call.CPU() != at {
		err = fmt.Errorf("the calls began on CPU %d and ended on CPU %d", at, s.call.CPU())
	}
	if err == nil && d.Unmodelled > 0 {
		err = fmt.Errorf("%d instructions were not modelled, the last %s", d.Unmodelled,
			d.LastUnknown)
	}
	out := sample(&d)
	out.Counts = counts
	return out, sum, err
}

// calls has the loop call the target n times, in the kernel or from user mode, and returns the sum of the
// results.
func (s *session) calls(target uint64, n int64) (sum uint64, err error) {
	if s.p.InUser() {
		return s.userLoop(target, n)
	}
	return s.call.InvokeSym(s.p.Workload.Loop, append([]uint64{target, uint64(n)}, s.p.Workload.Args[:]...)...)
}

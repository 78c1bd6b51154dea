package races

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/internal/host"
	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/smp"
	"kprobesim/targets"
	"kprobesim/workloads"
)

// A lab makes the machines of one variant of a scenario.
// Workers boot machines of it at the same time, so nothing of it that shows changes while a search runs. Only a
// replay watches.
type lab struct {
	s      *Scenario
	v      *Variant
	target *targets.Target
	isa    *cpus.ISA
	cpu    cpus.Config
	im     *image.Image
	spins  []uint64 // instructions by which the kernel's code says that it waits in a loop
	entry  entry    // how functions are probed that begin with a nop
	places []uint64 // of the scenario's probes, bytes from the starts of their targets
	// watched is the same of watchpoints, from the starts of their symbols.
	watched []uint64
	mutant  string
	opt     Options                                                // of a search, which say when it ends and whether outcomes have cells
	watch   func(t *trial)                                         // told of every machine before it runs, or nil
	decoded sync.Pool                                              // of *cpus.Decoded: the code of machines that have ended
	attach  func(*sim.Machine, func() (string, error)) func(error) // as in sim.Config, if watch is not nil
}

// Mistakes that only the image shows, such as a function that is not
// there, are errors here.
func newLab(s *Scenario, v *Variant, mutant string) (*lab, error) {
	target := targets.Find(targets.List(), v.ISA)
	if target == nil {
		return nil, fmt.Errorf("%s, variant %s: no target %q", s.File, v.Name, v.ISA)
	}
	l := &lab{s: s, v: v, target: target, isa: target.ISA, mutant: mutant}
	l.decoded.New = func() any { return new(cpus.Decoded) }
	l.cpu = plainCPU(l.isa, v.Coherent)
	var err error
	if l.im, err = targets.LoadImage(v.Image()); err != nil {
		return nil, fmt.Errorf("%s, variant %s: %w", s.File, v.Name, err)
	}
	if err := l.findSpins(); err != nil {
		return nil, err
	}
	if err := l.names(); err != nil {
		return nil, err
	}
	l.findEntries()
	return l, l.findPlaces()
}

// entry is how the kernel probes functions that begin with a nop: by a call in its place.
type entry struct {
	call func(from, to uint64) []byte // nil where it has no such probes
	nops []uint64                     // where the functions begin
	to   uint64
}

// findEntries finds what is called. Kernels without the function tracer have nothing of it.
func (l *lab) findEntries() {
	to, ok := l.im.Func("entry_trampoline")
	from, traced := l.im.Symbol("__start_mcount_loc")
	end, _ := l.im.Symbol("__stop_mcount_loc")
	if !ok || !traced {
		return
	}
	word := l.im.Order.Uint64
	if l.target.ISA.Bits == 32 {
		word = func(b []byte) uint64 { return uint64(l.im.Order.Uint32(b)) }
	}
	for _, s := range l.im.Segments {
		for at := from.Addr; at < end.Addr && at-s.VA < uint64(len(s.Data)); at += uint64(l.target.ISA.Bits / 8) {
			l.entry.nops = append(l.entry.nops, word(s.Data[at-s.VA:]))
		}
	}
	for _, e := range l.target.Probes.Eras {
		if e.EntryCall != nil {
			l.entry.call, l.entry.to = e.EntryCall, to.Entry
		}
	}
}

// isEntry reports whether a probe at an address is called by the function's first instruction.
func (l *lab) isEntry(at uint64) bool { return slices.Contains(l.entry.nops, at) }

// entryCall is the call that may stand at an address while a probe is armed there.
func (l *lab) entryCall(at uint64) []byte {
	if !l.isEntry(at) {
		return nil
	}
	return l.entry.call(at, l.entry.to)
}

// findSpins looks for hints at every instruction. Behind data in the text the length of an instruction may be wrong for a few
// bytes. What only looks like a hint there is of no harm: nothing is executed at its address.
func (l *lab) findSpins() error {
	text, err := l.between("_text", "_etext")
	if err != nil {
		return err
	}
	arch := l.target.Probes
	for _, s := range l.im.Segments {
		for i := 0; i < len(s.Data); {
			pc := s.VA + uint64(i)
			if !text.contains(pc) {
				i++
				continue
			}
			in := arch.Classify(s.Data[i:], pc)
			if in.Kind == kprobes.ClassSpin {
				l.spins = append(l.spins, pc)
			}
			i += max(in.Len, 1)
		}
	}
	return nil
}

// Image names the guest image of the variant's kernel: one with all barriers, where there is one.
func (v *Variant) Image() string {
	name := v.ISA + "-" + v.Era
	if v.Preempt {
		return name + "-preempt"
	}
	if _, ok := workloads.Find(name + "-ordered"); ok {
		name += "-ordered"
	}
	return name
}

// names holds the functions that a scenario names against the image.
func (l *lab) names() error {
	var errs []error
	want := func(what, name string) {
		if f, ok := l.im.Func(name); !ok || !f.Typed || f.Size == 0 {
			errs = append(errs, fmt.Errorf("%s: %s: image %s has no function %q", l.s.File, what, l.im.Name, name))
		}
	}
	for i, c := range l.s.Callers {
		want(fmt.Sprintf("callers.%d", i), c.Target)
	}
	for _, p := range l.s.Probes {
		want("probes."+p.Name, p.Target)
	}
	for _, w := range l.s.Watches {
		want("watchpoints."+w.Name, w.Target)
	}
	return errors.Join(errs...)
}

// findPlaces counts instructions where a probe stands on one of them, because their lengths differ between
// kernels.
func (l *lab) findPlaces() error {
	for i := range l.s.Probes {
		p := &l.s.Probes[i]
		at, err := l.place("probes."+p.Name, p.Target, p.Instruction)
		if err != nil {
			return err
		}
		l.places = append(l.places, at+p.Offset)
	}
	for i := range l.s.Watches {
		w := &l.s.Watches[i]
		at, err := l.place("watchpoints."+w.Name, w.Symbol, w.Instruction)
		if err != nil {
			return err
		}
		l.watched = append(l.watched, at+w.Word*uint64(l.im.Bits/8))
	}
	return nil
}

// place is how far behind the start of a function one of its instructions stands, in bytes.
func (l *lab) place(what, target string, instruction int) (uint64, error) {
	if instruction == 0 {
		return 0, nil
	}
	starts, err := l.starts(target)
	if err != nil {
		return 0, err
	}
	if instruction >= len(starts) {
		return 0, fmt.Errorf("%s: %s: instruction %d: %s of image %s has %d instructions, numbered from 0",
			l.s.File, what, instruction, target, l.im.Name, len(starts))
	}
	return starts[instruction], nil
}

// starts are the places of a function's instructions, in bytes from its start.
func (l *lab) starts(name string) (at []uint64, err error) {
	f, err := l.symbol(name)
	if err != nil {
		return nil, err
	}
	for _, s := range l.im.Segments {
		from := f.Addr - s.VA
		if from >= uint64(len(s.Data)) {
			continue
		}
		code := s.Data[from:min(from+f.Size, uint64(len(s.Data)))]
		for i, n := range newText(name, f.Addr, code, &forms{arch: l.target.Probes}).length {
			if n != 0 {
				at = append(at, uint64(i))
			}
		}
	}
	return at, nil
}

// options returns the options of the variant's kernel.
// The API costs nothing: no time is predicted, and its cycles would only be idle ones.
func (l *lab) options() kprobes.Options {
	o := kprobes.Default()
	o.Boost, o.OptProbes, o.Optimization = l.v.Boost, l.v.Optimize, l.v.Optimize
	o.Preempt, o.Patching, o.Quiesce = l.v.Preempt, l.v.Patching, l.v.Quiesce
	o.Delay, o.Batch = l.s.Delay, l.v.Batch
	if slices.Contains(kprobes.Mutants(), l.mutant) {
		o.Mutant = l.mutant
	}
	o.Costs = kprobes.Costs{}
	return o
}

// silent reports whether the variant's protocol changes text by one store and tells nobody.
func (l *lab) silent() bool {
	if l.v.Patching == "" {
		return l.target.Probes.Optimizer.Patchings[0] == kprobes.PatchStore
	}
	return l.v.Patching == kprobes.PatchStore
}

// A trial is one booted machine with its kernel and those who look at it.
// It serves one batch of schedules, or one plan, and goes when something was found on it.
type trial struct {
	l        *lab
	m        *sim.Machine
	smp      *smp.Kernel
	k        *kprobes.Kprobes
	e        *explorer
	checker  *checker
	call     smp.Caller                                      // of the task that acts; the boot task's is that of sim_main
	probes   []*kprobes.Probe                                // registered ones, by index
	program  *smp.File                                       // what processes run, nil without any
	spaces   []*smp.Space                                    // of processes that stay
	tramp    *kprobes.UserProbe                              // where return probed functions of user space return to
	users    []*kprobes.UserProbe                            // registered ones, by index
	watches  []int                                           // registers of watchpoints that are set, else -1
	callers  []uint64                                        // struct race_caller
	fields   struct{ fn, a0, a1, pause, paused image.Field } // of it
	module   handlerModule                                   // of probes whose handlers are a module's
	spawned  int                                             // processes that end
	pauses   uint64                                          // how often callers were kept out
	outcomes []Outcome
	failed   error
	beside   error // of the task beside the script
	taken    int64 // bytes that probes of the kernel itself take
	held     int   // allocations at the end of a schedule, the fewest so far
	blind    error // the checker cannot see what it should
	// acting is told of each action of a script before it is done, or nil.
	acting func(cpu int, line string)
}

// boot builds a machine that runs nothing yet.
// The budget of simulated time is out of reach: the limit of a schedule ends it first.
func (l *lab) boot(c chooser, zeroed func(int) []byte, decoded *cpus.Decoded) (*trial, error) {
	t := &trial{l: l, e: &explorer{c: c, last: -1, limit: l.s.Limit, nmi: slices.Index(l.isa.Lines, nmiLine)}, probes: make([]*kprobes.Probe, len(l.s.Probes))}
	t.users = make([]*kprobes.UserProbe, len(l.s.Probes))
	t.watches = slices.Repeat([]int{-1}, len(l.s.Watches))
	plan, timeless := c.(*bounded)
	policy, buffers := sim.Policy(t.e), (*sim.Buffers)(nil)
	if timeless {
		policy = &timekeeper{t.e, plan, 0}
	} else {
		var err error
		if buffers, err = l.buffers(t.e); err != nil {
			return nil, err
		}
	}
	sys, err := l.target.Build(targets.Config{
		Machine: sim.Config{
			CPU: l.cpu, CPUs: l.s.CPUs, RAM: int(l.s.Memory), Zeroed: zeroed, Image: l.im, Policy: policy, Buffers: buffers, Budget: 1 << 60,
			Decoded: decoded, Attach: t.attach(),
		},
		Kernel: l.services(),
		Probes: l.options(),
	})
	if err != nil {
		return nil, err
	}
	t.m, t.smp, t.k = sys.Machine, sys.Kernel, sys.Probes
	t.e.m = t.m
	t.k.Show(t.e.yield)
	t.smp.Show(t.e.yield)
	if err := errors.Join(t.spoil(), t.observe()); err != nil {
		return nil, err
	}
	if timeless {
		plan.log.begin()
	}
	switch {
	case l.opt.Covers(): // each plan covers something of its own, so none is left out
		return t, t.cover()
	case timeless && plan.log != nil:
		plan.log.attach(t)
	}
	return t, nil
}

// buffers have stores wait, where the instruction set says so. Kernels of ARM and POWER with probes of user space are the measured ones,
// whose barriers do not do.
func (l *lab) buffers(e *explorer) (*sim.Buffers, error) {
	if !l.isa.StoresWait && (!l.isa.WeakOrder || strings.HasSuffix(l.v.Era, "-userprobes")) {
		return nil, nil
	}
	b := &sim.Buffers{Room: storeRoom, Choose: e.drain}
	if l.isa.WeakOrder {
		b.Sees = e.sees
	}
	for _, at := range [][2]string{{"_text", "_etext"}, {"__slots_start", "__slots_end"}} {
		code, err := l.between(at[0], at[1])
		if err != nil {
			return nil, err
		}
		for _, s := range l.im.Segments {
			if code[0]-s.VA < s.MemSize {
				b.Code = append(b.Code, [2]uint64{code[0] - s.VA + s.PA, code[1] - s.VA + s.PA})
			}
		}
	}
	return b, nil
}

// services are the options of the variant's scheduler and grace periods.
func (l *lab) services() smp.Options {
	o := smp.Options{HZ: hz / l.v.Jiffy, Preempt: l.v.Preempt, Tick: true, ForceQuiescent: -1}
	if l.v.Hasten > 0 {
		o.ForceQuiescent = l.v.Hasten
	}
	if slices.Contains(smp.Mutants(), l.mutant) {
		o.Mutant = l.mutant
	}
	return o
}

// run implements runner.
// The script runs on the boot task, on CPU 0, and the machine ends with it.
func (l *lab) run(c chooser, first, count uint64) (_ []Outcome, err error) {
	var ram host.Pages
	defer func() { err = errors.Join(err, ram.Free()) }()
	decoded := l.decoded.Get().(*cpus.Decoded)
	defer l.decoded.Put(decoded)
	t, err := l.boot(c, ram.Zeroed, decoded)
	if err != nil {
		return nil, err
	}
	if l.watch != nil {
		l.watch(t)
	}
	n, own := first, Tally{}
	t.m.Bind("sim_main", func(c *sim.Call) uint64 {
		t.call = c
		if t.failed = t.prepare(); t.failed != nil {
			return 0
		}
		for more := true; more && n < first+count && t.failed == nil && t.e.bad == nil; n++ {
			t.e.begin(n)
			if t.failed = t.script(); t.failed == nil {
				t.outcomes = append(t.outcomes, t.e.end(n))
				more = own.add(&t.outcomes[len(t.outcomes)-1], &l.opt)
			}
		}
		return 0
	})
	err = errors.Join(t.m.Run(), t.smp.Err())
	return t.outcomes, t.verdict(n, err)
}

// verdict adds the outcome of the schedule that a machine ended in, if it did not come to its end.
// A checker that is blind and a script that is wrong come first: what was found with them says
// nothing of the kernel. What goes wrong outside of a schedule is an error and no violation.
func (t *trial) verdict(n uint64, err error) error {
	var wrong *scriptError
	switch {
	case t.blind != nil:
		return t.blind
	case errors.As(t.failed, &wrong):
		return t.failed
	case err == nil && t.failed == nil:
		return nil
	case !t.e.active && t.e.bad != nil && len(t.outcomes) > 0 && t.outcomes[len(t.outcomes)-1].Violation == t.e.bad:
		return nil // found at the end of its schedule
	case !t.e.active && t.e.bad != nil:
		return errors.Join(t.failed, fmt.Errorf("in front of the first schedule: %s", t.e.bad))
	case !t.e.active:
		return errors.Join(t.failed, err)
	}
	if t.e.bad == nil {
		t.e.bad = &Violation{Kind: Died, CPU: -1, Step: t.e.steps(), Text: errors.Join(t.failed, err).Error()}
	}
	t.outcomes = append(t.outcomes, t.e.end(n))
	return nil
}

// prepare starts the other CPUs and the callers, and notes what the functions return without probes.
// No probe is registered yet, so what a function returns then is right.
func (t *trial) prepare() error {
	if err := t.smp.Online(t.call); err != nil {
		return err
	}
	for i, c := range t.l.s.Callers {
		fn, _ := t.m.Image().Func(c.Target)
		want, err := t.call.InvokeSym("bench_loop", fn.Pointer, 1, c.Args[0], c.Args[1])
		if err != nil {
			return err
		}
		t.checker.calls.results[fn.Entry] = want
		for j := range c.Count {
			if err := t.caller(fmt.Sprintf("caller%d.%d", i, j), c, fn.Pointer); err != nil {
				return err
			}
		}
	}
	if err := t.processes(); err != nil {
		return err
	}
	f, err := t.k.Footprint()
	t.taken = f.Sum()
	return err
}

// caller starts one task that calls a function again and again.
// Its struct race_caller begins a cache line of its own. By it the script keeps the task out of a
// module.
func (t *trial) caller(name string, c Caller, fn uint64) error {
	f := &t.fields
	size, err := t.m.Image().Layout("race_caller", image.Parts{
		"fn": &f.fn, "a0": &f.a0, "a1": &f.a1, "pause": &f.pause, "paused": &f.paused,
	})
	if err != nil {
		return err
	}
	at, err := t.m.Alloc(size, 64)
	if err != nil {
		return err
	}
	mem := image.Access{Memory: t.m}
	mem.Store(at, f.fn, fn)
	mem.Store(at, f.a0, c.Args[0])
	mem.Store(at, f.a1, c.Args[1])
	if mem.Err != nil {
		return mem.Err
	}
	t.callers = append(t.callers, at)
	s, spawn := smp.Thread{Name: name, CPU: c.CPU, Bound: !c.Moves, Fn: "race_call", Arg: at}, t.smp.Spawn
	if t.l.v.User || c.User {
		s.Fn, spawn = "user_race", t.smp.SpawnUser
	}
	_, err = spawn(t.call, s)
	return err
}

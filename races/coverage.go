package races

import (
	"slices"
	"strings"

	"kprobesim/cpus"
	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/smp"
)

// protocolStep is a step of a protocol: an event that is told behind a store for other CPUs to see.
type protocolStep struct {
	kind   sim.EventKind
	event  string
	name   string
	stores bool // into code, at Arg of the event
}

// protocolSteps are the rows of a coverage. Outcomes that are kept have their numbers.
var protocolSteps = [...]protocolStep{
	{kprobes.EventProbe, "registered", "probe registered", false},
	{kprobes.EventProbe, "inserted", "probe in all pages", true},
	{kprobes.EventSlot, "taken", "slot taken", true},
	{kprobes.EventDetour, "taken", "detour taken", true},
	{kprobes.EventProbe, "optimizing", "jump asked for", false},
	{kprobes.EventPatch, "breakpoint", "breakpoint stored", true},
	{kprobes.EventPatch, "tail", "tail stored", true},
	{kprobes.EventPatch, "first", "first byte stored", true},
	{kprobes.EventPatch, "whole", "all bytes stored", true},
	{kprobes.EventPatch, "restore", "instruction restored", true},
	{kprobes.EventSync, "", "a CPU synchronized", false},
	{kprobes.EventProbe, "optimized", "jump in place", false},
	{kprobes.EventProbe, "unoptimizing", "jump to go", false},
	{kprobes.EventProbe, "unoptimized", "jump gone", false},
	{smp.EventStop, "prepare", "stop: prepare", false},
	{smp.EventStop, "disable-irq", "stop: disable-irq", false},
	{smp.EventStop, "run", "stop: run", false},
	{smp.EventStop, "exit", "stop: exit", false},
	{smp.EventGraceBegin, smp.PeriodSched, "RCU-sched begins", false},
	{smp.EventGraceEnd, smp.PeriodSched, "RCU-sched ends", false},
	{smp.EventGraceBegin, smp.PeriodTasks, "RCU-tasks begins", false},
	{smp.EventGraceEnd, smp.PeriodTasks, "RCU-tasks ends", false},
	{smp.EventGraceBegin, smp.PeriodFreeze, "tasks frozen", false},
	{smp.EventGraceEnd, smp.PeriodFreeze, "tasks thawed", false},
	{kprobes.EventProbe, "removed", "probe out of all pages", true},
	{kprobes.EventProbe, "unregistered", "probe unregistered", false},
	{kprobes.EventSlot, "freed", "slot freed", true},
	{kprobes.EventDetour, "freed", "detour freed", true},
	{kprobes.EventProbe, "freed", "aggregate freed", false},
	{kprobes.EventProbe, "gone", "probe gone with its module", false},
	{kprobes.EventWatch, "registered", "watchpoint set", false},
	{kprobes.EventWatch, "unregistered", "watchpoint cleared", false},
}

// position says where another CPU stands behind a step, or how its fetches of the stored code are ordered with the step.
type position uint8

// The columns of a coverage.
const (
	atElsewhere position = iota
	atIdle
	atStopper // the task by which a machine is stopped
	atFunction
	atSite   // the next instruction is a probed one
	atRegion // or lies in the bytes that a jump in place of that one takes
	atSlot
	atDetour
	atHandler
	atHit  // a breakpoint exception, outside of all of these
	atStep // a single-step exception
	atException
	atInterrupt
	atOffCPU      // a task that runs nowhere is in a slot or detour
	fetchedBefore // the CPU has fetched the code behind the store before this one
	fetchedAfter  // it fetches the code behind this store, in front of the next one
	positions
)

// positionNames are the columns' heads.
var positionNames = [positions]string{
	"elsewhere", "idle", "stopper", "function", "site", "region", "slot", "detour", "handler", "hit", "single-step", "exception", "interrupt",
	"off CPU", "fetch before", "fetch after",
}

// Covered are the cells of one schedule, as bits: each protocol step, its positions.
type Covered [(len(protocolSteps)*int(positions) + 63) / 64]uint64

// add notes a cell.
func (c *Covered) add(step int, at position) {
	n := step*int(positions) + int(at)
	c[n/64] |= 1 << (n % 64)
}

// covering sees the cells of the schedules of one machine.
// It observes in place of the checker, which it calls, so that a search without it has nothing of it.
type covering struct {
	*checker
	at       func(cpu int) (next uint64, context uint8)
	seen     Covered
	running  []string // names of tasks, by CPU
	handlers []span
	shared   *sharing             // nil in a search that asks for no coverage
	replaced map[uint64]*replaced // bytes that probes replace, and the first one of each slot and detour, which stands for all of it
}

// replaced is a byte of code that steps store into.
type replaced struct {
	last    int // the step that stored, counted from 1; 0 for none in this schedule
	by      int
	fetched uint64 // CPUs that have since, as bits
}

// cover has the cells of a machine seen, before its first instruction.
func (t *trial) cover() error {
	x := newCovering(t.checker, func(cpu int) (uint64, uint8) { c := t.m.CPU(cpu); return c.PC(), c.ExceptionContext() })
	for i := range t.l.s.Probes {
		h, err := t.symbol(t.l.s.handlerName(i))
		if err != nil {
			return err
		}
		x.handlers = append(x.handlers, span{h.Addr, h.Addr + h.Size})
	}
	t.e.covering = x
	t.m.Watch(x.event)
	t.watch(x, false)
	if !t.l.opt.Coverage {
		return nil
	}
	var err error
	x.shared, err = t.share()
	return err
}

func newCovering(c *checker, at func(cpu int) (uint64, uint8)) *covering {
	x := &covering{checker: c, at: at, running: make([]string, len(c.calls.current)), replaced: map[uint64]*replaced{}}
	for _, p := range c.calls.probes {
		for n := range c.arch.Reach() {
			x.codeAt(p.addr + uint64(n)) // 0 of a watchpoint is no code
		}
	}
	return x
}

// codeAt finds what stands at an address, or is to.
func (x *covering) codeAt(addr uint64) *replaced {
	if x.replaced[addr] == nil {
		x.replaced[addr] = &replaced{}
	}
	return x.replaced[addr]
}

// take returns the cells and pairs since it was called last. It is called at both ends of a schedule.
func (x *covering) take() (c Covered, pairs []Pair) {
	c, x.seen = x.seen, c
	if x.shared != nil {
		pairs = x.shared.take()
	}
	for _, r := range x.replaced {
		*r = replaced{}
	}
	return c, pairs
}

// event notes where all other CPUs are. It comes behind the checker's.
func (x *covering) event(e sim.Event) {
	if e.Kind == sim.EventTask {
		x.running[e.CPU] = e.Name
	}
	i := slices.IndexFunc(protocolSteps[:], func(s protocolStep) bool { return s.kind == e.Kind && s.event == e.Name })
	if i < 0 {
		return
	}
	for cpu := range x.running {
		if cpu != e.CPU {
			x.seen.add(i, x.position(cpu))
		}
	}
	if x.offCPU() {
		x.seen.add(i, atOffCPU)
	}
	if protocolSteps[i].stores {
		x.stored(i, e)
	}
}

// position is where a CPU is: by its next instruction, or else by what it is in the middle of.
func (x *covering) position(cpu int) position {
	pc, context := x.at(cpu)
	if p := x.inCode(pc); p != atElsewhere {
		return p
	}
	if p := contextPositions[context]; p != atElsewhere {
		return p
	}
	switch task := x.running[cpu]; {
	case x.code.at(x.calls.on(cpu).slot.start) == detourCode:
		return atDetour // in what the detour calls
	case task == "idle" || task == "" && cpu > 0: // no CPU but the first one starts in a task
		return atIdle
	case strings.HasPrefix(task, "migration/"):
		return atStopper
	}
	return atElsewhere
}

// contextPositions are positions by the exception that code is in the middle of.
var contextPositions = [cpus.Contexts]position{
	cpus.Breakpoint: atHit, cpus.SingleStep: atStep, cpus.OtherException: atException, cpus.Interrupted: atInterrupt,
}

// inCode is the position of code that the checker knows.
func (x *covering) inCode(pc uint64) position {
	class := x.code.at(pc)
	switch site, ok := x.region(pc); {
	case class == slotCode || class == detourCode:
		return atSlot + position(class-slotCode)
	case ok && site == pc:
		return atSite
	case ok:
		return atRegion
	case slices.ContainsFunc(x.handlers, func(h span) bool { return h.contains(pc) }):
		return atHandler
	case x.textAt(pc) != nil:
		return atFunction
	}
	return atElsewhere
}

// region finds the probe that an address belongs to.
func (x *covering) region(pc uint64) (addr uint64, ok bool) {
	for _, p := range x.calls.probes {
		if !p.watch && pc-p.addr < uint64(x.arch.Reach()) {
			return p.addr, true
		}
	}
	return 0, false
}

// offCPU reports whether a task is in a slot or detour and runs on no CPU.
func (x *covering) offCPU() bool {
	for id, t := range x.calls.tasks {
		if t.slot.start != 0 && !slices.Contains(x.calls.current, id) {
			return true
		}
	}
	return false
}

// stored notes who has fetched what a step replaces.
func (x *covering) stored(step int, e sim.Event) {
	for addr := e.Arg; addr < e.Arg+x.size(step, e.Arg); addr++ {
		r := x.codeAt(addr)
		if r.fetched&^(1<<e.CPU) != 0 {
			x.seen.add(step, fetchedBefore)
		}
		*r = replaced{last: step + 1, by: e.CPU}
	}
}

// size is how many bytes a step stores, where each counts: the breakpoint's, or all from there to the end of the jump. The first byte of a
// slot or detour buffer stands for all of it.
func (x *covering) size(step int, addr uint64) uint64 {
	site, ok := x.region(addr)
	switch name := protocolSteps[step].event; {
	case !ok:
		return 1
	case name == "tail" || name == "whole":
		return site + uint64(x.arch.Reach()) - addr
	}
	return uint64(len(x.arch.Breakpoint))
}

// Step implements cpus.Observer.
func (x *covering) Step(s *cpus.Step) {
	x.checker.Step(s)
	switch class := x.code.at(s.PC); class {
	case slotCode, detourCode:
		x.fetched(x.calls.on(s.CPU).slot.start, s.CPU)
	case textCode, handlerCode:
		for i := range s.Code {
			x.fetched(s.PC+uint64(i), s.CPU)
		}
	}
}

// fetched notes that a CPU has executed a byte.
func (x *covering) fetched(addr uint64, cpu int) {
	r := x.replaced[addr]
	if r == nil {
		return
	}
	if r.fetched |= 1 << cpu; r.last > 0 && r.by != cpu {
		x.seen.add(r.last-1, fetchedAfter)
	}
}

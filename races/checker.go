package races

import (
	"fmt"

	"kprobesim/cpus"
	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/smp"
)

// machine answers the checker for the simulated machine.
// Tests play the machine themselves, to show the checker what no guest does.
type machine interface {
	Text(addr uint64, n int) []byte       // what an instruction fetch would read
	TextIs(addr uint64, want []byte) bool // the same compared, which is quicker
	Arg(cpu, i int) uint64                // an argument of the function that a CPU has just entered
	Syncs() []uint64                      // how often each CPU has synchronized its fetching
}

// reporter is told what the checker sees.
// The explorer is one: it makes points of what has passed and ends the machine for what was found.
type reporter interface {
	// found is told of something that must not happen.
	found(kind Kind, cpu int, pc uint64, text string)
	// passed is told that a CPU has executed an instruction of a class; spin says that it waits.
	passed(cpu int, spin bool)
}

// A checker looks at every instruction of the code that probes are in or lead through and compares
// what was executed with what may be. It knows the functions as compiled, who stored what into them,
// which slots and buffers are in use, and what each call of a probed function should have seen.
type checker struct {
	m      machine
	arch   *kprobes.Arch
	report reporter
	code   codeMap
	texts  []*text
	pools  [2]slotPool // out-of-line slots and detour buffers
	calls  calls
	storer int  // the CPU that has stored into text last
	lazy   bool // CPUs go on with what their instruction caches have
	steps  steps
	changes
}

// Step implements cpus.Observer.
// It is called behind the instruction, so a store into text can be found by comparing memory.
func (c *checker) Step(s *cpus.Step) {
	class := c.code.at(s.PC)
	if class == plainCode {
		return
	}
	c.report.passed(s.CPU, class == spinCode)
	switch class {
	case storeCode:
		c.compare(s.CPU)
	case textCode:
		c.inText(s, c.textAt(s.PC))
	case stepCode:
		c.stepped(s.CPU)
	case slotCode, detourCode:
		c.inSlot(s, &c.pools[class-slotCode])
	case returnCode:
		c.returned(s)
	case handlerCode:
		c.handled(s)
	}
}

// aware is how often each CPU has synchronized, where that decides what it knows of.
func (c *checker) aware() []uint64 {
	if !c.lazy {
		return nil
	}
	return c.m.Syncs()
}

// inText judges an instruction of a probed function.
// A task that is in the text is in no slot any more. Behind a handler's first instruction it has got past a breakpoint there, also
// where no copy was executed because the kernel emulated the instruction.
func (c *checker) inText(s *cpus.Step, t *text) {
	task := c.calls.on(s.CPU)
	task.slot = visit{}
	if task.struck != s.PC {
		task.struck = 0
	}
	if s.PC == t.start && t.called && task.call == nil {
		c.calls.enter(task, t.start, s.CPU, c.aware())
	}
	c.calls.executed(s.PC, t.orig[s.PC-t.start], s.Code)
	kind, why := t.check(s.PC, s.Code)
	if kind == "" && len(t.stores) > 0 {
		if why = t.unsynced(s.PC, s.Code, c.missedBy(s.CPU)); why != "" {
			kind = Unsynced
		}
	}
	if kind == "" && t.user {
		if name := c.passedUser(s.PC, s.CPU, s.Code); name != "" {
			kind, why = Lost, fmt.Sprintf("%s: executed % x, although probe %s is in every page and no task steps it", t.at(s.PC), s.Code, name)
		}
	}
	if kind != "" {
		c.report.found(kind, s.CPU, s.PC, why)
	}
}

// inSlot judges an instruction of a slot or detour buffer.
// A CPU that executes a copy has got past the breakpoint in front of it.
func (c *checker) inSlot(s *cpus.Step, p *slotPool) {
	task := c.calls.on(s.CPU)
	task.struck = 0
	kind, why := p.check(s.CPU, s.PC, &task.slot, c.m.Syncs)
	if kind != "" {
		c.report.found(kind, s.CPU, s.PC, why)
	}
}

// handled judges the first instruction of a handler.
func (c *checker) handled(s *cpus.Step) {
	if kind, why := c.calls.handled(s.CPU, s.PC, c.arch.Classify(s.Code, s.PC).Kind == kprobes.ClassBreakpoint); kind != "" {
		c.report.found(kind, s.CPU, s.PC, why)
	}
	if t := c.textAt(s.PC); t != nil {
		c.inText(s, t)
	}
}

// returned judges a call that has come to its end.
func (c *checker) returned(s *cpus.Step) {
	result := func() uint64 { return c.m.Arg(s.CPU, 1) }
	for _, v := range c.calls.leave(s.CPU, result, c.nameOf) {
		c.report.found(v.kind, s.CPU, s.PC, v.why)
	}
}

// compare finds what the instruction of a CPU that stores into text has changed there.
// A store may go to any text, and there are few of them, so all are compared.
func (c *checker) compare(cpu int) {
	for _, t := range c.texts {
		if t.user || c.m.TextIs(t.start, t.now) {
			continue
		}
		c.storer = cpu
		addr, changed := t.stored(c.m.Text(t.start, len(t.orig)), cpu, c.m.Syncs)
		c.changes.stores++
		if changed && t.gone {
			c.report.found(Stale, cpu, addr, fmt.Sprintf("a store into %s, which was unloaded", t.at(addr)))
		}
	}
}

// unseen finds text that has changed although no store was seen.
func (c *checker) unseen() (where string, ok bool) {
	for _, t := range c.texts {
		if !t.user && !c.m.TextIs(t.start, t.now) {
			return t.name, true
		}
	}
	return "", false
}

// restored holds the text against what was compiled, at the end of a schedule, and forgets the stores
// that every CPU knows of.
// Stores that some CPU still misses stay for the next schedule on this machine.
func (c *checker) restored() {
	for _, t := range c.texts {
		if t.user || t.gone {
			continue
		}
		for i, b := range c.m.Text(t.start, len(t.orig)) {
			if b != t.orig[i] {
				at := t.start + uint64(i)
				c.report.found(Stale, -1, at, fmt.Sprintf("%s is %#02x, not %#02x as compiled, with no probe left", t.at(at), b, t.orig[i]))
				return
			}
		}
	}
	now := c.m.Syncs()
	for _, t := range c.texts {
		t.settle(now)
	}
}

// replaced takes the text of a module as it is now for what it is, after it came, or when it goes. Its bytes are written
// by Go, so there is no store of the guest that a CPU could miss.
func (c *checker) replaced(at span, gone bool) {
	for _, t := range c.texts {
		if at.contains(t.start) {
			t.gone = gone
			t.restart(c.m.Text(t.start, len(t.orig)))
		}
	}
}

// missedBy tells which stores a CPU need not know of.
// The counts are read at most once for an instruction, and for most of them not at all.
func (c *checker) missedBy(cpu int) func(s *store) bool {
	var now []uint64
	return func(s *store) bool {
		if now == nil {
			now = c.m.Syncs()
		}
		return s.missed(cpu, now)
	}
}

// event takes in what the parts of the kernel tell.
func (c *checker) event(e sim.Event) {
	switch e.Kind {
	case sim.EventTask:
		c.calls.current[e.CPU] = e.ID
	case smp.EventLate:
		c.report.found(Late, e.CPU, 0, e.Name)
	case kprobes.EventSlot:
		c.changes.slots++
		c.pools[0].event(e, c.m.Syncs)
	case kprobes.EventDetour:
		c.changes.slots++
		c.pools[1].event(e, c.m.Syncs)
	case kprobes.EventProbe:
		c.changes.probes++
		if t := c.textAt(e.Arg); t != nil {
			t.told(e.Name, e.Arg)
		}
	}
}

// textAt finds the function that an address lies in.
func (c *checker) textAt(addr uint64) *text {
	for _, t := range c.texts {
		if t.contains(addr) {
			return t
		}
	}
	return nil
}

// leads reports whether a jump may lead to an address.
// Any buffer in use will do: which probe a jump belongs to is for the calls of handlers to show.
func (c *checker) leads(to uint64) bool {
	return c.pools[0].live(to) || c.pools[1].live(to)
}

func (c *checker) nameOf(fn uint64) string {
	if t := c.textAt(fn); t != nil && t.start == fn {
		return t.name
	}
	return fmt.Sprintf("%#x", fn)
}

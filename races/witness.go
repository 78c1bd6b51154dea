package races

import (
	"fmt"

	"kprobesim/cpus"
	"kprobesim/sim"
)

// surety says what is known of a probe.
type surety uint8

const (
	off   surety = iota // no call that begins now calls the handler
	maybe               // it is being changed
	on                  // every call does, once
)

// probed is a probe as the witness sees it.
type probed struct {
	name    string
	addr    uint64 // where it stands
	fn      uint64 // start of the function
	handler uint64 // guest function that only this probe calls
	state   surety
	epoch   int // counts changes of state
}

// call is a call of a watched function that a task is in.
type call struct {
	fn     uint64
	states []stated // by probe, when it began
	counts []int    // handler calls since, by probe
}

type stated struct {
	state surety
	epoch int
}

// actor is a task as the witness sees it.
type actor struct {
	in    visit
	call  *call
	spare *call
}

// A witness looks at every instruction of the code that probes are in or lead through and compares
// what was executed with what may be. It knows the functions as compiled, who stored what into them,
// which slots and buffers are in use, and what each call of a probed function should have seen.
type witness struct {
	texts   []*text
	areas   []*pieces
	probes  []*probed
	results map[uint64]uint64 // right results by function
	class   classes
	spans   [][2]uint64 // all that is of a class
	read    func(addr uint64, n int) []byte
	same    func(addr uint64, want []byte) bool // what would be read is what is wanted
	arg     func(cpu, i int) uint64
	syncs   func() []uint64 // how often each CPU has synchronized
	found   func(kind Kind, cpu int, pc uint64, text string)
	mark    func(cpu int, spin bool) // an instruction of a class was executed

	calls uint64 // of watched functions that have returned
	hits  uint64 // calls of handlers
	seq   int
	on    []uint64 // task by CPU
	tasks map[uint64]*actor
}

// Classes of code that the witness looks at.
const (
	plainCode   uint8 = iota
	textCode          // a function that is probed or called
	slotCode          // out-of-line slots
	detourCode        // detour buffers
	storeCode         // stores into text
	returnCode        // the end of a call
	handlerCode       // the begin of a handler
	spinCode          // a loop that waits
)

// classes says of addresses what they are.
type classes struct {
	base  uint64 // of the text
	of    []uint8
	areas [2][2]uint64 // slots and detour buffers
}

// at is the class of an address.
func (c *classes) at(pc uint64) uint8 {
	if i := pc - c.base; i < uint64(len(c.of)) {
		return c.of[i]
	}
	for i, a := range c.areas {
		if pc-a[0] < a[1]-a[0] {
			return slotCode + uint8(i)
		}
	}
	return plainCode
}

// span gives a range of addresses a class.
func (w *witness) span(class uint8, from, to uint64) {
	w.spans = append(w.spans, [2]uint64{from, to})
	if class == slotCode || class == detourCode {
		w.class.areas[class-slotCode] = [2]uint64{from, to}
		return
	}
	for pc := from; pc < to; pc++ {
		w.class.of[pc-w.class.base] = class
	}
}

// hot reports whether the code at an address matters: it may be patched, or it patches, or it tells
// what a caller does.
func (w *witness) hot(pc uint64) bool {
	c := w.class.at(pc)
	return c != plainCode && c != spinCode
}

// Step implements cpus.Observer.
func (w *witness) Step(s *cpus.Step) {
	class := w.class.at(s.PC)
	if class == plainCode {
		return
	}
	w.mark(s.CPU, class == spinCode)
	switch class {
	case storeCode:
		w.look(s.CPU)
	case textCode:
		w.inText(s, w.textAt(s.PC))
	case slotCode, detourCode:
		if kind, why := w.areas[class-slotCode].check(s.PC, &w.actor(s.CPU).in); kind != "" {
			w.found(kind, s.CPU, s.PC, why)
		}
	case returnCode:
		w.leave(s.CPU, s.PC)
	case handlerCode:
		w.handled(s.CPU, s.PC)
	}
}

// actor is the task that runs on a CPU.
func (w *witness) actor(cpu int) *actor {
	task := w.on[cpu]
	a := w.tasks[task]
	if a == nil {
		a = &actor{}
		w.tasks[task] = a
	}
	return a
}

// look compares the text with what it was.
func (w *witness) look(cpu int) {
	w.seq++
	for _, t := range w.texts {
		if w.same(t.start, t.now) {
			continue
		}
		n := len(t.changes)
		t.stored(w.read(t.start, len(t.orig)), cpu, w.seq, w.syncs)
		if t.gone && len(t.changes) > n {
			w.found(Stale, cpu, t.changes[n].addr, fmt.Sprintf("a store into %s, which was unloaded", t.at(t.changes[n].addr)))
		}
	}
}

// unseen finds text that has changed although no store was seen.
func (w *witness) unseen() (where string, ok bool) {
	for _, t := range w.texts {
		if !w.same(t.start, t.now) {
			return t.name, true
		}
	}
	return "", false
}

// rest holds the text against what was compiled, at the end of a schedule, and forgets what no longer
// matters.
func (w *witness) rest() {
	for _, t := range w.texts {
		for i, b := range w.read(t.start, len(t.orig)) {
			if b != t.orig[i] {
				at := t.start + uint64(i)
				w.found(Stale, -1, at, fmt.Sprintf("%s is %#02x, not %#02x as compiled, with no probe left", t.at(at), b, t.orig[i]))
				return
			}
		}
	}
	w.settle()
}

// textAt finds the function that an address lies in.
func (w *witness) textAt(addr uint64) *text {
	for _, t := range w.texts {
		if t.contains(addr) {
			return t
		}
	}
	return nil
}

// piece notes that a slot or detour buffer was taken or freed.
func (w *witness) piece(p *pieces, e sim.Event) {
	switch e.Name {
	case "taken":
		p.taken(e.Arg)
	case "freed":
		p.freed(e.Arg)
	}
}

// reload takes the text as it is now for what it is, after a module came or went.
func (w *witness) reload(gone func(t *text) bool) {
	for _, t := range w.texts {
		t.gone = gone(t)
		t.now = w.read(t.start, len(t.orig))
		t.changes = nil
	}
}

// inText judges an instruction of a probed function.
func (w *witness) inText(s *cpus.Step, t *text) {
	a := w.actor(s.CPU)
	a.in = visit{}
	if s.PC == t.start && a.call == nil {
		w.enter(a, t.start)
	}
	kind, why := t.check(s.PC, s.Code, w.probedAt(s.PC), w.leads)
	if kind == "" && len(t.changes) > 0 {
		if why = t.unsynced(s.PC, w.missed(s.CPU), w.probedAt); why != "" {
			kind = Unsynced
		}
	}
	if kind != "" {
		w.found(kind, s.CPU, s.PC, why)
	}
}

// missed returns which changes a CPU need not know of.
func (w *witness) missed(cpu int) func(c *change) bool {
	var now []uint64
	return func(c *change) bool {
		if now == nil {
			now = w.syncs()
		}
		return c.cpu != cpu && now[cpu] == c.syncs[cpu]
	}
}

// settle forgets the changes that every CPU knows of.
func (w *witness) settle() {
	now := w.syncs()
	for _, t := range w.texts {
		t.settle(func(c *change) bool {
			for i := range now {
				if i != c.cpu && now[i] == c.syncs[i] {
					return false
				}
			}
			return true
		})
	}
}

func (w *witness) probedAt(pc uint64) bool {
	for _, p := range w.probes {
		if p.addr == pc {
			return true
		}
	}
	return false
}

// leads reports whether a jump may lead to an address.
func (w *witness) leads(to uint64) bool {
	for _, a := range w.areas {
		if a.live(to) {
			return true
		}
	}
	return false
}

// enter begins a call.
func (w *witness) enter(a *actor, fn uint64) {
	c := a.spare
	if c == nil {
		c = &call{states: make([]stated, len(w.probes)), counts: make([]int, len(w.probes))}
	}
	c.fn = fn
	for i, p := range w.probes {
		c.states[i], c.counts[i] = stated{p.state, p.epoch}, 0
	}
	a.call, a.spare = c, nil
}

// handled counts a call of a handler for the call that the task is in.
func (w *witness) handled(cpu int, pc uint64) {
	c := w.actor(cpu).call
	for i, p := range w.probes {
		if c != nil && p.handler == pc {
			c.counts[i]++
			w.hits++
		}
	}
}

// leave ends a call and holds what happened in it against what should have.
func (w *witness) leave(cpu int, pc uint64) {
	a := w.actor(cpu)
	c := a.call
	if c == nil {
		return
	}
	a.call, a.spare = nil, c
	w.calls++
	for i, p := range w.probes {
		if p.fn == c.fn {
			w.counted(cpu, pc, p, c.states[i], c.counts[i])
		}
	}
	if want, ok := w.results[c.fn]; ok && w.arg(cpu, 1) != want {
		w.found(Result, cpu, pc, fmt.Sprintf("%s returned %#x, not %#x", w.nameOf(c.fn), w.arg(cpu, 1), want))
	}
}

// counted judges the number of handler calls in one call of the function.
func (w *witness) counted(cpu int, pc uint64, p *probed, then stated, n int) {
	least, most := 0, 1
	if then.epoch == p.epoch {
		switch then.state {
		case on:
			least = 1
		case off:
			most = 0
		}
	}
	switch {
	case n < least:
		w.found(Lost, cpu, pc, fmt.Sprintf("a call of %s while probe %s was enabled called its handler %d times",
			w.nameOf(p.fn), p.name, n))
	case n > most:
		w.found(Doubled, cpu, pc, fmt.Sprintf("a call of %s called the handler of probe %s %d times, at most %d expected",
			w.nameOf(p.fn), p.name, n, most))
	}
}

func (w *witness) nameOf(fn uint64) string {
	for _, t := range w.texts {
		if t.start == fn {
			return t.name
		}
	}
	return fmt.Sprintf("%#x", fn)
}

// set notes what is known of a probe from now on.
func (w *witness) set(probe int, s surety) {
	w.probes[probe].state = s
	w.probes[probe].epoch++
}

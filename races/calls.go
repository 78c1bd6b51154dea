package races

import (
	"fmt"
	"slices"
)

// expected says what is known of a probe: how often a call of the probed function calls its handler.
// The script sets it before and after each call of the API, so every change passes through maybe.
type expected uint8

const (
	absent expected = iota // it is not registered: nobody calls the handler any more
	off                    // disabled: no call that begins now calls the handler
	maybe                  // it is being changed
	on                     // every call does, once
)

// probed is a probe as the checker sees it.
type probed struct {
	name    string
	addr    uint64 // where it stands
	fn      uint64 // start of the function
	handler uint64 // guest function that only this probe calls
	watch   bool   // it is a watchpoint, on what its function alone touches
	user    bool   // of user space: others may pass while its instruction is stepped
	nested  bool   // it stands in the handler of another probe, whose hits are all missed ones
	strikes bool   // it stands in what interrupts execute that come in hits of others, which are then missed ones
	missed  int    // hits of a nested or striking probe since it was registered, while it was enabled, that have not called its handler
	state   expected
	epoch   int    // counts changes of state
	last    change // the last of them
}

// call is a call of a watched function that a task is in.
// A task is in one at a time: a watched function that calls another one, or itself, is still in
// its first call.
type call struct {
	fn     uint64
	states []stated // by probe, when it began
	counts []int    // handler calls since, by probe
}

type stated struct {
	state expected
	epoch int
}

// task is a task of the guest as the checker sees it.
// Its number is that of sim.EventTask. It stays after the task has ended, as there are few.
type task struct {
	slot  visit
	call  *call
	spare *call
	// struck is the first instruction of a handler that was a breakpoint. When the breakpoint is gone
	// by the time that its exception is looked at, the instruction is executed once more.
	struck uint64
}

// calls holds what tasks do against what is known of the probes.
type calls struct {
	probes  []*probed
	results map[uint64]uint64 // right results by function
	learn   bool              // what functions of user mode return is right: no probe is there yet
	current []uint64          // task by CPU
	tasks   map[uint64]*task

	returns uint64  // of watched functions
	hits    uint64  // calls of handlers
	changed *uint64 // counts changes of what is known of probes
}

func newCalls(cpus int) calls {
	return calls{results: map[uint64]uint64{}, current: make([]uint64, cpus), tasks: map[uint64]*task{}, changed: new(uint64)}
}

// on is the task that runs on a CPU.
// The boot task has number 0 until the scheduler first tells of a switch.
func (c *calls) on(cpu int) *task {
	id := c.current[cpu]
	t := c.tasks[id]
	if t == nil {
		t = &task{}
		c.tasks[id] = t
	}
	return t
}

// set notes what is known of a probe from now on.
// The epoch counts on even when the state comes back: in between a call may have seen another one.
func (c *calls) set(probe int, e expected) {
	c.probes[probe].state = e
	c.probes[probe].epoch++
	*c.changed++
}

// executed counts what is executed in the place of the instruction of a probe that can miss hits. It begins with a certain byte.
func (c *calls) executed(pc uint64, orig byte, code []byte) {
	for _, p := range c.probes {
		if (p.nested || p.strikes) && p.addr == pc && p.state == on && len(code) > 0 && code[0] != orig {
			p.missed++
		}
	}
}

// told notes which CPU has changed a probe, and how often each had synchronized then.
func (c *calls) told(probe, by int, syncs []uint64) { c.probes[probe].last = change{by, syncs} }

// probedAt reports whether the script ever has a probe at an address.
func (c *calls) probedAt(pc uint64) bool {
	return slices.ContainsFunc(c.probes, func(p *probed) bool { return p.addr == pc && !p.watch })
}

// enter begins a call.
// It takes a copy of all states, because a call is judged by what held when it began and has not
// changed since. now is how often CPUs have synchronized, or nil where they are always aware of a change.
func (c *calls) enter(t *task, fn uint64, cpu int, now []uint64) {
	x := t.spare
	if x == nil {
		x = &call{states: make([]stated, len(c.probes)), counts: make([]int, len(c.probes))}
	}
	x.fn = fn
	for i, p := range c.probes {
		x.states[i], x.counts[i] = stated{p.state, p.epoch}, 0
		if now != nil && p.state != absent && p.last.unaware(cpu, now) {
			x.states[i].state = maybe
		}
	}
	t.call, t.spare = x, nil
}

// handled counts a call of the handler at pc for the call that the task is in. breakpoint says that its
// first instruction is one.
// A handler counts for every probe that has it, although the script gives each probe one of its
// own.
func (c *calls) handled(cpu int, pc uint64, breakpoint bool) (Kind, string) {
	t := c.on(cpu)
	again := t.struck == pc
	if t.struck = 0; breakpoint {
		t.struck = pc
	}
	if again {
		return "", ""
	}
	for i, p := range c.probes {
		if p.strikes && p.handler == pc {
			p.missed--
		}
		switch {
		case p.handler != pc:
		case p.state == absent:
			return Stale, fmt.Sprintf("the handler of probe %s is called although it is not registered any more", p.name)
		case t.call != nil:
			t.call.counts[i]++
			c.hits++
		}
	}
	return "", ""
}

// wrong is something that a call should not have done.
type wrong struct {
	kind Kind
	why  string
}

// leave ends a call and holds what happened in it against what should have. result was returned by it.
// The result is a function, as reading a register is wanted only for a call that the checker saw
// begin.
func (c *calls) leave(cpu int, result func() uint64, nameOf func(fn uint64) string) (found []wrong) {
	t := c.on(cpu)
	x := t.call
	if x == nil {
		return nil
	}
	t.call, t.spare = nil, x
	c.returns++
	for i, p := range c.probes {
		if p.watch && p.fn != x.fn && x.counts[i] > 0 {
			found = append(found, wrong{Doubled, fmt.Sprintf("a call of %s, which does not touch what %s watches, called its handler", nameOf(x.fn), p.name)})
		}
		if p.fn != x.fn && !p.nested {
			continue
		}
		if w := p.judge(x.states[i], x.counts[i], nameOf(x.fn)); w.kind != "" {
			found = append(found, w)
		}
	}
	if _, known := c.results[x.fn]; c.learn && !known {
		c.results[x.fn] = result()
	}
	if want, ok := c.results[x.fn]; ok && result() != want {
		found = append(found, wrong{Result, fmt.Sprintf("%s returned %#x, not %#x", nameOf(x.fn), result(), want)})
	}
	return found
}

// judge holds the number of handler calls in one call of a function against what was known of the probe
// when the call began, if nothing has changed since.
// Where something has changed, a call may have seen either state, but never two handler calls. A
// nested probe is hit while another one's handler runs, which Documentation/kprobes.txt counts as
// missed.
func (p *probed) judge(then stated, n int, fn string) wrong {
	least, most := 0, 1
	if then.epoch == p.epoch {
		switch then.state { // where it is absent, handled has found what there is
		case on:
			least = 1
		case off:
			most = 0
		}
	}
	switch {
	case p.nested:
		least, most = 0, 0
	case p.user:
		least = 0 // see passedUser
	}
	switch {
	case n < least:
		return wrong{Lost, fmt.Sprintf("a call of %s while probe %s was enabled called its handler %d times", fn, p.name, n)}
	case n > most:
		return wrong{Doubled, fmt.Sprintf("a call of %s called the handler of probe %s %d times, at most %d expected", fn, p.name, n, most)}
	}
	return wrong{}
}

package kprobes

import (
	"bytes"
	"fmt"
	"slices"

	"kprobesim/cpus"
)

// Tally counts the hits of probes by what the CPUs execute. It is an observer, so it takes no simulated time and the guest
// knows nothing of it.
//
// A CPU arrives at a probe when it executes something else at the probed address than the original instruction. The next
// that matters is the entry of the probe's handler, or that of the function by which kernels count a missed hit. Kernels of
// 2005 have no such function: they take the breakpoint of a probe away that is hit in another one's handler, and execute
// the original there. An arrival with none of this is no hit, for instance one at a breakpoint that has just been removed.
type Tally struct {
	k     *Kprobes
	marks map[uint64]*mark
	cpus  []talliedCPU
}

// Hits are the hits of the probes of a tally.
type Hits struct {
	All    int64 // with those that were missed
	Missed int64 // those whose handlers did not run
}

// mark says what the execution of an address means. It may mean several things: a handler can be probed.
type mark struct {
	place   *place
	handler bool // of the arrivals that name it
	detour  bool // what detours call for any probe
	misses  bool
	watch   bool // a watchpoint is hit, and
	watcher bool // its handler runs
}

// place is a probed address.
type place struct {
	addr uint64
	orig []byte // the instruction that stands there without a probe, and what follows; nil for places in user mode
	pre  uint64 // of a place in user mode, where the handler begins
	user bool
}

// armed reports whether the executed bytes are a probe's.
func (p *place) armed(code, breakpoint []byte) bool {
	if p.orig == nil {
		return bytes.HasPrefix(code, breakpoint)
	}
	return !bytes.HasPrefix(p.orig, code)
}

// NewTally counts the hits of probes, given by the addresses of their struct kprobe. They are registered.
func (k *Kprobes) NewTally(probes ...uint64) (*Tally, error) {
	t := &Tally{k: k, marks: map[uint64]*mark{}, cpus: make([]talliedCPU, k.smp.CPUs())}
	t.mark(k.entered(k.sym.aggrPre)).handler = true
	if fn, ok := k.im.Func("detour_handlers"); ok {
		t.mark(fn.Entry).detour = true
	}
	if fn, ok := k.im.Func("count_missed"); ok {
		t.mark(fn.Entry).misses = true
	}
	for _, p := range probes {
		if pre := k.m.Load(p, k.l.p.pre); pre != 0 {
			t.mark(k.entered(pre)).handler = true
		}
		t.mark(k.m.Load(p, k.l.p.addr)).place = k.placeOf(p)
	}
	return t, k.m.take()
}

// NewWatchTally counts the hits of watchpoints with a handler, which is a function of the guest.
func (k *Kprobes) NewWatchTally(handler string) (*Tally, error) {
	t := &Tally{k: k, marks: map[uint64]*mark{}, cpus: make([]talliedCPU, k.smp.CPUs())}
	hit, ok := k.im.Func("kwatch_hit")
	fn, ok2 := k.im.Func(handler)
	if !ok || !ok2 {
		return nil, fmt.Errorf("handler %s of a watchpoint: image %s has no such function, or no watchpoints", handler, k.im.Name)
	}
	t.mark(hit.Entry).watch, t.mark(fn.Entry).watcher = true, true
	return t, nil
}

// mark is the mark of an address.
func (t *Tally) mark(addr uint64) *mark {
	m, ok := t.marks[addr]
	if !ok {
		m = &mark{}
		t.marks[addr] = m
	}
	return m
}

// placeOf is where a registered probe stands.
func (k *Kprobes) placeOf(p uint64) *place {
	at := &place{addr: k.m.Load(p, k.l.p.addr)}
	if k.users.size != 0 && k.m.Load(p, k.users.user) != 0 {
		at.user, at.pre = true, k.entered(k.m.Load(p, k.l.p.pre))
		return at
	}
	if fn, ok := k.text(at.addr); ok {
		at.orig = fn.Code[at.addr-fn.Start:]
	}
	return at
}

// entered is where the function begins that a pointer of the guest leads to.
func (k *Kprobes) entered(pointer uint64) uint64 {
	if pointer == 0 || !k.im.Descriptors() {
		return pointer
	}
	return k.m.Load(pointer, k.l.list)
}

// Spans are the addresses whose execution the tally has to be told of.
func (t *Tally) Spans() (out [][2]uint64) {
	for at := range t.marks {
		out = append(out, [2]uint64{at, at + 1})
	}
	slices.SortFunc(out, func(a, b [2]uint64) int { return slices.Compare(a[:], b[:]) })
	return out
}

// Of returns what a CPU has counted so far.
func (t *Tally) Of(cpu int) Hits { return t.cpus[cpu].Hits }

// Step implements cpus.Observer.
func (t *Tally) Step(s *cpus.Step) {
	m := t.marks[s.PC]
	if m == nil {
		return
	}
	c := &t.cpus[s.CPU]
	if m.watch {
		c.All, c.Missed = c.All+1, c.Missed+1
	}
	if m.watcher {
		c.Missed--
	}
	switch last := c.last(); {
	case last == nil:
	case m.misses:
		c.close(true)
	case m.detour, m.handler && last.pre == s.PC:
		c.close(false)
	}
	switch {
	case m.place == nil || m.place.user != s.User:
	case m.place.armed(s.Code, t.k.arch.Breakpoint):
		c.arrive(t.arrival(m.place, s.Code))
	case m.place.user || t.k.era.Year == 2005:
		c.pass(m.place, t.k.arch.First == Stepped)
	}
}

// arrival is one at a place by certain code. The handler is that of what the guest finds there: of the one probe or of all.
func (t *Tally) arrival(p *place, code []byte) arrival {
	if p.user {
		return arrival{p, p.pre, true}
	}
	s := t.k.site(p.addr)
	if s == nil { // the probe has gone: nobody handles that
		return arrival{p, ^uint64(0), true}
	}
	return arrival{p, t.k.entered(t.k.m.Load(s.head, t.k.l.p.pre)), bytes.HasPrefix(code, t.k.breakpoint(s))}
}

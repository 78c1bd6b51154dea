package races

import (
	"fmt"
	"slices"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/smp"
)

// guest answers what the checker asks a machine.
// It reads by the machine's own view of kernel memory, which costs the guest no time.
type guest struct{ m *sim.Machine }

// Text implements machine. Text that is not mapped ends the machine: nobody can search such a guest.
func (g guest) Text(addr uint64, n int) []byte {
	b, err := g.m.ReadBytes(addr, n)
	if err != nil {
		g.m.Stop(err)
		return make([]byte, n)
	}
	return b
}

// TextIs implements machine.
func (g guest) TextIs(addr uint64, want []byte) bool {
	same, err := g.m.Same(addr, want)
	if err != nil {
		g.m.Stop(err)
	}
	return same
}

// Arg implements machine.
func (g guest) Arg(cpu, i int) uint64 { return g.m.CPU(cpu).Arg(i) }

// Syncs implements machine.
// Which instructions synchronize fetching is the instruction set's to say: see
// cpus.Counters.ContextSyncs.
func (g guest) Syncs() []uint64 {
	out := make([]uint64, g.m.CPUs())
	for i := range out {
		out[i] = g.m.CPU(i).Counters().ContextSyncs
	}
	return out
}

// observe makes the checker and lets it see the machine.
// The order matters where code is of two classes: a spin-wait inside of probed text is text, and
// the first instruction of a probed handler is a handler's.
func (t *trial) observe() error {
	text, err := t.l.between("_text", "_etext")
	if err != nil {
		return err
	}
	c := &checker{m: guest{t.m}, arch: t.l.target.Probes, report: t.e, code: newCodeMap(text), calls: newCalls(t.l.s.CPUs), lazy: t.l.cpu.L1I.Incoherent}
	t.checker, t.e.checker = c, c
	c.calls.changed = &c.changes.probes
	for _, find := range []func() error{t.findHandlers, t.findSpins, t.findTexts, t.findProbes, t.findWatches, t.findPools, t.findMarks} {
		if err := find(); err != nil {
			return err
		}
	}
	t.m.Watch(t.event)
	t.watch(c, false)
	return nil
}

// watch has every instruction of the code that the checker knows told to an observer, or of all code.
// A search leaves all other code to the fast loop of the engine. A replay wants to see it.
func (t *trial) watch(o cpus.Observer, all bool) {
	for i := range t.m.CPUs() {
		t.m.CPU(i).ObserveCode(o, t.checker.code.spans, all)
	}
}

// event passes on what the parts of the kernel tell. When a patch has made a step, its store must have
// been seen.
// Patches by Go, of slots and modules, make no such event. What comes late while the machine starts belongs to no schedule.
func (t *trial) event(e sim.Event) {
	if e.Kind == smp.EventLate && !t.e.active {
		return
	}
	t.checker.event(e)
	if e.Kind != kprobes.EventPatch {
		return
	}
	if at, ok := t.checker.unseen(); ok {
		t.blind = fmt.Errorf("a store into %s was not seen: the guest stores into text outside of the functions that are looked at", at)
		t.m.Stop(t.blind)
	}
}

// symbol finds the code of a function of the guest, or a label in code.
func (l *lab) symbol(name string) (image.Symbol, error) {
	f, ok := l.im.Func(name)
	if !ok {
		return image.Symbol{}, fmt.Errorf("image %s has no symbol %s, which the search for races needs", l.im.Name, name)
	}
	return image.Symbol{Name: name, Addr: f.Entry, Size: f.Size}, nil
}

// symbol finds a function also in the module of handlers.
func (t *trial) symbol(name string) (image.Symbol, error) {
	f, ok := t.m.Image().Func(name)
	if !ok {
		return t.l.symbol(name)
	}
	return image.Symbol{Name: name, Addr: f.Entry, Size: f.Size}, nil
}

// between returns what lies between two symbols.
func (l *lab) between(from, to string) (span, error) {
	a, err := l.symbol(from)
	if err != nil {
		return span{}, err
	}
	b, err := l.symbol(to)
	return span{a.Addr, b.Addr}, err
}

// function is the code of a function of the guest.
func (l *lab) function(name string) (span, error) {
	s, err := l.symbol(name)
	return span{s.Addr, s.Addr + s.Size}, err
}

// findSpins notes the instructions by which code says that it waits in a loop.
func (t *trial) findSpins() error {
	for _, pc := range t.l.spins {
		t.checker.code.mark(spinCode, span{pc, pc + 1})
	}
	return nil
}

// findTexts notes the functions that are called or probed.
// A function that is called and probed is one text. Its bytes are read before anything is
// registered.
func (t *trial) findTexts() error {
	c := t.checker
	r := &forms{arch: t.l.target.Probes, probed: c.calls.probedAt, leads: c.leads, call: t.l.entryCall, silent: t.l.silent()}
	add := func(name string, called bool) error {
		f, err := t.symbol(name)
		if err != nil || c.textAt(f.Addr) != nil {
			return err
		}
		at := span{f.Addr, f.Addr + f.Size}
		code, err := t.m.ReadBytes(at[0], int(at[1]-at[0]))
		if err != nil {
			return err
		}
		x := newText(name, at[0], code, r)
		x.called = called
		c.texts = append(c.texts, x)
		c.code.mark(textCode, at)
		return nil
	}
	for _, x := range t.l.s.Callers {
		if err := add(x.Target, true); err != nil {
			return err
		}
	}
	for i, p := range t.l.s.Probes {
		if p.User {
			continue
		}
		if err := add(p.Target, false); err != nil {
			return err
		}
		if !p.Module {
			continue
		}
		if err := add(t.l.s.handlerName(i), false); err != nil {
			return err
		}
	}
	return t.findUserTexts(r)
}

// findProbes notes where the probes of the scenario stand and which handlers they call.
// A probe on a handler of the scenario is a nested one. Where interrupts come in hits, one on code that no task calls is hit in the
// middle of others.
func (t *trial) findProbes() error {
	handlers := map[string]bool{}
	for i := range t.l.s.Probes {
		handlers[t.l.s.handlerName(i)] = true
	}
	called := func(target string) bool {
		return slices.ContainsFunc(t.l.s.Callers, func(c Caller) bool { return c.Target == target })
	}
	for i, p := range t.l.s.Probes {
		fn, err := t.l.symbol(p.Target)
		if err != nil {
			return err
		}
		h, err := t.symbol(t.l.s.handlerName(i))
		if err != nil {
			return err
		}
		t.checker.calls.probes = append(t.checker.calls.probes, &probed{
			name: p.Name, addr: fn.Addr + t.l.places[i], fn: fn.Addr, handler: h.Addr, nested: handlers[p.Target], user: p.User,
			strikes: p.Target == nmiTarget || t.l.target.Probes.Interrupted && !p.User && !handlers[p.Target] && !called(p.Target),
		})
		t.checker.code.mark(handlerCode, span{h.Addr, h.Addr + 1})
	}
	return nil
}

// findPools notes where slots and detour buffers are.
// Which parts of them are in use is told by events later.
func (t *trial) findPools() error {
	for i, x := range []struct{ name, from, to string }{
		{"the out-of-line slot", "__slots_start", "__slots_end"},
		{"the detour buffer", "__detours_start", "__detours_end"},
	} {
		at, err := t.l.between(x.from, x.to)
		if err != nil {
			return err
		}
		t.checker.pools[i].name = x.name
		t.checker.code.mark(slotCode+class(i), at)
	}
	return nil
}

// sharingFunctions change what several CPUs write at a time without a lock: the pool of return instances of later kernels, by
// whatever mutant, and the count of answers to a call.
func sharingFunctions() []string {
	return []string{"take_instance", "into_pool", "return_probe_unread", "return_probe_twice", "smp_answer_call"}
}

// findMarks notes the guest functions that tell of steps: the end of a call, and stores into text.
func (t *trial) findMarks() error {
	s, err := t.l.symbol("race_returned")
	if err != nil {
		return err
	}
	t.checker.code.mark(returnCode, span{s.Addr, s.Addr + 1})
	for _, name := range sharingFunctions() {
		if f, ok := t.l.im.Func(name); ok { // kernels with locks have no pool
			t.checker.code.mark(sharedCode, span{f.Entry, f.Entry + f.Size})
		}
	}
	stores := []string{"text_poke", "text_poke_patch", "store_text"}
	if _, ok := t.l.im.Symbol("the_hit"); ok {
		stores = append(stores, "nested_hit") // kernels with one lock for all hits take a nested probe away
	}
	for _, name := range stores {
		at, err := t.l.function(name)
		if err != nil {
			return err
		}
		t.checker.code.mark(storeCode, at)
	}
	return nil
}

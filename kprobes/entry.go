package kprobes

import (
	"slices"

	"kprobesim/image"
)

// Functions that the function tracer knows begin with a nop. A kernel that has probes on ftrace puts a call
// in its place instead of a breakpoint: the code that is called saves the registers, runs the handlers and returns
// behind the nop. Nothing is executed elsewhere, so there is neither a slot nor an exception.

// readEntries reads the table of nops.
func (k *Kprobes) readEntries() {
	k.addEntries(k.between("__start_mcount_loc", "__stop_mcount_loc"))
}

// addEntries reads a table of nops. A kernel without the function tracer has no code that they could call.
func (k *Kprobes) addEntries(table Span) {
	if k.era.EntryCall == nil || k.sym.entryTrampoline == 0 {
		return
	}
	for a := table.Start; a < table.End; a += uint64(k.l.list.Size) {
		k.sym.entries = append(k.sym.entries, k.m.Load(a, k.l.list))
	}
	slices.Sort(k.sym.entries)
}

// TraceInModule makes known by which nops the functions of a loaded module begin, until ForgetModule.
func (k *Kprobes) TraceInModule(table Span) error {
	k.addEntries(table)
	return k.m.take()
}

// Traced reports whether functions of the kernel begin with nops for the function tracer.
func (k *Kprobes) Traced() bool { return len(k.sym.entries) > 0 }

// entryAt is the address of the function's first nop that an address lies in, 0 if it lies in none.
func (k *Kprobes) entryAt(addr uint64) uint64 {
	i, found := slices.BinarySearch(k.sym.entries, addr)
	switch {
	case found:
		return addr
	case i > 0 && addr-k.sym.entries[i-1] < uint64(k.arch.Reach()):
		return k.sym.entries[i-1]
	}
	return 0
}

// callEntry arms a probe at a function's entry. A CPU that hits the breakpoint of the patch calls, too.
func (k *Kprobes) callEntry(c Caller, s *site) error {
	code := k.era.EntryCall(s.addr, k.sym.entryTrampoline)
	if k.opt.Mutant == MutantBareJump {
		s.text = textCall
		return k.byteAt(c, s, code, stepWhole)
	}
	k.storeLoc(k.vector, s.addr, k.sym.entryTrampoline, code)
	k.m.Store(k.vector, k.l.poke.call, 1)
	if err := k.pokeVector(c, 1); err != nil {
		return err
	}
	s.text = textCall
	return nil
}

// leaveEntry brings the nop back. A CPU that hits the breakpoint of the patch goes on behind it.
func (k *Kprobes) leaveEntry(c Caller, s *site) error {
	code := s.orig[:k.arch.Reach()]
	k.storeLoc(k.vector, s.addr, s.addr+uint64(len(code)), code)
	if k.opt.Mutant == MutantEntryUnsynced {
		k.m.Store(k.sym.pokeUnsynced, image.Field{Size: 4}, allSyncs)
	}
	err := k.pokeVector(c, 1)
	k.m.Store(k.sym.pokeUnsynced, image.Field{Size: 4}, unsynced(k.opt.Mutant))
	if err != nil {
		return err
	}
	s.text = textClear
	return nil
}

package races

import (
	"bytes"
	"fmt"
	"slices"
)

// Guest memory is sequentially consistent here: a simulated CPU executes the bytes that are in memory.
// A real one may have fetched them long before and executes those, until it synchronizes. This file
// finds out what else it might have executed.
//
// A store is missed by a CPU when another one made it and this one has not synchronized since. The bytes
// that the missed stores touch have ages: before the first of them, between the first and the second, up
// to now. A CPU may execute an instruction of any age. It may even put one together from bytes of
// different ages, where a store is missed that Arch.Atomic does not vouch for. So the code at an address
// is safe when, for every age,
//
//   - the instruction of that age is one that may stand there: as compiled, a whole breakpoint, or a whole
//     jump to a buffer that is in use. A jump that is being replaced counts as long as all of its bytes are
//     of the age in which it was whole
//   - no missed store touches its bytes but those that are atomic for this address
//   - the same is true of the instruction that follows it, if it is not the one that was executed: the real
//     CPU then goes on where the simulated one does not. That matters as far as a probe's jump reaches
type store struct {
	cpu      int
	addr     uint64
	old, new []byte
	syncs    []uint64 // how often each CPU had synchronized
	promised bool     // the protocol has said that everybody has the new bytes
}

// missed reports whether a CPU that has synchronized so often by now need not know of the store.
func (s *store) missed(cpu int, now []uint64) bool {
	return s.cpu != cpu && now[cpu] == s.syncs[cpu]
}

// touches reports whether the store has changed something from addr to end.
func (s *store) touches(addr, end uint64) bool {
	return s.addr < end && addr < s.addr+uint64(len(s.new))
}

// stored compares the text with what it was and notes what one instruction of a CPU has changed.
func (t *text) stored(code []byte, cpu int, syncs func() []uint64) (addr uint64, changed bool) {
	if bytes.Equal(t.now, code) {
		return 0, false
	}
	from, to := 0, len(code)
	for t.now[from] == code[from] {
		from++
	}
	for t.now[to-1] == code[to-1] {
		to--
	}
	addr = t.start + uint64(from)
	t.stores = append(t.stores, store{
		cpu: cpu, addr: addr, old: slices.Clone(t.now[from:to]), new: slices.Clone(code[from:to]), syncs: syncs(),
	})
	copy(t.now, code)
	return addr, true
}

// promise notes that the protocol has said of the bytes of a jump at addr that every CPU has them as they
// are now.
func (t *text) promise(addr uint64) {
	for i := range t.stores {
		if s := &t.stores[i]; s.addr-addr < t.reach() {
			s.promised = true
		}
	}
}

// settle forgets the stores that every CPU knows of by now, up to the first one that some CPU does not.
func (t *text) settle(now []uint64) {
	for len(t.stores) > 0 {
		s := &t.stores[0]
		for cpu := range now {
			if s.missed(cpu, now) {
				return
			}
		}
		copy(t.base[s.addr-t.start:], s.new)
		t.stores = t.stores[1:]
	}
}

// unsynced judges what a CPU may execute in the place of the instruction code at pc, for which it has
// fetched the right bytes here. missed tells which stores it need not know of.
func (t *text) unsynced(pc uint64, code []byte, missed func(s *store) bool) string {
	a := ages{text: t, pc: pc, end: pc + t.reach(), missed: make([]bool, len(t.stores))}
	for i := range t.stores {
		s := &t.stores[i]
		if !s.touches(pc, a.end) || !missed(s) {
			continue
		}
		if s.promised {
			return fmt.Sprintf("%s: the byte %#02x at %s may still be %#02x for this CPU, which has not "+
				"synchronized since, although the change was said to be done", t.at(pc), s.new[0], t.at(s.addr), s.old[0])
		}
		a.missed[i] = true
		a.count++
	}
	if a.count == 0 {
		return ""
	}
	return a.judge(pc, code)
}

// ages are the states of some bytes of text that a CPU may have.
type ages struct {
	*text
	pc, end uint64 // where the CPU is, and how far a jump there reaches
	missed  []bool // by store: touches that range and is missed
	count   int    // of them
	judged  []uint64
}

// judge looks at the instruction at an address in every age. known is the one that the simulated CPU
// has executed there, or nil where it was not.
func (a *ages) judge(addr uint64, known []byte) string {
	if addr >= a.end || !a.contains(addr) || slices.Contains(a.judged, addr) {
		return ""
	}
	a.judged = append(a.judged, addr)
	for age := range a.count + 1 {
		code := a.instruction(addr, age)
		if why := a.mixed(addr, code); why != "" {
			return why
		}
		if !a.allowed(addr, code) {
			return fmt.Sprintf("%s: a CPU that has not synchronized may execute % x at %s", a.at(a.pc), code, a.at(addr))
		}
		if bytes.Equal(code, known) || !bytes.Equal(code, a.orig[addr-a.start:][:len(code)]) {
			continue // judged when it is executed, or it leads out of this text
		}
		if why := a.judge(addr+uint64(len(code)), nil); why != "" {
			return why
		}
	}
	return ""
}

// instruction is the one at an address when so many of the missed stores are seen.
func (a *ages) instruction(addr uint64, age int) []byte {
	code := slices.Clone(a.base)
	for i := range a.stores {
		if a.missed[i] {
			if age == 0 {
				continue
			}
			age--
		}
		copy(code[a.stores[i].addr-a.start:], a.stores[i].new)
	}
	code = code[addr-a.start:]
	return code[:max(1, min(len(code), a.arch.Classify(code, addr).Len))]
}

// mixed finds a missed store that may be seen in part in an instruction.
func (a *ages) mixed(addr uint64, code []byte) string {
	for i := range a.stores {
		s := &a.stores[i]
		if a.missed[i] && s.touches(addr, addr+uint64(len(code))) && !a.arch.Atomic(addr, s.addr, s.old, s.new) {
			return fmt.Sprintf("%s: a CPU that has not synchronized may execute % x at %s with other bytes in it: "+
				"% x at %s became % x", a.at(a.pc), code, a.at(addr), s.old, a.at(s.addr), s.new)
		}
	}
	return ""
}

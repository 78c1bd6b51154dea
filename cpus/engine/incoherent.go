package engine

import (
	"maps"
	"slices"

	"kprobesim/mmu"
)

// An instruction cache that is not coherent keeps the bytes that a line had when it was brought in. A store
// does not reach them, from wherever it comes. Architectures leave it to software to write the line of the data
// cache back, to invalidate the line of the instruction cache, and to have the CPU fetch again. What is
// modelled is the weakest of that:
//
//   - A line of an instruction cache has what the memory below the first-level data caches had when the line was
//     brought in. A data cache that does not write through holds stores back until the line is cleaned, until
//     it leaves the cache, or until a data access of another CPU asks for the line. A fetch looks below the data caches.
//   - An invalidation reaches all CPUs. Each goes on executing what it has of the line until it synchronizes
//     its context or the line leaves its cache.
//
// Memory keeps the newest bytes, as data accesses see them. What fetches see instead is kept here, line by
// line, where it may differ. A machine whose instruction caches are coherent has none of this.

// unified holds what fetches of all CPUs of a machine find below the data caches.
type unified struct {
	mem   *mmu.Memory
	cores []*Core
	shift uint
	// held has the bytes of lines that one data cache has written and holds back, as they are below it. It is
	// nil when data caches write through.
	held map[uint32][]byte
}

// staleLines holds what the instruction cache of one CPU has of lines that may have been written since.
type staleLines struct {
	*unified
	lines   map[uint32][]byte
	pending []uint32          // invalidated, until the context is synchronized
	all     bool              // everything was invalidated
	drop    func(line uint32) // forgets the blocks that were decoded from a line
}

// setupStale prepares a CPU whose instruction cache is not coherent. first is the first CPU of the machine,
// or nil.
func (c *Core) setupStale(first *Core, writeThrough bool, drop func(uint32)) {
	var u *unified
	if first != nil {
		u = first.stale.unified
	} else {
		u = &unified{mem: c.Memory, shift: c.l1i.Shift()}
		if !writeThrough {
			u.held = map[uint32][]byte{}
		}
		c.Memory.OnWrite(u.outside)
	}
	u.cores = append(u.cores, c)
	c.decisive = true
	c.stale = &staleLines{unified: u, lines: map[uint32][]byte{}, drop: drop}
}

// copy returns the newest bytes of a line; nil when it is not RAM.
func (u *unified) copy(line uint32) []byte {
	return slices.Clone(u.mem.Bytes(uint64(line)<<u.shift, 1<<u.shift))
}

// storing is told before the first store to a line since its CPU owns it. A CPU that has the line keeps
// what it has.
func (u *unified) storing(line uint32) {
	if u.held != nil && u.held[line] == nil {
		u.held[line] = u.copy(line)
	}
	for _, c := range u.cores {
		if c.l1i.Has(line) && c.stale.lines[line] == nil {
			c.stale.lines[line] = u.copy(line)
		}
	}
}

// written is told that a line's data have come to where fetches look.
func (u *unified) written(line uint32) {
	if len(u.held) != 0 {
		delete(u.held, line)
	}
}

// heldBack returns the bytes below the data caches of a line that one of them holds back, nil where none does.
func (s *staleLines) heldBack(line uint32) []byte {
	if s == nil {
		return nil
	}
	return s.held[line]
}

// holdBack has a line held back as before a fetch, which moves it as a data access does.
func (u *unified) holdBack(line uint32, below []byte) {
	if below != nil {
		u.held[line] = below
	}
}

// outside is told of a write that no CPU makes, which everything sees.
func (u *unified) outside(pa uint64, n int) {
	for line := pa >> u.shift; line <= (pa+uint64(n)-1)>>u.shift; line++ {
		u.written(uint32(line))
		u.cores[0].dir.Clean(uint32(line)) // its owner's next store counts as the first
		for _, c := range u.cores {
			c.stale.forget(uint32(line))
		}
	}
}

// brought is told that a line has come into the instruction cache. When this CPU's data cache owns it,
// stores may follow of which storing is not told. No block is void by it: what was decoded before has none of the
// bytes that were stored since.
func (c *Core) brought(line uint32) {
	s := c.stale
	below := s.held[line]
	if below == nil && c.dir.Owns(c.Num, line) {
		below = s.copy(line)
	}
	if below != nil {
		s.lines[line] = slices.Clone(below)
	}
}

// left is told that a line has left the instruction cache.
func (s *staleLines) left(line uint32) {
	s.forget(line)
	s.pending = slices.DeleteFunc(s.pending, func(l uint32) bool { return l == line })
}

// forget lets a line be as it is in memory.
func (s *staleLines) forget(line uint32) {
	if s.lines[line] != nil {
		delete(s.lines, line)
		s.drop(line)
	}
}

// has reports whether the CPU executes something else than memory has at a physical address.
func (s *staleLines) has(pa uint64) bool { return s != nil && s.lines[uint32(pa>>s.shift)] != nil }

// Incoherent reports whether software has to keep the instruction cache in step.
func (c *Core) Incoherent() bool { return c.stale != nil }

// CleanData writes the line at a physical address back, whichever data cache has it: what is fetched from
// now on finds what was stored.
func (c *Core) CleanData(pa uint64) {
	if c.stale != nil {
		line := c.line(pa)
		c.stale.written(line)
		c.dir.Clean(line)
	}
}

// InvalidateFetch invalidates the line at a physical address in all instruction caches. Each CPU goes on
// with what it has until it synchronizes its context.
func (c *Core) InvalidateFetch(pa uint64) {
	if c.stale == nil {
		return
	}
	line := c.line(pa)
	for _, o := range c.stale.cores {
		if o.l1i.Has(line) && !slices.Contains(o.stale.pending, line) {
			o.stale.pending = append(o.stale.pending, line)
		}
	}
}

// CleanAllData writes every line back.
func (c *Core) CleanAllData() {
	if c.stale == nil {
		return
	}
	for line := range c.stale.held { // each for itself: the order does not show
		c.stale.written(line)
		c.dir.Clean(line)
	}
}

// InvalidateAllFetch invalidates the instruction cache of this CPU, or of all. As with
// InvalidateFetch it takes effect when a CPU synchronizes its context. Lines that are as in memory stay:
// what it takes to bring them in again is left out.
func (c *Core) InvalidateAllFetch(everywhere bool) {
	if c.stale == nil {
		return
	}
	for _, o := range c.stale.cores {
		o.stale.all = o.stale.all || everywhere || o == c
	}
}

// SyncContext says that nothing is executed any more that was fetched before: instruction sets call it
// for context synchronizing instructions and for the delivery of exceptions.
func (c *Core) SyncContext() {
	s := c.stale
	if s == nil || len(s.pending) == 0 && !s.all {
		return
	}
	if s.all {
		s.pending, s.all = slices.Sorted(maps.Keys(s.lines)), false
	}
	for _, line := range s.pending {
		c.l1i.Drop(line)
		s.forget(line)
	}
	s.pending = s.pending[:0]
}

// Code returns n bytes of the code at a physical address as the CPU executes it; nil outside of RAM.
func (c *Core) Code(pa uint64, n int) []byte {
	b := c.Memory.Bytes(pa, n)
	if b == nil || !c.stale.has(pa) && !c.stale.has(pa+uint64(n)-1) {
		return b
	}
	b = slices.Clone(b)
	for i := range b {
		at := pa + uint64(i)
		if c.stale.has(at) {
			b[i] = c.stale.lines[uint32(at>>c.stale.shift)][at&(1<<c.stale.shift-1)]
		}
	}
	return b
}

// dropLine forgets the blocks that were decoded from a line, as dropCode does.
func (e *Engine[C, P]) dropLine(line uint32) {
	pa, hit := uint64(line)<<e.l1i.Shift(), false
	for at := pa; at < pa+1<<e.l1i.Shift(); at += granule {
		hit = e.dropGranule(at, false) || hit
	}
	if pa >= granule {
		hit = e.dropGranule(pa-granule, true) || hit
	}
	e.stopIf(hit)
}

package ppc64

import "kprobesim/mmu"

// slbEntries is the size of the segment look-aside buffer of POWER4 and POWER5.
const slbEntries = 64

// slbEntry is an entry (Book III, Segment Lookaside Buffer) in the layout of the operands of slbmte: esid
// with its valid bit, and vsid with its attributes.
type slbEntry struct {
	esid uint64
	vsid uint64
}

// Bits of an entry.
const (
	slbESID  = ^uint64(1<<segment - 1)
	slbValid = 1 << 27
	slbKs    = 1 << 11
	slbKp    = 1 << 10
	slbN     = 1 << 9
	slbL     = 1 << 8
	slbClass = 1 << 7
	slbVSID  = ^uint64(0xfff)
	slbAttrs = slbKs | slbKp | slbN | slbL | slbClass
)

func (s *slbEntry) covers(ea uint64) bool {
	return s.esid&(slbESID|slbValid) == ea&slbESID|slbValid
}

func (s *slbEntry) noExecute() bool { return s.vsid&slbN != 0 }

// key is the protection key: Kp in problem state, Ks in supervisor state.
func (s *slbEntry) key(user bool) bool {
	if user {
		return s.vsid&slbKp != 0
	}
	return s.vsid&slbKs != 0
}

// virtual and space are the virtual address of 80 bits: the lower 64, and the others as the number of an
// address space in the TLB.
func (s *slbEntry) virtual(ea uint64) uint64 {
	return s.vsid>>12<<segment | ea&(1<<segment-1)
}

func (s *slbEntry) space() uint32 { return uint32(s.vsid >> 12 >> (64 - segment)) }

// findSegment returns the entry of an address, or nil. The one that answered last is asked first.
func (c *CPU) findSegment(ea uint64) *slbEntry {
	if s := &c.slb[c.slbNext]; s.covers(ea) {
		return s
	}
	for i := range c.slb {
		if s := &c.slb[i]; s.covers(ea) {
			c.slbNext = i
			return s
		}
	}
	return nil
}

// The instructions that change the buffer void what the engine knows of translations. They take effect at
// once here, where software has to use a context synchronizing instruction.

// slbmte writes the entry that RB names.
func slbmte(c *CPU, in *inst) {
	if !c.privileged() {
		return
	}
	rb, rs := c.R[in.b&63], c.R[in.a&63]
	c.machine.wide = c.machine.wide || rs>>12 >= narrowVSID
	c.slb[rb&0xfff%slbEntries] = slbEntry{rb & (slbESID | slbValid), rs & (slbVSID | slbAttrs)}
	c.ForgetTranslations()
}

func slbie(c *CPU, in *inst) {
	if !c.privileged() {
		return
	}
	for i := range c.slb {
		if s := &c.slb[i]; s.covers(c.R[in.b&63]) {
			s.esid &^= slbValid
		}
	}
	c.ForgetTranslations()
}

// slbia invalidates every entry but the first.
func slbia(c *CPU, _ *inst) {
	if !c.privileged() {
		return
	}
	for i := range c.slb[1:] {
		c.slb[1+i].esid &^= slbValid
	}
	c.ForgetTranslations()
}

func slbmfee(c *CPU, in *inst) {
	if c.privileged() {
		c.R[in.dst&63] = c.slb[c.R[in.b&63]&0xfff%slbEntries].esid
	}
}

func slbmfev(c *CPU, in *inst) {
	if c.privileged() {
		c.R[in.dst&63] = c.slb[c.R[in.b&63]&0xfff%slbEntries].vsid
	}
}

// tlbie and tlbiel drop the translation of a virtual page (Book III, TLB Invalidate Entry). tlbie reaches
// every CPU.
func tlbie(c *CPU, in *inst) {
	if !c.privileged() {
		return
	}
	for _, other := range c.machine.cpus {
		other.dropPage(c.R[in.b&63], in.aux != 0)
	}
}

func tlbiel(c *CPU, in *inst) {
	if c.privileged() {
		c.dropPage(c.R[in.b&63], in.aux != 0)
	}
}

// tlbsync waits for other CPUs, which have done at once what tlbie asked for.
func tlbsync(c *CPU, _ *inst) { c.privileged() }

// narrowVSID bounds the numbers of segments whose pages RB names alone: it has the lower 48 bits of a virtual
// address.
const narrowVSID = 1 << (48 - segment)

// dropPage drops the page whose virtual address has the lower 48 bits of rb. Once a segment had a
// larger number these bits stand for many pages, and all of them are dropped.
func (c *CPU) dropPage(rb uint64, large bool) {
	const named = 1<<48 - 1
	shift := uint8(basePage)
	if large {
		shift = largePage
	}
	va := rb & named >> shift << shift
	for _, t := range []*mmu.TLB{c.DTLB, c.ITLB} {
		if c.machine.wide {
			t.DropIf(func(p *mmu.Page) bool { return p.Shift == shift && p.VA&named == va })
			continue
		}
		t.Switch(0)
		t.Drop(va)
	}
	c.ForgetTranslations()
}

// flush empties the TLBs.
func (c *CPU) flush() {
	c.DTLB.Flush(true)
	c.ITLB.Flush(true)
	c.ForgetTranslations()
}

func (c *CPU) setSDR1(v uint64) {
	c.sdr1 = v
	c.flush()
}

package ppc64

import (
	"kprobesim/mmu"
)

// Logarithms of the sizes of pages and segments (Book III, Storage Control).
const (
	basePage  = 12
	largePage = 24
	segment   = 28
)

// realMask has the bits of an effective address that count in real mode.
const realMask = 1<<60 - 1

// access says what a translation is wanted for.
type access struct {
	write, exec bool
}

// DataAddress implements engine.Translator.
func (c *CPU) DataAddress(va uint64, write bool) (uint64, bool) {
	if c.dabr != 0 && c.dabrMatches(va, 1, write) {
		c.dabrFault(va, write)
		return 0, false
	}
	if c.msr&msrDR == 0 {
		return va & realMask, true
	}
	return c.translate(c.DTLB, va, access{write: write})
}

// CodeAddress implements engine.Decoder.
func (c *CPU) CodeAddress(va uint64) (uint64, bool) {
	if c.msr&msrIR == 0 {
		return va & realMask, true
	}
	return c.translate(c.ITLB, va, access{exec: true})
}

// NoCode implements engine.Decoder: nobody answers a fetch outside of RAM.
func (c *CPU) NoCode() { c.raise(vecInst, srr1NotFound) }

// translate goes from an effective address through its segment to a real one. A page of the TLB that
// does not allow the access is looked up again, since the table may have changed; so is one that is stored
// to for the first time, whose entry in the table has to say so.
func (c *CPU) translate(t *mmu.TLB, ea uint64, acc access) (uint64, bool) {
	s := c.findSegment(ea)
	if s == nil {
		c.segmentFault(ea, acc)
		return 0, false
	}
	if acc.exec && s.noExecute() {
		c.storageFault(ea, acc, srr1NoExecute)
		return 0, false
	}
	va := s.virtual(ea)
	t.Switch(s.space())
	right := mmu.Right(acc.write, acc.exec, s.key(c.User))
	p := c.FindPage(t, va, acc.exec)
	if p != nil && (!p.Allows(right) || acc.write && !p.Dirty) {
		t.Drop(va)
		p = nil
	}
	if p == nil {
		p = c.walk(t, s, ea, acc, right)
	}
	c.Refilled()
	if p == nil {
		return 0, false
	}
	return p.Offset(va), true
}

// walk fills a TLB from the hashed page table and charges the reads of the walker.
func (c *CPU) walk(t *mmu.TLB, s *slbEntry, ea uint64, acc access, right mmu.Rights) *mmu.Page {
	w := hashWalk{m: c.Memory, sdr1: c.sdr1, s: s, ea: ea}
	at, ok := w.find()
	c.ChargeWalk(&w.refs, acc.exec)
	if !ok {
		c.storageFault(ea, acc, srr1NotFound)
		return nil
	}
	p := w.page(at)
	if !p.Allows(right) {
		reason := uint64(srr1Protected)
		if acc.exec && p.Allows(mmu.Right(false, false, s.key(c.User))) {
			reason = srr1NoExecute
		}
		c.storageFault(ea, acc, reason)
		return nil
	}
	w.note(at, acc.write)
	p.Dirty = p.Dirty || acc.write
	return t.Insert(p)
}

// storageFault raises an instruction or data storage interrupt. The reasons have the same places in SRR1 and
// DSISR.
func (c *CPU) storageFault(ea uint64, acc access, reason uint64) {
	if acc.exec {
		c.raise(vecInst, reason)
		return
	}
	c.dar, c.dsisr = ea, reason
	if acc.write {
		c.dsisr |= dsisrStore
	}
	c.raise(vecData, 0)
}

// segmentFault raises an instruction or data segment interrupt.
func (c *CPU) segmentFault(ea uint64, acc access) {
	if acc.exec {
		c.raise(vecInstSegment, 0)
		return
	}
	c.dar = ea
	c.raise(vecDataSegment, 0)
}

// Translate implements cpus.Probe. It does not depend on where the CPU stands in an interrupt: an address in one
// of its segments is translated also while translation is off. Others whose upper four bits are zero are real
// ones then.
func (c *CPU) Translate(va uint64) (uint64, bool) {
	va &= c.AddrMask
	for i := range c.slb {
		if s := &c.slb[i]; s.covers(va) {
			w := hashWalk{m: c.Memory, sdr1: c.sdr1, s: s, ea: va}
			at, ok := w.find()
			if !ok {
				return 0, false
			}
			p := w.page(at)
			return p.Offset(s.virtual(va)), true
		}
	}
	return va, c.msr&msrDR == 0 && va&^realMask == 0
}

// Bits of DABR (Book III, Data Address Breakpoint Register). What is watched is a doubleword.
const (
	dabrLoads  = 1 << 0
	dabrStores = 1 << 1
	dabrBT     = 1 << 2 // as MSR.DR
	dabrAddr   = ^uint64(7)
)

func (c *CPU) setDABR(v uint64) {
	c.dabr = v
	if at := v & dabrAddr; v&(dabrLoads|dabrStores) != 0 {
		c.WatchData([][2]uint64{{at, at + 8}})
		return
	}
	c.WatchData(nil)
}

func (c *CPU) dabrMatches(va, n uint64, write bool) bool {
	kind := uint64(dabrLoads)
	if write {
		kind = dabrStores
	}
	at := c.dabr & dabrAddr
	return c.dabr&kind != 0 && (c.dabr&dabrBT != 0) == (c.msr&msrDR != 0) && va < at+8 && at < va+n
}

func (c *CPU) dabrFault(va uint64, write bool) {
	c.dar, c.dsisr = va, dsisrDABR
	if write {
		c.dsisr |= dsisrStore
	}
	c.raise(vecData, 0)
}

// Watch implements engine.Translator.
func (c *CPU) Watch(va uint64, n int, write bool) bool {
	if c.dabrMatches(va, uint64(n), write) {
		c.dabrFault(va, write)
		return false
	}
	return true
}

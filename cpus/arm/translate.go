package arm

import (
	"encoding/binary"

	"kprobesim/mmu"
)

// Logarithms of the sizes of pages (ARM ARM, B3.5).
const (
	smallPage    = 12
	largePage    = 16
	section      = 20
	supersection = 24
)

// Fault status (ARM ARM, B3.13.3, table B3-23): bits 0 to 3, and bit 4 in bit 10. Translation, access flag,
// domain and permission faults of pages differ from faults of sections by fsrPage.
const (
	fsrAlignment   = 1
	fsrDebug       = 2
	fsrAccessFlag  = 3 // of a section; that of a page is 6
	fsrTranslation = 5
	fsrExternal    = 8
	fsrDomain      = 9
	fsrWalk        = 12 // external abort on a first-level entry; 14 on a second-level one
	fsrPermission  = 13
	fsrPage        = 2
	fsrWrite       = 1 << 11
)

// Bits of TTBCR (ARM ARM, B4.1.153).
const (
	ttbcrN   = 7
	ttbcrPD0 = 1 << 4
	ttbcrPD1 = 1 << 5
)

// access says what a translation is wanted for.
type access struct {
	write, exec, user bool
}

// DataAddress implements engine.Translator.
func (c *CPU) DataAddress(va uint64, write bool) (uint64, bool) {
	if c.sctlr&sctlrM == 0 {
		return va ^ c.inverted, true
	}
	return c.translate(c.DTLB, va, access{write: write, user: c.User})
}

// CodeAddress implements engine.Decoder.
func (c *CPU) CodeAddress(va uint64) (uint64, bool) {
	va &= c.AddrMask
	if c.sctlr&sctlrM == 0 {
		return va ^ c.inverted, true
	}
	return c.translate(c.ITLB, va, access{exec: true, user: c.User})
}

// NoCode implements engine.Decoder: nobody answers a fetch outside of RAM.
func (c *CPU) NoCode() {
	c.ifsr, c.ifar = fsrExternal, uint32(c.R[rPC])
	c.raise(vecPrefetchAbort)
}

// userAllowed translates for an unprivileged access by a privileged mode.
func (c *CPU) userAllowed(va uint64, write bool) bool {
	if c.sctlr&sctlrM == 0 {
		return true
	}
	_, ok := c.translate(c.DTLB, va, access{write: write, user: true})
	return ok
}

// translate looks a page up, and walks the tables for one that the TLB has not or that does not allow the
// access: the table may have changed.
func (c *CPU) translate(t *mmu.TLB, va uint64, acc access) (uint64, bool) {
	t.Switch(c.asid())
	right := mmu.Right(acc.write, acc.exec, acc.user)
	p := c.FindPage(t, va, acc.exec)
	if p != nil && !p.Allows(right) {
		t.Drop(va)
		p = nil
	}
	if p == nil {
		p = c.fill(t, va, acc, right)
	}
	c.Refilled()
	if p == nil {
		return 0, false
	}
	return p.Offset(va), true
}

// fill walks the tables, charges the reads, and raises the abort of what they do not allow.
func (c *CPU) fill(t *mmu.TLB, va uint64, acc access, right mmu.Rights) *mmu.Page {
	var w walk
	status := c.walk(&w, va)
	c.ChargeWalk(&w.refs, acc.exec)
	if status == 0 && !w.page.Allows(right) {
		status = fsrPermission
		if c.dacr>>(2*w.domain)&3 == 0 {
			status = fsrDomain
		}
		status |= w.level
	}
	if status != 0 {
		c.abort(va, status, w.domain, acc)
		return nil
	}
	return t.Insert(w.page)
}

func (c *CPU) abort(va uint64, status, domain uint32, acc access) {
	if acc.exec {
		c.ifsr, c.ifar = status, uint32(va)
		c.raise(vecPrefetchAbort)
		return
	}
	c.dataAbort(va, status, domain, acc.write)
}

func (c *CPU) dataAbort(va uint64, status, domain uint32, write bool) {
	c.dfsr, c.dfar = status|domain<<4, uint32(va)
	if write {
		c.dfsr |= fsrWrite
	}
	c.raise(vecDataAbort)
}

// walk is a walk of the tables and what it found.
type walk struct {
	refs   mmu.Refs
	page   mmu.Page
	domain uint32
	level  uint32 // fsrPage when there was a second table
}

// walk goes through the tables of a virtual address (ARM ARM, B3.5.1 and B3.5.5). It returns the status of a
// fault, or zero.
func (c *CPU) walk(w *walk, va uint64) uint32 {
	n := c.ttbcr & ttbcrN
	base, off := uint64(c.ttbr[0])&^(1<<(14-n)-1), uint32(ttbcrPD0)
	if n != 0 && va>>(32-n) != 0 {
		base, off = uint64(c.ttbr[1])&^(1<<14-1), ttbcrPD1
	}
	if c.ttbcr&off != 0 {
		return fsrTranslation
	}
	at := base | va>>section<<2
	if off == ttbcrPD0 {
		at = base | va<<n&(1<<32-1)>>n>>section<<2
	}
	e, ok := c.entry(w, at)
	switch {
	case !ok:
		return fsrWalk
	case e&3 == 1:
		w.domain = e >> 5 & 15
		return c.walkPage(w, e, va)
	case e&3 == 0 || e&3 == 3:
		return fsrTranslation
	}
	return c.walkSection(w, e, va)
}

// entry reads an entry of a table.
func (c *CPU) entry(w *walk, at uint64) (uint32, bool) {
	at ^= c.inverted
	if !c.Memory.Holds(at, 4) {
		return 0, false
	}
	w.refs.Add(at)
	return uint32(c.Memory.Load(binary.LittleEndian, at, 4)), true
}

func (c *CPU) walkSection(w *walk, e uint32, va uint64) uint32 {
	ap := e>>10&3 | e>>15&1<<2
	shift, pa := uint8(section), uint64(e&^(1<<section-1))
	if e>>18&1 != 0 { // a supersection has bits 32 to 39 of its address, and domain 0
		shift, pa = supersection, uint64(e&^(1<<supersection-1))|uint64(e>>20&15)<<32|uint64(e>>5&15)<<36
	} else {
		w.domain = e >> 5 & 15
	}
	return c.found(w, va, pa, shift, ap, e>>4&1 != 0, e>>17&1 != 0)
}

func (c *CPU) walkPage(w *walk, table uint32, va uint64) uint32 {
	w.level = fsrPage
	e, ok := c.entry(w, uint64(table&^0x3ff)|va>>smallPage&0xff<<2)
	switch {
	case !ok:
		return fsrWalk | fsrPage
	case e&3 == 0:
		return fsrTranslation | fsrPage
	}
	ap := e>>4&3 | e>>9&1<<2
	if e&2 == 0 {
		return c.found(w, va, uint64(e&^(1<<largePage-1)), largePage, ap, e>>15&1 != 0, e>>11&1 != 0)
	}
	return c.found(w, va, uint64(e&^(1<<smallPage-1)), smallPage, ap, e&1 != 0, e>>11&1 != 0)
}

// found makes a page of an entry. With SCTLR.AFE the lowest bit of AP is the access flag, which software sets
// here.
func (c *CPU) found(w *walk, va, pa uint64, shift uint8, ap uint32, never, local bool) uint32 {
	w.page = mmu.Page{VA: va >> shift << shift, PA: pa ^ c.inverted, Shift: shift, Global: !local}
	if c.sctlr&sctlrAFE != 0 {
		if ap&1 == 0 {
			return fsrAccessFlag + w.level/fsrPage*3
		}
	}
	w.page.Rights = c.rights(ap, w.domain, never)
	return 0
}

// rights returns the rights of an entry (ARM ARM, B3.7.1) in its domain: none, the entry's, or all.
func (c *CPU) rights(ap, domain uint32, never bool) mmu.Rights {
	const all = mmu.Read | mmu.Write | mmu.Exec | mmu.UserRead | mmu.UserWrite | mmu.UserExec
	switch c.dacr >> (2 * domain) & 3 {
	case 0, 2:
		return 0
	case 3:
		return all
	}
	if c.sctlr&sctlrAFE != 0 {
		ap |= 1
	}
	r := [8]mmu.Rights{
		1: mmu.Read | mmu.Write,
		2: mmu.Read | mmu.Write | mmu.UserRead,
		3: mmu.Read | mmu.Write | mmu.UserRead | mmu.UserWrite,
		5: mmu.Read,
		6: mmu.Read | mmu.UserRead, // deprecated
		7: mmu.Read | mmu.UserRead,
	}[ap]
	if !never { // what may be read may be executed
		r |= r & mmu.Read * mmu.Exec
		r |= r & mmu.UserRead / mmu.UserRead * mmu.UserExec
	}
	return r
}

// Translate implements cpus.Probe.
func (c *CPU) Translate(va uint64) (uint64, bool) {
	va &= c.AddrMask
	if c.sctlr&sctlrM == 0 {
		return va ^ c.inverted, true
	}
	var w walk
	if c.walk(&w, va) != 0 {
		return 0, false
	}
	return w.page.Offset(va), true
}

package x86

import "kprobesim/mmu"

// The modes (SDM vol. 3, 2.2): protected mode with and without paging, and long mode with its 64-bit
// and its compatibility sub-mode. real.go says how much of real mode there is. Virtual-8086 mode is not modelled.

// Unpaged is the Root (cpus.Bus) of a CPU that begins in 32-bit protected mode with paging off.
const Unpaged = ^uint64(0)

// lma reports long mode: it decides about frames, gates, system descriptors and page tables. What
// code means is CPU.long and CPU.short16.
func (c *CPU) lma() bool { return c.msr.efer&eferLMA != 0 }

// setCS loads the code segment register. In long mode the segment chooses the sub-mode.
func (c *CPU) setCS(s segment) {
	c.seg[segCS] = s
	if long := c.lma() && s.attr&attrLong != 0; long != c.long || c.short16 {
		c.setLong(long)
	}
}

// setLong changes between code of 64 and of 32 bits. Code of 16 bits ends with it. The upper halves of the registers that 32-bit
// code has are lost, which the manual allows (SDM vol. 1, 3.4.1.1), and the bases of FS and GS, which
// were 64 bits wide, are cut off.
func (c *CPU) setLong(long bool) {
	c.long = long
	if c.short16 {
		c.short16, c.segBase[segCS] = false, 0
	}
	c.AddrMask = ^uint64(0)
	if !long {
		c.AddrMask = 1<<32 - 1
		for i := range rdi + 1 {
			c.R[i] &= c.AddrMask
		}
	}
	c.SwitchMode(uint8(boolBit(!long)))
	c.lookForNull()
}

// lookForNull has every instruction of 32-bit code looked at while DS or ES is null, since an access
// through them then is #GP, or while one of them or SS is that of real mode. That is slow for the host and rare: kernels
// load null into them only around 64-bit code.
func (c *CPU) lookForNull() {
	c.Single &^= oneNull
	if !c.long && !c.short16 && (c.seg[segDS].odd() || c.seg[segES].odd() || c.seg[segSS].realMode()) {
		c.Single |= oneNull
	}
}

// odd reports a data segment through which 32-bit code does not access memory: it is null, or one of real mode.
func (s *segment) odd() bool { return s.attr&attrPresent == 0 || s.realMode() }

// realMode reports a data segment that was loaded in real mode.
func (s *segment) realMode() bool { return s.limit == realLimit && s.attr == realData }

// resetUnpaged is the state in which the 32-bit boot protocols of kernels enter: flat segments, paging
// off.
func (c *CPU) resetUnpaged() {
	c.long, c.AddrMask = false, 1<<32-1
	c.cr0 &^= cr0PG
	c.cr3, c.cr4 = 0, 0
	c.msr.efer = 0
	c.seg[segCS] = segment{sel: 0x10, attr: flatCode32, limit: ^uint32(0)}
	for _, s := range []int{segES, segSS, segDS} {
		c.seg[s] = segment{sel: 0x18, attr: flatData, limit: ^uint32(0)}
	}
	c.SwitchMode(1)
}

// setTables chooses the format of page tables that the control registers ask for.
func (c *CPU) setTables() {
	nxe := c.msr.efer&eferNXE != 0
	pae := c.tables.registers
	switch {
	case c.cr0&cr0PG == 0:
		c.tables = pageFormat{}
	case c.lma():
		c.tables = longFormat(nxe, c.physBits)
	case c.cr4&cr4PAE != 0:
		c.tables = paeFormat(nxe, c.physBits)
		c.tables.loaded = &c.pdptes
		if !pae {
			c.loadPDPTEs()
		}
	default:
		c.tables = legacyFormat(c.cr4&cr4PSE != 0)
	}
	if c.tables.large != 0 && c.tables.large != c.pages[1] {
		c.pages = mmu.PageSizes{12, c.tables.large}
		c.ITLB.Resize(c.pages)
		c.DTLB.Resize(c.pages)
		c.ForgetTranslations()
	}
}

// loadPDPTEs loads the four registers that are the first level of PAE's tables from memory. A reserved
// bit in one that is present is #GP (SDM vol. 3, 4.4.1).
func (c *CPU) loadPDPTEs() bool {
	loaded, ok := paeFormat(true, c.physBits).registersAt(c.Memory, c.cr3)
	if ok {
		c.pdptes = loaded
	}
	return ok
}

// writeCR writes a control register; false leaves an exception pending. A write of CR0 or CR4
// empties the TLBs whatever it changes, where hardware does so for the bits that decide about
// paging (SDM vol. 3, 4.10.4.1); one of CR3 keeps global pages.
func (c *CPU) writeCR(n uint8, v uint64) (ok bool) {
	switch n {
	case 0:
		ok = c.writeCR0(v)
	case 2:
		c.cr2, ok = v, true
	case 3:
		ok = c.writeCR3(v)
	case 4:
		ok = c.writeCR4(v)
	case 8:
		return c.setTaskPriority(v)
	}
	if !ok && c.fault == (fault{}) {
		c.raiseCode(vecGP, 0)
	}
	return ok
}

// writeCR0 writes CR0; false is for what it may not hold (SDM vol. 3, 2.5 and 9.8.5). Paging with
// EFER.LME set is long mode, which begins in compatibility mode and ends there.
func (c *CPU) writeCR0(v uint64) bool {
	switch {
	case v>>32 != 0, v&(cr0PG|cr0PE) == cr0PG, v&(cr0NW|cr0CD) == cr0NW:
		return false
	case v&cr0PE == 0 && !c.real():
		c.unmodelled(0, "the way back to real mode at %#x", c.R[rRIP])
		return false
	}
	on, off := v&^c.cr0&cr0PG != 0, c.cr0&^v&cr0PG != 0
	lme := c.msr.efer&eferLME != 0
	switch {
	case on && lme && (c.cr4&cr4PAE == 0 || c.seg[segCS].attr&attrLong != 0), off && (c.long || c.cr4&cr4PCIDE != 0):
		return false
	case on && lme:
		c.msr.efer |= eferLMA
	case v&cr0PG != 0 && c.cr4&cr4PAE != 0 && !c.lma() && (v^c.cr0)&(cr0PG|cr0NW|cr0CD) != 0:
		if !c.loadPDPTEs() {
			return false
		}
	}
	if off {
		c.msr.efer &^= eferLMA
	}
	c.cr0 = v&cr0Known | cr0ET
	c.setTables()
	c.checkAlignment()
	c.flushTLB(true)
	return true
}

// cr3Keeps is the bit of a value for CR3 by which the translations of its PCID are kept (SDM vol. 3, 4.10.4.1). CR3 itself has it not.
const cr3Keeps = 1 << 63

// writeCR3 writes CR3; false is for bits beyond the physical addresses, and for PAE's first level.
func (c *CPU) writeCR3(v uint64) bool {
	keep := c.cr4&cr4PCIDE != 0 && v&cr3Keeps != 0
	if keep {
		v &^= cr3Keeps
	}
	if c.lma() && v>>c.physBits != 0 {
		return false
	}
	old := c.cr3
	c.cr3 = v
	if c.tables.registers && !c.loadPDPTEs() {
		c.cr3 = old
		return false
	}
	switch {
	case c.cr4&cr4PCIDE == 0:
		c.flushTLB(false)
	case keep:
		c.switchSpace()
	default:
		c.switchSpace()
		c.flushSpace(c.space())
	}
	return true
}

// writeCR4 writes CR4; false is for reserved bits, among them bits of features that are not
// there, for leaving PAE in long mode, and for PCIDs outside of it or while CR3 has one (SDM vol. 3, 4.10.1).
func (c *CPU) writeCR4(v uint64) bool {
	if v&^c.answers.cr4Bits() != 0 || v&cr4PAE == 0 && c.lma() || v&^c.cr4&cr4PCIDE != 0 && (!c.lma() || c.cr3&maxPCID != 0) {
		return false
	}
	old := c.cr4
	c.cr4 = v
	paging := c.cr0&cr0PG != 0 && v&cr4PAE != 0 && !c.lma()
	if paging && (v^old)&(cr4PAE|cr4PGE|cr4PSE) != 0 && !c.loadPDPTEs() {
		c.cr4 = old
		return false
	}
	c.setTables()
	c.switchSpace()
	c.flushTLB(true)
	return true
}

// writeEFER writes EFER; LMA follows from the modes and is not looked at. False leaves #GP pending: LME
// does not change with paging on, and reserved bits stay clear.
func (c *CPU) writeEFER(v uint64) bool {
	known := uint64(eferSCE | eferNXE | eferLMA)
	if c.hasLongMode {
		known |= eferLME
	}
	if v&^known != 0 || (v^c.msr.efer)&eferLME != 0 && c.cr0&cr0PG != 0 {
		c.raiseCode(vecGP, 0)
		return false
	}
	changed := v ^ c.msr.efer
	c.msr.efer = v&^eferLMA | c.msr.efer&eferLMA
	c.setTables()
	if changed&eferNXE != 0 {
		c.flushTLB(true)
	}
	return true
}

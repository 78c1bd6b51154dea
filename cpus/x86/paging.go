package x86

import (
	"kprobesim/cpus/engine"
	"kprobesim/mmu"
)

// Control register bits (SDM vol. 3, 2.5). Bits of caching and of machine checks are kept and have no
// effect. A bit of a feature that the processor does not claim is reserved (cr4Bits).
const (
	cr0PE    = 1 << 0
	cr0MP    = 1 << 1
	cr0EM    = 1 << 2
	cr0TS    = 1 << 3
	cr0ET    = 1 << 4
	cr0NE    = 1 << 5
	cr0WP    = 1 << 16
	cr0AM    = 1 << 18
	cr0NW    = 1 << 29
	cr0CD    = 1 << 30
	cr0PG    = 1 << 31
	cr0Known = cr0PE | cr0MP | cr0EM | cr0TS | cr0ET | cr0NE | cr0WP | cr0AM | cr0NW | cr0CD | cr0PG

	cr4TSD        = 1 << 2
	cr4DE         = 1 << 3
	cr4PSE        = 1 << 4
	cr4PAE        = 1 << 5
	cr4MCE        = 1 << 6
	cr4PGE        = 1 << 7
	cr4PCE        = 1 << 8
	cr4OSFXSR     = 1 << 9
	cr4OSXMMEXCPT = 1 << 10
	cr4PCIDE      = 1 << 17
	cr4OSXSAVE    = 1 << 18
	cr4SMEP       = 1 << 20
	cr4SMAP       = 1 << 21
	cr4Known      = cr4TSD | cr4DE | cr4PSE | cr4PAE | cr4MCE | cr4PGE | cr4PCE | cr4OSFXSR | cr4OSXMMEXCPT
)

// Page-fault error code bits (SDM vol. 3, 4.7).
const (
	pfPresent  = 1 << 0
	pfWrite    = 1 << 1
	pfUser     = 1 << 2
	pfReserved = 1 << 3
	pfFetch    = 1 << 4
)

// canonical reports whether the bits above 47 repeat it (SDM vol. 1, 3.3.7.1). 57-bit addresses are
// not modelled.
func canonical(va uint64) bool { return uint64(int64(va<<16)>>16) == va }

// canonical reports an address that can be translated: in 32-bit mode one of 32 bits, the others
// lying beyond the limit of every segment. Compatibility mode reaches descriptors and stacks at any.
func (c *CPU) canonical(va uint64) bool {
	return canonical(va) && (va&^c.AddrMask == 0 || c.lma())
}

// wanted is an access of the present level and what control registers ask of it (SDM vol. 3, 4.6). WP makes a supervisor's
// write to a page that is read-only for it fault, SMEP its fetch from a page of user mode, and SMAP its data access to one unless AC
// permits that. The processor's own accesses to tables from user mode are never permitted.
func (c *CPU) wanted(write, exec bool) access {
	a := access{write: write, exec: exec, user: c.User, protect: c.cr0&cr0WP != 0, noUserCode: c.cr4&cr4SMEP != 0}
	a.noUserData = c.cr4&cr4SMAP != 0 && !exec && !c.User && (c.ctl&flagAC == 0 || c.cpl == 3)
	return a
}

// DataAddress implements engine.Translator. It is asked when no micro-TLB entry answers.
func (c *CPU) DataAddress(va uint64, write bool) (uint64, bool) {
	acc := c.wanted(write, false)
	p := c.page(c.DTLB, va, acc)
	if p == nil {
		return 0, false
	}
	c.lent = c.lent || c.cr4&cr4SMAP != 0 && acc.crosses(p)
	return p.Offset(va), true
}

// takeBack drops the translations of user pages that AC lent to the supervisor.
func (c *CPU) takeBack() {
	if c.lent {
		c.lent = false
		c.ForgetData()
	}
}

// CodeAddress implements engine.Decoder. An address that is not canonical is the fault of the branch
// that led to it (SDM vol. 2, JMP, CALL, RET, "64-Bit Mode Exceptions"), which is undone.
func (c *CPU) CodeAddress(va uint64) (uint64, bool) {
	if !c.canonical(va) && va == c.R[rRIP] {
		c.undoBranch()
	}
	p := c.page(c.ITLB, va, c.wanted(false, true))
	if p == nil {
		return 0, false
	}
	return p.Offset(va), true
}

// page translates through a TLB or by a walk. It returns nil with the exception pending when the
// access is refused. A TLB entry never causes a page fault: when its rights do not suffice it is
// dropped and the tables are walked, since they may permit more by now (SDM vol. 3, 4.10.4.3). A
// first write to a page has to set the dirty bit, which takes a walk too.
func (c *CPU) page(t *mmu.TLB, va uint64, acc access) *mmu.Page {
	if !c.canonical(va) {
		c.raiseCode(vecGP, 0)
		c.fault.address = !acc.exec
		return nil
	}
	if c.tables.levels == 0 {
		return c.unpaged(va)
	}
	p := c.FindPage(t, va, acc.exec)
	if p != nil && (!acc.allowed(p) || acc.write && !p.Dirty) {
		t.Drop(va)
		p = nil
	}
	if p == nil {
		p = c.walk(t, va, acc)
	}
	c.Refilled()
	return p
}

// unpaged is the page of an address without paging: the same one with all rights. No TLB has it.
func (c *CPU) unpaged(va uint64) *mmu.Page {
	at := va &^ 0xfff
	c.identity = mmu.Page{VA: at, PA: at, Shift: 12, Dirty: true}
	return &c.identity
}

// branch says what led to the program counter, and the instructions that were executed up to it.
type branch struct {
	at, popped, executed uint64
	flags                uint16
	known                bool
}

// lastBranch returns it, or what a snapshot has of it while nothing was executed since.
func (c *CPU) lastBranch() branch {
	if in, at, flags, ok := c.LastBranch(); ok {
		return branch{at, in.imm, c.Completed(), flags, true}
	}
	if c.led.executed == c.Completed() {
		return c.led
	}
	return branch{}
}

// undoBranch goes back to the branch that led to the program counter: the address is its own again,
// and the stack pointer is that from before it.
func (c *CPU) undoBranch() {
	b := c.lastBranch()
	if !b.known {
		return
	}
	c.R[rRIP] = b.at
	switch {
	case b.flags&engine.Pushes != 0:
		c.R[rsp] = (c.R[rsp] + c.word()) & c.AddrMask
	case b.flags&engine.Pops != 0:
		c.R[rsp] = (c.R[rsp] - c.word() - b.popped) & c.AddrMask
	}
}

// walk fills a TLB from the page tables and charges the reads of the walker.
func (c *CPU) walk(t *mmu.TLB, va uint64, acc access) *mmu.Page {
	found, refs, refused := c.tables.walk(c.Memory, c.cr3, va, acc)
	c.ChargeWalk(&refs, acc.exec)
	if refused != nil {
		c.pageFault(va, acc, refused)
		return nil
	}
	return t.Insert(found)
}

// NoCode implements engine.Decoder: nobody answers a fetch outside of RAM.
func (c *CPU) NoCode() { c.raiseCode(vecGP, 0) }

// pageFault raises #PF with the address in CR2 and the access in the error code (SDM vol. 3, 4.7).
// The bit of fetches is reported when pages can forbid execution: in 32-bit mode without PAE and SMEP it
// stays clear.
func (c *CPU) pageFault(va uint64, acc access, f *refusal) {
	var code uint32
	for _, b := range [...]struct {
		set bool
		bit uint32
	}{
		{f.present, pfPresent},
		{acc.write, pfWrite},
		{acc.user, pfUser},
		{f.reserved, pfReserved},
		{acc.exec && (c.tables.forbidsExecution() || acc.noUserCode), pfFetch},
	} {
		if b.set {
			code |= b.bit
		}
	}
	c.cr2 = va
	c.raiseCode(vecPF, code)
}

// Translate implements cpus.Probe. Tables are read as they are in memory, past the TLBs.
func (c *CPU) Translate(va uint64) (uint64, bool) {
	if !c.canonical(va) {
		return 0, false
	}
	if c.tables.levels == 0 {
		return va, true
	}
	return c.tables.peek(c.Memory, c.cr3, va)
}

package arm

import (
	"fmt"

	"kprobesim/cpus/engine"
	"kprobesim/mmu"
)

// system are the registers of the system control coprocessor that are stored (ARM ARM, B4.1).
type system struct {
	sctlr, actlr, cpacr, csselr  uint32
	ttbr                         [2]uint32
	ttbcr, dacr                  uint32
	dfsr, ifsr, adfsr, aifsr     uint32
	dfar, ifar                   uint32
	vbar, contextID              uint32
	tpidrURW, tpidrURO, tpidrPRW uint32
	prrr, nmrr, cntkctl          uint32
}

// Bits of SCTLR (ARM ARM, B4.1.130).
const (
	sctlrM   = 1 << 0
	sctlrA   = 1 << 1
	sctlrC   = 1 << 2
	sctlrSW  = 1 << 10
	sctlrZ   = 1 << 11
	sctlrI   = 1 << 12
	sctlrV   = 1 << 13
	sctlrTRE = 1 << 28
	sctlrAFE = 1 << 29

	// sctlrFixed are bits that read as one; sctlrWritable those that can be written here.
	sctlrFixed    = 0x00c50078
	sctlrWritable = sctlrM | sctlrA | sctlrC | sctlrSW | sctlrZ | sctlrI | sctlrV | sctlrTRE | sctlrAFE
)

// setSCTLR changes SCTLR and what follows from it. The rights in the TLBs depend on it too.
func (c *CPU) setSCTLR(v uint32) {
	old := c.sctlr
	c.sctlr = v&sctlrWritable | sctlrFixed
	c.strict = 0
	if v&sctlrA != 0 {
		c.strict = ^uint64(0)
	}
	if (old^c.sctlr)&(sctlrM|sctlrTRE|sctlrAFE) != 0 {
		c.flushTLB()
	}
}

// coproc is a register of the coprocessor. get or set is nil when it cannot be read or written. An operation
// is a register that does something when it is written.
type coproc struct {
	get   func(*CPU) uint32
	set   func(*CPU, uint32)
	class [2]uint8              // of reading and of writing
	user  func(*CPU, bool) bool // says whether user mode may; nil means that it may not
}

// stored is a register that is kept and no more; mask has the bits that exist.
func stored(at func(*CPU) *uint32, mask uint32) coproc {
	return coproc{
		get: func(c *CPU) uint32 { return *at(c) }, set: func(c *CPU, v uint32) { *at(c) = v & mask },
		class: [2]uint8{clCoprocRead, clCoprocWrite},
	}
}

func constant(v uint32) coproc { return computed(func(*CPU) uint32 { return v }) }

func computed(get func(*CPU) uint32) coproc {
	return coproc{get: get, class: [2]uint8{clCoprocRead}}
}

func operation(class uint8, f func(*CPU, uint32)) coproc {
	return coproc{set: f, class: [2]uint8{0, class}}
}

// Who may use a register in user mode.
func anybody(*CPU, bool) bool         { return true }
func readers(_ *CPU, write bool) bool { return !write }
func (r coproc) by(user func(*CPU, bool) bool) coproc {
	r.user = user
	return r
}

// coprocKey is the number of a register: CRn, opc1, CRm, opc2.
type coprocKey [4]uint8

// coprocs are the registers of 32 bits.
var coprocs = coprocTable()

// coprocTable lists the registers (ARM ARM, B3.17).
func coprocTable() map[coprocKey]coproc {
	u32 := ^uint32(0)
	t := map[coprocKey]coproc{
		{0, 0, 0, 0}: computed((*CPU).midr),
		{0, 0, 0, 1}: computed((*CPU).cacheType),
		{0, 0, 0, 2}: constant(0), // TCMTR
		{0, 0, 0, 3}: constant(0), // TLBTR: unified
		{0, 0, 0, 4}: computed((*CPU).midr),
		{0, 0, 0, 5}: computed((*CPU).affinity),
		{0, 0, 0, 6}: constant(0), // REVIDR
		{0, 0, 0, 7}: computed((*CPU).midr),
		{0, 1, 0, 0}: computed((*CPU).cacheSize),
		{0, 1, 0, 1}: constant(clidr),
		{0, 1, 0, 7}: constant(0), // AIDR
		{0, 2, 0, 0}: stored(func(c *CPU) *uint32 { return &c.csselr }, 0xf),

		{1, 0, 0, 0}: {get: func(c *CPU) uint32 { return c.sctlr }, set: (*CPU).setSCTLR, class: [2]uint8{clCoprocRead, clCoprocWrite}},
		{1, 0, 0, 1}: stored(func(c *CPU) *uint32 { return &c.actlr }, u32),
		{1, 0, 0, 2}: stored(func(c *CPU) *uint32 { return &c.cpacr }, 0), // no floating point to be enabled

		{2, 0, 0, 0}: storedThen(func(c *CPU) *uint32 { return &c.ttbr[0] }, u32, (*CPU).ForgetTranslations),
		{2, 0, 0, 1}: storedThen(func(c *CPU) *uint32 { return &c.ttbr[1] }, u32, (*CPU).ForgetTranslations),
		{2, 0, 0, 2}: storedThen(func(c *CPU) *uint32 { return &c.ttbcr }, ttbcrN|ttbcrPD0|ttbcrPD1, (*CPU).ForgetTranslations),
		{3, 0, 0, 0}: {get: func(c *CPU) uint32 { return c.dacr }, set: (*CPU).setDACR, class: [2]uint8{clCoprocRead, clCoprocWrite}},

		{5, 0, 0, 0}: stored(func(c *CPU) *uint32 { return &c.dfsr }, 0x3dff),
		{5, 0, 0, 1}: stored(func(c *CPU) *uint32 { return &c.ifsr }, 0x160f),
		{5, 0, 1, 0}: stored(func(c *CPU) *uint32 { return &c.adfsr }, u32),
		{5, 0, 1, 1}: stored(func(c *CPU) *uint32 { return &c.aifsr }, u32),
		{6, 0, 0, 0}: stored(func(c *CPU) *uint32 { return &c.dfar }, u32),
		{6, 0, 0, 2}: stored(func(c *CPU) *uint32 { return &c.ifar }, u32),

		{10, 0, 2, 0}: stored(func(c *CPU) *uint32 { return &c.prrr }, u32),
		{10, 0, 2, 1}: stored(func(c *CPU) *uint32 { return &c.nmrr }, u32),

		{12, 0, 0, 0}: stored(func(c *CPU) *uint32 { return &c.vbar }, ^uint32(31)),
		{12, 0, 1, 0}: computed((*CPU).interruptStatus),

		{13, 0, 0, 0}: stored(func(c *CPU) *uint32 { return &c.csselr }, 0).readingZero(), // FCSEIDR
		{13, 0, 0, 1}: {get: func(c *CPU) uint32 { return c.contextID }, set: (*CPU).setContextID, class: [2]uint8{clCoprocRead, clCoprocWrite}},
		{13, 0, 0, 2}: stored(func(c *CPU) *uint32 { return &c.tpidrURW }, u32).by(anybody),
		{13, 0, 0, 3}: stored(func(c *CPU) *uint32 { return &c.tpidrURO }, u32).by(readers),
		{13, 0, 0, 4}: stored(func(c *CPU) *uint32 { return &c.tpidrPRW }, u32),
	}
	for i, v := range idRegisters {
		t[coprocKey{0, 0, uint8(1 + i/8), uint8(i % 8)}] = constant(v)
	}
	t[coprocKey{0, 0, 2, 0}] = computed((*CPU).instructions)
	addMaintenance(t)
	addTimers(t)
	return t
}

// readingZero is a register that ignores writes.
func (r coproc) readingZero() coproc {
	r.get, r.set = func(*CPU) uint32 { return 0 }, func(*CPU, uint32) {}
	return r
}

// storedThen is a stored register from whose change something follows. The TLBs stay where translations depend on
// it: software invalidates them.
func storedThen(at func(*CPU) *uint32, mask uint32, then func(*CPU)) coproc {
	r := stored(at, mask)
	r.set = func(c *CPU, v uint32) {
		*at(c) = v & mask
		then(c)
	}
	return r
}

// midr is the main identification register.
func (c *CPU) midr() uint32 { return uint32(c.cfg.Processor[numberMIDR]) }

// idRegisters identify a Cortex-A15 r2p1 (its TRM, DDI 0438, table 4-2, as far as the instruction set goes). What
// is left out of the model is left out of the numbers. They are ID_PFR0 to ID_AFR0, ID_MMFR0 to 3 and ID_ISAR0 to 5 (ARM ARM, B4.1.90 and behind): A32 state
// alone, the virtual memory architecture with the access flag, all of the integer instructions, the divides
// among them.
var idRegisters = [16]uint32{
	0x00000001, 0x00010001, 0x00000005, 0, 0x10201105, 0x20000000, 0x01240000, 0x02102211,
	0x02101110, 0x13112111, 0x21232041, 0x11112131, 0x10011142, 0, 0, 0,
}

// instructions is ID_ISAR0, which tells of the divides.
func (c *CPU) instructions() uint32 {
	const divides = 0xf << 24
	v := idRegisters[8]
	if !c.divides() {
		v &^= divides
	}
	return v
}

func (c *CPU) divides() bool { return c.cfg.Processor[numberDivide] != 0 }

// clidr: two instruction and data caches at the first level, a unified one behind, where both are coherent.
const clidr = 0x0a200023

// affinity is MPIDR: the CPUs of a machine are one cluster, as the multiprocessing extensions number them.
func (c *CPU) affinity() uint32 {
	return 1<<31 | uint32(c.cfg.Processor[numberCluster])<<8 | uint32(c.Num)
}

// cacheType is CTR: the smallest lines in words, and what exclusive loads reserve.
func (c *CPU) cacheType() uint32 {
	d, i := log2(c.cfg.L1D.Line/4), log2(c.cfg.L1I.Line/4)
	return 4<<29 | d<<24 | d<<20 | d<<16 | 3<<14 | i
}

// cacheSize is CCSIDR of the cache that CSSELR selects.
func (c *CPU) cacheSize() uint32 {
	k := c.cfg.L1D
	switch c.csselr {
	case 1:
		k = c.cfg.L1I
	case 2:
		k = c.cfg.L2
	}
	sets := k.Size / (k.Line * k.Ways)
	return uint32(sets-1)<<13 | uint32(k.Ways-1)<<3 | log2(k.Line/16)
}

func log2(n int) uint32 {
	v := uint32(0)
	for ; n > 1; n >>= 1 {
		v++
	}
	return v
}

// interruptStatus is ISR: what is pending.
func (c *CPU) interruptStatus() uint32 {
	var v uint32
	if c.Bus.Interrupts != nil && c.Bus.Interrupts.Pending() {
		v |= psrI
	}
	if c.fast {
		v |= psrF
	}
	return v
}

// setDACR changes the rights of domains, which the TLBs' entries have in them.
func (c *CPU) setDACR(v uint32) {
	if v != c.dacr {
		c.dacr = v
		c.flushTLB()
	}
}

// setContextID changes the address space; its lowest byte is the ASID.
func (c *CPU) setContextID(v uint32) {
	c.contextID = v
	c.ForgetTranslations()
}

func (c *CPU) asid() uint32 { return c.contextID & 0xff }

// addMaintenance adds the operations on caches, TLBs and predictors (ARM ARM, B4.2), and the barriers in their
// older form. What instruction fetch may keep is in fetch.go.
func addMaintenance(t map[coprocKey]coproc) {
	nothing := func(*CPU, uint32) {}
	for _, k := range []coprocKey{{7, 0, 6, 2}, {7, 0, 5, 6}, {7, 0, 5, 7}, {7, 0, 1, 6}, {7, 0, 0, 4}} {
		t[k] = operation(clCacheOp, nothing)
	}
	for _, k := range []coprocKey{{7, 0, 6, 1}, {7, 0, 10, 1}, {7, 0, 11, 1}, {7, 0, 14, 1}} {
		t[k] = operation(clCacheOp, (*CPU).cleanData)
	}
	for _, k := range []coprocKey{{7, 0, 10, 2}, {7, 0, 14, 2}} {
		t[k] = operation(clCacheOp, (*CPU).cleanSets)
	}
	t[coprocKey{7, 0, 5, 0}] = operation(clCacheOp, (*CPU).invalidateFetch)
	t[coprocKey{7, 0, 1, 0}] = operation(clCacheOp, (*CPU).invalidateFetchEverywhere)
	t[coprocKey{7, 0, 5, 1}] = operation(clCacheOp, (*CPU).invalidateFetchLine)
	t[coprocKey{7, 0, 5, 4}] = operation(clIsb, func(c *CPU, _ uint32) { isb(c, nil) }).by(anybody)
	t[coprocKey{7, 0, 10, 4}] = operation(clDsb, func(c *CPU, _ uint32) { c.OrderAll() }).by(anybody)
	t[coprocKey{7, 0, 10, 5}] = operation(clDmb, func(c *CPU, _ uint32) { c.OrderAll() }).by(anybody)
	for _, m := range []struct {
		crm  uint8
		wide bool
	}{{3, true}, {5, false}, {6, false}, {7, false}} {
		for i, f := range []func(*CPU, uint32){(*CPU).dropAll, (*CPU).dropPage, (*CPU).dropSpace, (*CPU).dropPageOfAll} {
			if i == 3 && (m.crm == 5 || m.crm == 6) {
				continue
			}
			t[coprocKey{8, 0, m.crm, uint8(i)}] = operation(clTLBOp, onCPUs(f, m.wide))
		}
	}
}

// onCPUs is an operation of this CPU, or of all.
func onCPUs(f func(*CPU, uint32), wide bool) func(*CPU, uint32) {
	if !wide {
		return f
	}
	return func(c *CPU, v uint32) {
		for _, other := range c.machine.cpus {
			f(other, v)
		}
	}
}

func (c *CPU) flushTLB() {
	c.DTLB.Flush(true)
	c.ITLB.Flush(true)
	c.ForgetTranslations()
}

func (c *CPU) dropAll(uint32) { c.flushTLB() }

// dropSpace drops the pages of an address space.
func (c *CPU) dropSpace(space uint32) {
	c.dropIf(func(p *mmu.Page) bool { return !p.Global && p.Space == space&0xff })
}

// dropPage drops a page of an address space, and a global one.
func (c *CPU) dropPage(v uint32) { c.dropIn(v, v&0xff) }

// dropPageOfAll drops a page of every address space.
func (c *CPU) dropPageOfAll(v uint32) {
	c.dropIf(func(p *mmu.Page) bool { return uint64(v)>>p.Shift == p.VA>>p.Shift })
}

func (c *CPU) dropIf(match func(p *mmu.Page) bool) {
	c.DTLB.DropIf(match)
	c.ITLB.DropIf(match)
	c.ForgetTranslations()
}

func (c *CPU) dropIn(va, space uint32) {
	for _, t := range []*mmu.TLB{c.DTLB, c.ITLB} {
		t.Switch(space)
		t.Drop(uint64(va &^ 0xfff))
		t.Switch(c.asid())
	}
	c.ForgetTranslations()
}

// debugCoproc is the number of the coprocessor that has the debug registers.
const debugCoproc = 14

// Forms of the moves to and from the coprocessor. A register that is not modelled is undefined.
func (d *decoder) coproc() (coproc, bool) {
	k := coprocKey{d.r16(), d.field(21, 3), d.r0(), d.field(5, 3)}
	of := coprocs
	if d.field(8, 4) == debugCoproc {
		of = debugs
	}
	r, ok := of[k]
	return r, ok
}

func formMrc(d *decoder, _ *row) bool {
	r, ok := d.coproc()
	d.in.dst = d.r12()
	if !ok || r.get == nil {
		d.unknownCoproc()
		return true
	}
	d.op.Class, d.op.O1 = r.class[0], d.in.dst
	d.exec = func(c *CPU, in *inst) {
		if c.mayUse(r.user, false) {
			c.set(in, r.get(c))
		}
	}
	return general(d.in.dst)
}

// formMcr ends a block: what changes may decide how the next instruction is executed.
func formMcr(d *decoder, _ *row) bool {
	r, ok := d.coproc()
	d.in.b = d.r12()
	if !ok || r.set == nil {
		d.unknownCoproc()
		return true
	}
	d.op.Class, d.op.S1, d.op.Flags = r.class[1], d.in.b, engine.Ends
	d.exec = func(c *CPU, in *inst) {
		if c.mayUse(r.user, true) {
			r.set(c, uint32(c.R[in.b&63]))
			c.Stop |= engine.StopBlock
		}
	}
	return general(d.in.b)
}

// mayUse raises an exception for a register that user mode may not use.
func (c *CPU) mayUse(user func(*CPU, bool) bool, write bool) bool {
	return !c.User || user != nil && user(c, write) || c.privileged()
}

// unknownCoproc is a register that is not modelled.
func (d *decoder) unknownCoproc() {
	name := fmt.Sprintf("p%d, %d, c%d, c%d, %d", d.field(8, 4), d.field(21, 3), d.r16(), d.r0(), d.field(5, 3))
	if d.word>>24&15 == 12 {
		name = fmt.Sprintf("p15, %d, c%d of 64 bits", d.field(4, 4), d.r0())
	}
	d.op.Class, d.op.Flags = clUndefined, engine.Ends
	d.exec = func(c *CPU, _ *inst) {
		if c.privileged() {
			c.unmodelled("%s at %#x", name, c.R[rPC]-insnBytes)
			c.raise(vecUndefined)
		}
	}
}

// coproc64 is a register of 64 bits, by opc1 and CRm.
type coproc64 struct {
	get  func(*CPU) uint64
	set  func(*CPU, uint64)
	user func(*CPU, bool) bool
}

func (d *decoder) coproc64() (coproc64, bool) {
	r, ok := coprocs64[[2]uint8{d.field(4, 4), d.r0()}]
	return r, ok
}

func formMrrc(d *decoder, _ *row) bool {
	r, ok := d.coproc64()
	if !ok || r.get == nil {
		d.unknownCoproc()
		return true
	}
	d.in.dst, d.in.s = d.r12(), d.r16()
	d.op.Class, d.op.O1, d.op.O2 = clCounter, d.in.dst, d.in.s
	d.exec = func(c *CPU, in *inst) {
		if c.mayUse(r.user, false) {
			v := r.get(c)
			c.R[in.dst&63], c.R[in.s&63] = uint64(uint32(v)), v>>32
		}
	}
	return general(d.in.dst, d.in.s) && d.in.dst != d.in.s
}

func formMcrr(d *decoder, _ *row) bool {
	r, ok := d.coproc64()
	if !ok || r.set == nil {
		d.unknownCoproc()
		return true
	}
	d.in.a, d.in.b = d.r12(), d.r16()
	d.op.Class, d.op.S1, d.op.S2, d.op.Flags = clCoprocWrite, d.in.a, d.in.b, engine.Ends
	d.exec = func(c *CPU, in *inst) {
		if c.mayUse(r.user, true) {
			r.set(c, c.R[in.a&63]|c.R[in.b&63]<<32)
			c.Stop |= engine.StopBlock
		}
	}
	return general(d.in.a, d.in.b)
}

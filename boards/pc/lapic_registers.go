package pc

// Offsets of the registers that are named elsewhere (SDM vol. 3, table 10-1).
const (
	regID       = 0x020
	regVersion  = 0x030
	regTPR      = 0x080
	regPPR      = 0x0a0
	regEOI      = 0x0b0
	regLDR      = 0x0d0
	regDFR      = 0x0e0
	regSVR      = 0x0f0
	regISR      = 0x100
	regTMR      = 0x180
	regIRR      = 0x200
	regESR      = 0x280
	regICRLow   = 0x300
	regICRHigh  = 0x310
	regLVTTimer = 0x320
	regLVTLINT0 = 0x350
	regLVTLINT1 = 0x360
	regLVTError = 0x370
	regInitial  = 0x380
	regCurrent  = 0x390
	regDivide   = 0x3e0

	count = regDivide>>4 + 1
)

// register is a row of the manual's table of registers. Without load a register reads as what is kept,
// without store it keeps what is stored, as far as it is writable.
type register struct {
	name     string // "" is reserved
	reset    uint32
	writable uint32
	load     func(l *lapic, off uint64) uint32
	store    func(l *lapic, off uint64, v uint32)
}

// version says: an integrated APIC of a Pentium 4 or later, with six entries of the local vector table
// (10.4.8).
const version = 0x14 | (6-1)<<16

// registers lists the registers of a local APIC by offset / 16 (SDM vol. 3, table 10-1).
var registers = [count]register{
	0x02: {name: "identifier"},
	0x03: {name: "version", reset: version},
	0x08: {name: "task priority", writable: 0xff, store: (*lapic).storeTPR},
	0x09: {name: "arbitration priority"},
	0x0a: {name: "processor priority", load: (*lapic).loadPPR},
	0x0b: {name: "end of interrupt", store: (*lapic).storeEOI},
	0x0c: {name: "remote read"},
	0x0d: {name: "logical destination", writable: 0xff000000},
	0x0e: {name: "destination format", reset: 0xffffffff, writable: 0xf0000000},
	0x0f: {name: "spurious vector", reset: 0xff, writable: 0x3ff, store: (*lapic).storeSVR},
	0x10: inService, 0x11: inService, 0x12: inService, 0x13: inService,
	0x14: inService, 0x15: inService, 0x16: inService, 0x17: inService,
	0x18: triggerMode, 0x19: triggerMode, 0x1a: triggerMode, 0x1b: triggerMode,
	0x1c: triggerMode, 0x1d: triggerMode, 0x1e: triggerMode, 0x1f: triggerMode,
	0x20: requested, 0x21: requested, 0x22: requested, 0x23: requested,
	0x24: requested, 0x25: requested, 0x26: requested, 0x27: requested,
	0x28: {name: "error status", store: (*lapic).storeESR},
	0x30: {name: "interrupt command, low", writable: icrWritable, store: (*lapic).storeICR},
	0x31: {name: "interrupt command, high", writable: 0xff000000},
	0x32: {name: "LVT timer", reset: lvtMasked, writable: 0x300ff, store: (*lapic).storeLVT},
	0x33: {name: "LVT thermal sensor", reset: lvtMasked, writable: 0x107ff, store: (*lapic).storeLVT},
	0x34: {name: "LVT performance counters", reset: lvtMasked, writable: 0x107ff, store: (*lapic).storeLVT},
	0x35: {name: "LVT LINT0", reset: lvtMasked, writable: 0x1a7ff, store: (*lapic).storeLVT},
	0x36: {name: "LVT LINT1", reset: lvtMasked, writable: 0x1a7ff, store: (*lapic).storeLVT},
	0x37: {name: "LVT error", reset: lvtMasked, writable: 0x100ff, store: (*lapic).storeLVT},
	0x38: {name: "initial count", writable: 0xffffffff, store: (*lapic).storeInitial},
	0x39: {name: "current count", load: (*lapic).loadCurrent},
	0x3e: {name: "divide configuration", writable: 0xb, store: (*lapic).storeDivide},
}

// Each of three registers is 256 bits wide: eight words, a bit for each vector (10.8.4).
var (
	inService   = register{name: "in service", load: func(l *lapic, off uint64) uint32 { return l.isr.word(off - regISR) }}
	triggerMode = register{name: "trigger mode", load: func(l *lapic, off uint64) uint32 { return l.tmr.word(off - regTMR) }}
	requested   = register{name: "interrupt request", load: func(l *lapic, off uint64) uint32 { return l.irr.word(off - regIRR) }}
)

// registerAt is the index of the register at an offset into the APIC's page. Registers are 16 bytes apart.
func registerAt(off uint64) (i uint64, ok bool) {
	i = off >> 4
	return i, off&15 == 0 && i < uint64(len(registers)) && registers[i].name != ""
}

func (l *lapic) loadPPR(uint64) uint32 { return uint32(l.ppr()) }

func (l *lapic) loadCurrent(uint64) uint32 { return l.current() }

// storeTPR may let through what waited for a lower priority of the task.
func (l *lapic) storeTPR(_ uint64, v uint32) {
	*l.reg(regTPR) = v
	l.raise()
}

func (l *lapic) storeEOI(uint64, uint32) { l.eoi() }

// storeSVR enables or disables the APIC by software; disabling masks all sources (10.4.7.2).
func (l *lapic) storeSVR(_ uint64, v uint32) {
	*l.reg(regSVR) = v
	if l.enabled() {
		l.raise()
		return
	}
	for off := uint64(regLVTTimer); off <= regLVTError; off += 0x10 {
		*l.reg(off) |= lvtMasked
	}
}

// storeESR shows the errors that were collected since the last store (10.5.3).
func (l *lapic) storeESR(uint64, uint32) { *l.reg(regESR), l.errs = l.errs, 0 }

// storeICR sends what the command says.
func (l *lapic) storeICR(_ uint64, v uint32) {
	*l.reg(regICRLow) = v
	l.sendIPI()
}

// storeLVT writes an entry of the local vector table; a disabled APIC keeps it masked.
func (l *lapic) storeLVT(off uint64, v uint32) {
	if !l.enabled() {
		v |= lvtMasked
	}
	*l.reg(off) = v
}

// storeInitial starts the timer.
func (l *lapic) storeInitial(_ uint64, v uint32) {
	*l.reg(regInitial) = v
	l.startTimer(v)
}

// storeDivide changes the speed of the timer; it goes on from where it stands.
func (l *lapic) storeDivide(_ uint64, v uint32) {
	n := l.current()
	*l.reg(regDivide) = v
	if n > 0 {
		l.startTimer(n)
	}
}

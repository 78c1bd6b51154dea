package pc

import (
	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// Registers of a local APIC by their offset (SDM vol. 3, table 10-1).
const (
	regID       = 0x020
	regVersion  = 0x030
	regTPR      = 0x080 // task priority
	regAPR      = 0x090 // arbitration priority
	regPPR      = 0x0a0 // processor priority
	regEOI      = 0x0b0
	regRRD      = 0x0c0 // remote read
	regLDR      = 0x0d0 // logical destination
	regDFR      = 0x0e0 // destination format
	regSVR      = 0x0f0 // spurious vector and enable
	regISR      = 0x100 // eight registers, as the two after it
	regTMR      = 0x180
	regIRR      = 0x200
	regESR      = 0x280
	regICRLow   = 0x300
	regICRHigh  = 0x310
	regLVTTimer = 0x320 // the six entries of the local vector table
	regLVTError = 0x370
	regInitial  = 0x380
	regCurrent  = 0x390
	regDivide   = 0x3e0
)

// Bits of registers and of the error status (SDM vol. 3, 10.5.1, 10.5.3, 10.9).
const (
	lvtMasked       = 1 << 16
	lvtPeriodic     = 1 << 17
	svrEnable       = 1 << 8
	errSendVector   = 1 << 5
	errVector       = 1 << 6
	errRegister     = 1 << 7
	lapicVersion    = 0x14       // an integrated APIC of a Pentium 4 or later
	lvtEntries      = 6          // timer, thermal, performance, LINT0, LINT1, error
	lvtResetValue   = lvtMasked  // masked, vector 0
	firstUserVector = 16         // lower vectors are exceptions and illegal here
	dfrFixed        = 0x0fffffff // bits that read as ones
)

// LAPICConfig connects a local APIC to the machine. Without Now and Queue its timer stands still.
type LAPICConfig struct {
	ID       uint8
	BusCycle clock.Ticks        // one cycle of the bus clock that drives the timer; 0 means a core cycle
	Now      func() clock.Ticks // the time of the APIC's CPU
	Queue    *sim.Queue         // where the timer plans its expiry
	Raise    func()             // an interrupt may have become deliverable; may be nil
	// Send carries an interprocessor interrupt to the other APICs: the machine calls Accept of every
	// APIC that Selects it. Nil means that this APIC is alone.
	Send func(IPI)
	// Signal is told of NMI, INIT, start-up and the like, which go to the CPU directly; may be nil.
	Signal func(mode DeliveryMode)
}

// LAPIC is the local APIC of one CPU (SDM vol. 3, chapter 10): priorities, timer, interprocessor
// interrupts and errors. The bus arbitrates among several by their priorities. The registers of sources
// that are left out, see the package, only keep their values.
type LAPIC struct {
	cfg LAPICConfig

	isr, tmr, irr    vectorSet
	tpr, ldr, dfr    uint32
	svr              uint32
	esr, errs        uint32 // as latched by the last write, and collected since
	icrLow, icrHigh  uint32
	lvt              [lvtEntries]uint32
	initial, divide  uint32
	expiry           clock.Ticks // of the timer, when event is not 0
	event            sim.EventID
	deliveringErrors bool
}

// NewLAPIC returns an APIC after reset: disabled by its spurious vector register, all sources
// masked.
func NewLAPIC(cfg LAPICConfig) *LAPIC {
	if cfg.BusCycle <= 0 {
		cfg.BusCycle = clock.PerCycle
	}
	l := &LAPIC{cfg: cfg}
	l.Reset()
	return l
}

// Reset gives the state after power-up, which INIT gives too (10.4.7): the identifier stays.
func (l *LAPIC) Reset() {
	l.startTimer(0)
	*l = LAPIC{cfg: l.cfg, dfr: 0xffffffff, svr: 0xff}
	for i := range l.lvt {
		l.lvt[i] = lvtResetValue
	}
}

// Load reads the 32-bit register at an offset into the APIC's page. Reserved registers read as 0
// and set the error status.
func (l *LAPIC) Load(off uint64) uint32 {
	if off%16 == 0 {
		switch {
		case off >= regISR && off < regTMR:
			return l.isr.word(off - regISR)
		case off >= regTMR && off < regIRR:
			return l.tmr.word(off - regTMR)
		case off >= regIRR && off < regESR:
			return l.irr.word(off - regIRR)
		case off >= regLVTTimer && off <= regLVTError:
			return l.lvt[(off-regLVTTimer)/16]
		}
	}
	switch off {
	case regID:
		return uint32(l.cfg.ID) << 24
	case regVersion:
		return lapicVersion | (lvtEntries-1)<<16
	case regTPR:
		return l.tpr
	case regPPR:
		return uint32(l.ppr())
	case regAPR, regRRD, regEOI:
		return 0
	case regLDR:
		return l.ldr
	case regDFR:
		return l.dfr
	case regSVR:
		return l.svr
	case regESR:
		return l.esr
	case regICRLow:
		return l.icrLow
	case regICRHigh:
		return l.icrHigh
	case regInitial:
		return l.initial
	case regCurrent:
		return l.current()
	case regDivide:
		return l.divide
	}
	l.fail(errRegister)
	return 0
}

// Store writes the 32-bit register at an offset into the APIC's page. Reserved bits and read-only
// registers keep their values; stores to reserved registers set the error status.
func (l *LAPIC) Store(off uint64, v uint32) {
	if off%16 == 0 && off >= regLVTTimer && off <= regLVTError {
		l.storeLVT(int(off-regLVTTimer)/16, v)
		return
	}
	switch off {
	case regTPR:
		l.tpr = v & 0xff
		l.raise()
	case regEOI:
		l.eoi()
	case regLDR:
		l.ldr = v & 0xff000000
	case regDFR:
		l.dfr = v | dfrFixed
	case regSVR:
		l.storeSVR(v & 0x3ff)
	case regESR:
		l.esr, l.errs = l.errs, 0
	case regICRLow:
		l.icrLow = v & icrWritable
		l.sendIPI()
	case regICRHigh:
		l.icrHigh = v & 0xff000000
	case regInitial:
		l.initial = v
		l.startTimer(v)
	case regDivide:
		l.storeDivide(v & 0xb)
	case regID, regVersion, regAPR, regPPR, regRRD, regCurrent:
	default:
		if off%16 != 0 || off < regISR || off >= regESR {
			l.fail(errRegister)
		}
	}
}

// storeLVT writes an entry of the local vector table; a disabled APIC keeps it masked.
func (l *LAPIC) storeLVT(i int, v uint32) {
	writable := [lvtEntries]uint32{0x300ff, 0x107ff, 0x107ff, 0x1a7ff, 0x1a7ff, 0x100ff}
	v &= writable[i]
	if l.svr&svrEnable == 0 {
		v |= lvtMasked
	}
	l.lvt[i] = v
}

// storeSVR enables or disables the APIC by software; disabling masks all sources (10.4.7.2).
func (l *LAPIC) storeSVR(v uint32) {
	l.svr = v
	if v&svrEnable != 0 {
		l.raise()
		return
	}
	for i := range l.lvt {
		l.lvt[i] |= lvtMasked
	}
}

// fail collects an error and delivers the error interrupt.
func (l *LAPIC) fail(err uint32) {
	l.errs |= err
	lvt := l.lvt[(regLVTError-regLVTTimer)/16]
	if lvt&lvtMasked != 0 || l.deliveringErrors {
		return
	}
	l.deliveringErrors = true // an illegal vector in the error entry itself is one more error
	l.request(uint8(lvt))
	l.deliveringErrors = false
}

// raise tells the CPU when an interrupt can be delivered.
func (l *LAPIC) raise() {
	if l.cfg.Raise == nil {
		return
	}
	if l.Pending() {
		l.cfg.Raise()
	}
}

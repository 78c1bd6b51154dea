package pc

import (
	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// Bits of registers and of the error status (SDM vol. 3, 10.5.1, 10.5.3, 10.9).
const (
	lvtMasked       = 1 << 16
	lvtPeriodic     = 1 << 17
	svrEnable       = 1 << 8
	errSendVector   = 1 << 5
	errVector       = 1 << 6
	errRegister     = 1 << 7
	firstUserVector = 16 // lower vectors are exceptions and illegal here
)

// lapicConfig connects a local APIC to the machine. Without Now and Queue its timer stands still.
type lapicConfig struct {
	ID       uint8
	BusCycle clock.Ticks        // one cycle of the bus clock that drives the timer
	Now      func() clock.Ticks // the time of the APIC's CPU
	Queue    *sim.Queue         // where the timer plans its expiry
	Raise    func()             // an interrupt may have become deliverable; may be nil
	// Send carries an interprocessor interrupt to the other APICs: the machine calls accept of every
	// APIC that selects it. Nil means that this APIC is alone.
	Send func(message)
	// Ended is told of the end of an interrupt that was triggered by level; may be nil.
	Ended func(vector uint8)
	// Signal is told of NMI, INIT, start-up and the like, which go to the CPU directly, with their vector; may be nil.
	Signal func(mode deliveryMode, vector uint8)
}

// lapic is the local APIC of one CPU (SDM vol. 3, chapter 10): priorities, timer, interprocessor
// interrupts and errors. The bus arbitrates among several by their priorities. The registers of sources
// that are left out, see the package, only keep their values.
type lapic struct {
	cfg lapicConfig `state:"-"`

	regs             [count]uint32 // those whose value is kept, by offset / 16
	isr, tmr, irr    vectorSet     // in service, triggered by level, requested
	errs             uint32        // collected since the error status was written
	expiry           clock.Ticks   // of the timer, when event is not 0
	event            sim.EventID
	deliveringErrors bool
}

// newLAPIC returns an APIC after reset: disabled by its spurious vector register, all sources
// masked.
func newLAPIC(cfg lapicConfig) *lapic {
	l := &lapic{cfg: cfg}
	l.Reset()
	return l
}

// Reset gives the state after power-up, which INIT gives too (10.4.7): the identifier stays.
func (l *lapic) Reset() {
	l.startTimer(0)
	*l = lapic{cfg: l.cfg}
	for i := range registers {
		l.regs[i] = registers[i].reset
	}
	*l.reg(regID) = uint32(l.cfg.ID) << 24
}

// reg is the kept value of the register at an offset.
func (l *lapic) reg(off uint64) *uint32 { return &l.regs[off>>4] }

// Load reads the 32-bit register at an offset into the APIC's page. Reserved registers read as 0
// and set the error status.
func (l *lapic) Load(off uint64) uint32 {
	i, ok := registerAt(off)
	switch {
	case !ok:
		l.fail(errRegister)
		return 0
	case registers[i].load != nil:
		return registers[i].load(l, off)
	}
	return l.regs[i]
}

// Store writes the 32-bit register at an offset into the APIC's page. Reserved bits and read-only
// registers keep their values; stores to reserved registers set the error status.
func (l *lapic) Store(off uint64, v uint32) {
	i, ok := registerAt(off)
	if !ok {
		l.fail(errRegister)
		return
	}
	r := &registers[i]
	v = l.regs[i]&^r.writable | v&r.writable
	if r.store != nil {
		r.store(l, off, v)
		return
	}
	l.regs[i] = v
}

// fail collects an error and delivers the error interrupt.
func (l *lapic) fail(err uint32) {
	l.errs |= err
	lvt := *l.reg(regLVTError)
	if lvt&lvtMasked != 0 || l.deliveringErrors {
		return
	}
	l.deliveringErrors = true // an illegal vector in the error entry itself is one more error
	l.request(uint8(lvt))
	l.deliveringErrors = false
}

// raise tells the CPU when an interrupt can be delivered.
func (l *lapic) raise() {
	if l.cfg.Raise == nil {
		return
	}
	if l.Pending() {
		l.cfg.Raise()
	}
}

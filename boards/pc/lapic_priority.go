package pc

import "math/bits"

// vectorSet is a set of interrupt vectors, as wide as the APIC's 256-bit registers.
type vectorSet [4]uint64

func (s *vectorSet) add(v uint8)    { s[v/64] |= 1 << (v % 64) }
func (s *vectorSet) remove(v uint8) { s[v/64] &^= 1 << (v % 64) }

func (s *vectorSet) has(v uint8) bool { return s[v/64]>>(v%64)&1 != 0 }

// word returns one of the eight 32-bit registers, which lie 16 bytes apart.
func (s *vectorSet) word(off uint64) uint32 {
	return uint32(s[off/32] >> (32 * (off / 16 % 2)))
}

// highest is the vector with the highest priority; ok is false for the empty set.
func (s *vectorSet) highest() (v uint8, ok bool) {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] != 0 {
			return uint8(64*i + bits.Len64(s[i]) - 1), true
		}
	}
	return 0, false
}

// ppr is the processor priority: the higher class of the task's priority and the interrupt in
// service (10.8.3.1). The processor accepts interrupts of a higher class only.
func (l *lapic) ppr() uint8 {
	tpr := uint8(*l.reg(regTPR))
	if v, ok := l.isr.highest(); ok && v&0xf0 > tpr&0xf0 {
		return v & 0xf0
	}
	return tpr
}

// enabled reports whether software has enabled the APIC.
func (l *lapic) enabled() bool { return *l.reg(regSVR)&svrEnable != 0 }

// Pending implements cpus.Interrupts.
func (l *lapic) Pending() bool {
	_, ok := l.next()
	return ok
}

// next is the interrupt that the CPU would get now if it accepts interrupts.
func (l *lapic) next() (vector uint8, ok bool) {
	v, ok := l.irr.highest()
	if !ok || !l.enabled() || v&0xf0 <= l.ppr()&0xf0 {
		return 0, false
	}
	return v, true
}

// Acknowledge implements cpus.Interrupts: it takes the pending interrupt into service and returns its
// vector. Without one it returns the spurious vector, which is not in service (10.9).
func (l *lapic) Acknowledge() uint32 {
	v, ok := l.next()
	if !ok {
		return *l.reg(regSVR) & 0xff
	}
	l.irr.remove(v)
	l.isr.add(v)
	return uint32(v)
}

// extInt is the delivery mode of interrupts whose vector the 8259A has.
const extInt = 7

// virtualWire is how firmware leaves the APIC of the first CPU (MultiProcessor Specification 1.4, 3.6.2.2): enabled, with
// the 8259A's interrupts at LINT0 and non-maskable ones at LINT1.
func (l *lapic) virtualWire() {
	*l.reg(regSVR) |= svrEnable
	*l.reg(regLVTLINT0) = extInt << 8
	*l.reg(regLVTLINT1) = uint32(deliverNMI) << 8
}

// passesExternal reports whether LINT0 gives the CPU the interrupts of the 8259A.
func (l *lapic) passesExternal() bool {
	v := *l.reg(regLVTLINT0)
	return v&lvtMasked == 0 && v>>8&7 == extInt
}

// eoi ends the interrupt in service with the highest priority.
func (l *lapic) eoi() {
	v, ok := l.isr.highest()
	if !ok {
		return
	}
	l.isr.remove(v)
	if l.tmr.has(v) && l.cfg.Ended != nil {
		l.cfg.Ended(v)
	}
	l.raise()
}

// request makes an edge-triggered interrupt pending.
func (l *lapic) request(vector uint8) { l.requestBy(vector, false) }

// requestBy makes an interrupt pending that was triggered by level or by an edge.
func (l *lapic) requestBy(vector uint8, level bool) {
	if vector < firstUserVector {
		l.fail(errVector)
		return
	}
	if !l.enabled() {
		return
	}
	l.irr.add(vector)
	if l.tmr.remove(vector); level {
		l.tmr.add(vector)
	}
	l.raise()
}

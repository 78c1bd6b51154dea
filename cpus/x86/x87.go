package x86

import (
	"kprobesim/cpus/float"
)

// Bits of the control and status words (SDM vol. 1, 8.1.3 and 8.1.5). Exceptions have the numbers of package float.
const (
	fswStackFault = 1 << 6
	fswSummary    = 1<<7 | 1<<15
	fswC0         = 1 << 8
	fswC1         = 1 << 9
	fswC2         = 1 << 10
	fswC3         = 1 << 14
	fswTop        = 11
	fswOrder      = fswC0 | fswC2 | fswC3
	fcwPrecision  = 8
	fcwRound      = 10
	x87Exceptions = 0x3f
)

// word is the status with the bits that sum it up: an exception waits to be delivered. They follow from the others.
func (f *fpu) word() uint16 {
	if f.pending() {
		return f.status | fswSummary
	}
	return f.status
}

func (f *fpu) pending() bool { return f.status&^f.control&x87Exceptions != 0 }

// x87Waits is x87Ready for an instruction that delivers the exception of one before it (SDM vol. 1, 8.6).
func (c *CPU) x87Waits() bool {
	if !c.x87Ready() {
		return false
	}
	if c.fpu.pending() {
		c.raise(vecMF)
		return false
	}
	return true
}

// top is the physical number of the register at the top of the stack.
func (f *fpu) top() uint16 { return f.status >> fswTop & 7 }

func (f *fpu) setTop(n uint16) { f.status = f.status&^(7<<fswTop) | n&7<<fswTop }

// tag is the bit of register i of the stack among the tags.
func (f *fpu) tag(i uint8) uint8 { return 1 << ((f.top() + uint16(i)) & 7) }

func (f *fpu) filled(i uint8) bool { return f.tags&f.tag(i) != 0 }

// rotate moves the stack by one register: up for a pop. Registers are kept in its order.
func (f *fpu) rotate(up bool) {
	if up {
		first := f.st[0]
		copy(f.st[:7], f.st[1:])
		f.st[7] = first
		f.setTop(f.top() + 1)
		return
	}
	last := f.st[7]
	copy(f.st[1:], f.st[:7])
	f.st[0] = last
	f.setTop(f.top() - 1)
}

// pop empties registers at the top.
func (f *fpu) pop(n int) {
	for range n {
		f.tags &^= f.tag(0)
		f.rotate(true)
	}
}

// push makes room for a value, unless that is a stack fault that is delivered. One that is masked pushes the indefinite.
func (f *fpu) push(v vec) {
	f.status &^= fswC1
	if f.filled(7) {
		if !f.stackFault(true) {
			return
		}
		v = indefinite
	}
	f.rotate(false)
	f.setRaw(0, v)
}

func (f *fpu) setRaw(i uint8, v vec) {
	f.st[i] = v
	f.tags |= f.tag(i)
}

func (f *fpu) set(i uint8, n float.Number) { f.setRaw(i, packed(n)) }

// packed and get are numbers as registers have them.
func packed(n float.Number) vec {
	sig, head := float.PackExtended(n)
	return vec{sig, uint64(head)}
}

func (f *fpu) get(i uint8) float.Number { return float.UnpackExtended(f.st[i][0], uint16(f.st[i][1])) }

// indefinite is the answer to an invalid operation.
var indefinite = vec{3 << 62, 0xffff}

// stackFault notes an empty operand, or a full stack; true says that it is masked.
func (f *fpu) stackFault(full bool) (masked bool) {
	f.status = f.status&^fswC1 | fswStackFault | uint16(float.Invalid)
	if full {
		f.status |= fswC1
	}
	return f.control&uint16(float.Invalid) != 0
}

// context is how the control word has operations round and answer.
func (f *fpu) context() float.Context {
	return float.Context{
		Round: float.Rounding(f.control >> fcwRound & 3), Deliver: ^float.Flags(f.control) & x87Exceptions,
		Propagate: largerNaN, Default: float.DefaultNaN(true),
	}
}

// precision is the format that arithmetic rounds to (SDM vol. 1, table 8-2), in the range of registers.
func (f *fpu) precision() float.Format {
	bits := [4]int{float.Single.Precision, float.Extended.Precision, float.Double.Precision, float.Extended.Precision}
	return float.Format{Precision: bits[f.control>>fcwPrecision&3], Exponent: float.Extended.Exponent}
}

// largerNaN chooses as x87 does (SDM vol. 1, table 4-7).
func largerNaN(a, b float.Number) float.Number {
	switch {
	case !b.NaN(), a.Kind == float.Quiet && b.Kind == float.Signalling:
		return a
	case !a.NaN(), b.Kind == float.Quiet && a.Kind == float.Signalling, a.Sig < b.Sig, a.Sig == b.Sig && a.Neg:
		return b
	}
	return a
}

// raised notes the exceptions of an operation; false says that it has no result, since one of its operands is delivered.
func (f *fpu) raised(x *float.Context) bool {
	f.status &^= fswC1
	if x.Raised&beforeComputing&x.Deliver != 0 {
		f.status |= uint16(x.Raised & beforeComputing)
		return false
	}
	if f.status |= uint16(x.Raised); x.Away && x.Raised&float.Inexact != 0 {
		f.status |= fswC1
	}
	return true
}

// compute sets register i to its value and another through op; false says that an exception left everything as it was.
func (f *fpu) compute(op operation, i uint8, y float.Number, filled bool) bool {
	if !filled || !f.filled(i) {
		if !f.stackFault(false) {
			return false
		}
		f.setRaw(i, indefinite)
		return true
	}
	x := f.context()
	r := op(&x, f.precision(), f.get(i), y)
	if !f.raised(&x) {
		return false
	}
	f.set(i, r)
	return true
}

// compare compares the top with y and returns the flags of the order. ok is false when an exception is delivered, which keeps
// processors from a pop alone.
func (f *fpu) compare(y float.Number, filled, signals bool) (flags uint64, ok bool) {
	if !filled || !f.filled(0) {
		return flagsOfOrder[float.Unordered], f.stackFault(false)
	}
	x := f.context()
	order := x.Compare(f.get(0), y, signals)
	f.status |= uint16(x.Raised)
	return flagsOfOrder[order], x.Raised&x.Deliver == 0
}

// setOrder puts flags of an order into the status: ZF, PF and CF are C3, C2 and C0.
func (f *fpu) setOrder(flags uint64) {
	f.status = f.status&^(fswOrder|fswC1) | uint16(flags)<<8&fswOrder
}

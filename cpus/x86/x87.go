package x86

import (
	"math"
	"math/big"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
)

// The arithmetic of x87 that kernels try a processor with when they start: loads, sums, products, quotients and
// the store of an integer, in double extended precision, rounded to nearest (SDM vol. 1, 4.2.2 and 8.3). Operands are
// zero or normal. Everything else of x87 is refused by name, as is any operation whose result is neither
// or whose exception is not masked. No instruction is timed apart from control instructions.

// Bits of the control and status words (SDM vol. 1, 8.1.3 and 8.1.5).
const (
	fcwNearest  = 0xf20 // masks: extended precision, nearest, precision exceptions masked
	fcwWanted   = 0x320
	fswInexact  = 1 << 5
	fswRoundUp  = 1 << 9
	fswTop      = 11
	x87Bias     = 16383
	x87ExpMask  = 0x7fff
	x87SignBit  = 0x8000
	x87Mantissa = 64
)

// top is the physical number of the register at the top of the stack.
func (f *fpu) top() uint16 { return f.status >> fswTop & 7 }

// full and filled tell whether the next push has no room, and whether register i has a value.
func (f *fpu) full() bool           { return f.filled(7) }
func (f *fpu) filled(i uint16) bool { return f.tags>>((f.top()+i)&7)&1 != 0 }

// push and pop move the stack. Registers are kept in its order.
func (f *fpu) push(v vec) {
	copy(f.st[1:], f.st[:7])
	f.st[0] = v
	f.setTop(f.top() - 1)
	f.tags |= 1 << f.top()
	f.status &^= fswRoundUp
}

func (f *fpu) pop() {
	first := f.st[0]
	copy(f.st[:7], f.st[1:])
	f.st[7] = first
	f.tags &^= 1 << f.top()
	f.setTop(f.top() + 1)
}

func (f *fpu) setTop(n uint16) { f.status = f.status&^(7<<fswTop) | n&7<<fswTop }

// unpackX87 gives the value of a register; ok is false for what is neither zero nor normal.
func unpackX87(v vec) (x *big.Float, ok bool) {
	exp := int(v[1] & x87ExpMask)
	x = new(big.Float).SetPrec(x87Mantissa)
	switch {
	case v[0] == 0 && exp == 0:
	case v[0]>>63 == 0 || exp == 0 || exp == x87ExpMask:
		return nil, false
	default:
		x.SetMantExp(x.SetUint64(v[0]), exp-x87Bias-(x87Mantissa-1))
	}
	if v[1]&x87SignBit != 0 {
		x.Neg(x)
	}
	return x, true
}

// packX87 is its inverse.
func packX87(x *big.Float) (v vec, ok bool) {
	if x.Signbit() {
		v[1] = x87SignBit
	}
	if x.Sign() == 0 {
		return v, !x.IsInf()
	}
	exp := x.MantExp(nil) - 1 + x87Bias
	if x.IsInf() || exp <= 0 || exp >= x87ExpMask {
		return v, false
	}
	m, _ := new(big.Float).SetMantExp(new(big.Float).Abs(x), x87Mantissa-x.MantExp(nil)).Uint64()
	return vec{m, v[1] | uint64(exp)}, true
}

// note sets what the status says of a rounding.
func (f *fpu) note(acc big.Accuracy, negative bool) {
	f.status &^= fswRoundUp
	if acc == big.Exact {
		return
	}
	f.status |= fswInexact
	if acc == big.Above != negative {
		f.status |= fswRoundUp
	}
}

// float reads an operand of 4 or 8 bytes in memory; ok is false when an exception is pending, and x is nil for a
// value that is refused.
func (c *CPU) float(at uint64, n int) (x *big.Float, ok bool) {
	var v float64
	if n == 4 {
		b, ok := load[uint32](c, at)
		if !ok {
			return nil, false
		}
		v = float64(math.Float32frombits(b))
	} else {
		b, ok := load[uint64](c, at)
		if !ok {
			return nil, false
		}
		v = math.Float64frombits(b)
	}
	if math.IsNaN(v) || math.IsInf(v, 0) || v != 0 && math.Abs(v) < 0x1p-126 {
		return nil, true
	}
	return new(big.Float).SetPrec(x87Mantissa).SetFloat64(v), true
}

// integer reads one of 2, 4 or 8 bytes.
func (c *CPU) integer(at uint64, n int) (x *big.Float, ok bool) {
	var v int64
	switch n {
	case 2:
		b, ok := load[uint16](c, at)
		if !ok {
			return nil, false
		}
		v = int64(int16(b))
	case 4:
		b, ok := load[uint32](c, at)
		if !ok {
			return nil, false
		}
		v = int64(int32(b))
	default:
		b, ok := load[uint64](c, at)
		if !ok {
			return nil, false
		}
		v = int64(b)
	}
	return new(big.Float).SetPrec(x87Mantissa).SetInt64(v), true
}

// x87Computes is x87Ready for arithmetic: in other than the wanted modes it is refused.
func (c *CPU) x87Computes(in *inst) bool {
	if !c.x87Ready() {
		return false
	}
	if c.fpu.control&fcwNearest != fcwWanted {
		execUndefined(c, in)
		return false
	}
	return true
}

// x87Load binds fld and fild of an operand in memory.
func x87Load(read func(c *CPU, at uint64, n int) (*big.Float, bool)) row {
	return row{class: clX87Control, flags: engine.Loads | engine.Ends, bind: func(d *decoder, _ *row) bool {
		m, ok := d.x.Args[0].(x86asm.Mem)
		n := d.x.MemBytes
		if !ok || n == 0 || !d.memory(m) {
			return false
		}
		d.exec = func(c *CPU, in *inst) {
			if !c.x87Computes(in) {
				return
			}
			x, ok := read(c, c.ea(in), n)
			if !ok {
				return
			}
			if x == nil || c.fpu.full() {
				execUndefined(c, in)
				return
			}
			v, _ := packX87(x) // of a number that came from fewer bits
			c.fpu.push(v)
		}
		return true
	}}
}

// bigOperation computes z = x op y.
type bigOperation func(z, x, y *big.Float) *big.Float

// reversed exchanges the operands.
func reversed(f bigOperation) bigOperation {
	return func(z, x, y *big.Float) *big.Float { return f(z, y, x) }
}

// quotient has no value for a division by zero: an infinity or none.
func quotient(z, x, y *big.Float) *big.Float {
	if y.Sign() == 0 {
		return z.SetInf(false)
	}
	return z.Quo(x, y)
}

// x87Arithmetic binds an operation of the first register with memory, or of two registers of which one is the first.
func x87Arithmetic(f bigOperation, pops bool) row {
	return row{class: clX87Control, flags: engine.Ends, bind: func(d *decoder, _ *row) bool {
		if m, ok := d.x.Args[0].(x86asm.Mem); ok {
			n := d.x.MemBytes
			d.op.Flags |= engine.Loads
			d.exec = func(c *CPU, in *inst) {
				if !c.x87Computes(in) {
					return
				}
				if y, ok := c.float(c.ea(in), n); ok && !c.fpu.compute(f, 0, y) {
					execUndefined(c, in)
				}
			}
			return d.memory(m)
		}
		dst, src, ok := stackPair(d)
		d.exec = func(c *CPU, in *inst) {
			if !c.x87Computes(in) {
				return
			}
			y, ok := unpackX87(c.fpu.st[src])
			if !ok || !c.fpu.filled(uint16(src)) || !c.fpu.compute(f, dst, y) {
				execUndefined(c, in)
				return
			}
			if pops {
				c.fpu.pop()
			}
		}
		return ok
	}}
}

// stackPair gives the numbers of the two registers of the stack that are operands.
func stackPair(d *decoder) (dst, src uint8, ok bool) {
	a, okA := d.x.Args[0].(x86asm.Reg)
	b, okB := d.x.Args[1].(x86asm.Reg)
	ok = okA && okB && a >= x86asm.F0 && a <= x86asm.F7 && b >= x86asm.F0 && b <= x86asm.F7
	return uint8(a-x86asm.F0) & 7, uint8(b-x86asm.F0) & 7, ok
}

// compute sets register i to its value and y through f; false leaves everything as it was.
func (f *fpu) compute(op bigOperation, i uint8, y *big.Float) bool {
	x, ok := unpackX87(f.st[i])
	if !ok || y == nil || !f.filled(uint16(i)) {
		return false
	}
	z := op(new(big.Float).SetPrec(x87Mantissa), x, y)
	v, ok := packX87(z)
	if !ok {
		return false
	}
	f.st[i] = v
	f.note(z.Acc(), z.Signbit())
	return true
}

// x87StoreInteger binds fist and fistp: rounded to nearest, even at half.
func x87StoreInteger(pops bool) row {
	return row{class: clX87Control, flags: engine.Stores | engine.Ends, bind: func(d *decoder, _ *row) bool {
		m, ok := d.x.Args[0].(x86asm.Mem)
		n := d.x.MemBytes
		d.exec = func(c *CPU, in *inst) {
			if !c.x87Computes(in) {
				return
			}
			x, ok := unpackX87(c.fpu.st[0])
			if !ok || !c.fpu.filled(0) {
				execUndefined(c, in)
				return
			}
			v, acc := nearest(x)
			if !v.IsInt64() || v.Int64() != v.Int64()<<(64-8*n)>>(64-8*n) {
				execUndefined(c, in)
				return
			}
			if !c.storeInteger(c.ea(in), n, v.Int64()) {
				return
			}
			c.fpu.note(acc, x.Signbit())
			if pops {
				c.fpu.pop()
			}
		}
		return ok && n != 0 && d.memory(m)
	}}
}

func (c *CPU) storeInteger(at uint64, n int, v int64) bool {
	switch n {
	case 2:
		return store(c, at, uint16(v))
	case 4:
		return store(c, at, uint32(v))
	}
	return store(c, at, uint64(v))
}

// nearest rounds to an integer, and says on which side of x it is.
func nearest(x *big.Float) (v *big.Int, acc big.Accuracy) {
	bits := uint(max(x.MantExp(nil), 0))
	if x.Sign() == 0 || bits >= x87Mantissa {
		v, _ = x.Int(nil)
		return v, big.Exact
	}
	half := big.NewFloat(0.5)
	down, acc := x.Int(nil) // towards zero
	if acc == big.Exact {
		return down, acc
	}
	part := new(big.Float).SetPrec(x87Mantissa).Sub(x, new(big.Float).SetInt(down))
	switch cmp := part.Abs(part).Cmp(half); {
	case cmp < 0, cmp == 0 && down.Bit(0) == 0:
		return down, acc
	}
	return down.Add(down, big.NewInt(int64(1-2*int(boolBit(x.Signbit()))))), -acc
}

// floatingNumbers lists the rows of SDM vol. 1, 5.2.1 to 5.2.3, that are modelled.
var floatingNumbers = map[x86asm.Op]row{
	x86asm.FLD:  x87Load((*CPU).float),
	x86asm.FILD: x87Load((*CPU).integer),

	x86asm.FADD: x87Arithmetic((*big.Float).Add, false), x86asm.FADDP: x87Arithmetic((*big.Float).Add, true),
	x86asm.FSUB: x87Arithmetic((*big.Float).Sub, false), x86asm.FSUBP: x87Arithmetic((*big.Float).Sub, true),
	x86asm.FMUL: x87Arithmetic((*big.Float).Mul, false), x86asm.FMULP: x87Arithmetic((*big.Float).Mul, true),
	x86asm.FDIV: x87Arithmetic(quotient, false), x86asm.FDIVP: x87Arithmetic(quotient, true),
	x86asm.FSUBR: x87Arithmetic(reversed((*big.Float).Sub), false), x86asm.FSUBRP: x87Arithmetic(reversed((*big.Float).Sub), true),
	x86asm.FDIVR: x87Arithmetic(reversed(quotient), false), x86asm.FDIVRP: x87Arithmetic(reversed(quotient), true),

	x86asm.FIST: x87StoreInteger(false), x86asm.FISTP: x87StoreInteger(true),
}

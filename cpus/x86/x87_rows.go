package x86

import (
	"cmp"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
	"kprobesim/cpus/float"
)

// The x87 unit (SDM vol. 1, 8): every format of numbers, precision control, and exceptions, which are delivered in front
// of the next instruction that waits. The pointers to the last instruction and operand hold only what fldenv, frstor
// or fxrstor brought. Instructions are priced alike, but for the functions of SDM vol. 1, 5.2.4.

// x87Form makes the row of an instruction that waits. bind gives its function.
func x87Form(bind func(d *decoder, r *row) (f func(c *CPU, in *inst), ok bool)) row {
	return row{class: clX87Control, flags: engine.Ends, ready: (*CPU).x87Waits, bind: func(d *decoder, r *row) (ok bool) {
		d.exec, ok = bind(d, r)
		return ok
	}}
}

// x87Plain makes the row of one without operands.
func x87Plain(f func(*CPU)) row {
	return x87Form(func(*decoder, *row) (func(*CPU, *inst), bool) { return func(c *CPU, _ *inst) { f(c) }, true })
}

// x87Format is an encoding of numbers in memory, by their bytes.
type x87Format uint8

const (
	asFloat x87Format = iota
	asInteger
	asDecimal
)

// source binds an operand: a register of the stack or memory. filled is false for an empty register, and ok when a load
// left a fault.
func (d *decoder) x87Source(a x86asm.Arg, e x87Format) (get func(c *CPU, in *inst) (n float.Number, filled, ok bool), ok bool) {
	if i, ok := stackRegister(a); ok {
		return func(c *CPU, _ *inst) (float.Number, bool, bool) { return c.fpu.get(i), c.fpu.filled(i), true }, true
	}
	m, ok := a.(x86asm.Mem)
	size := d.x87Size()
	d.op.Flags |= engine.Loads
	return func(c *CPU, in *inst) (float.Number, bool, bool) {
		b, ok := c.loadBytes(c.ea(in), size)
		return decodeX87(b, size, e), true, ok
	}, ok && d.memory(m)
}

// x87Size is the size of a memory operand. The decoder leaves out that of ten bytes.
func (d *decoder) x87Size() int {
	d.x.MemBytes = cmp.Or(d.x.MemBytes, 10)
	return d.x.MemBytes
}

// stackRegister is the number of a register of the stack.
func stackRegister(a x86asm.Arg) (i uint8, ok bool) {
	r, ok := a.(x86asm.Reg)
	return uint8(r-x86asm.F0) & 7, ok && r >= x86asm.F0 && r <= x86asm.F7
}

// decodeX87 makes a number of bytes. Every integer has an exact one.
func decodeX87(b vec, size int, e x87Format) float.Number {
	var exact float.Context
	switch {
	case e == asInteger:
		return exact.FromInt(float.Extended, sext(b[0], uint(8*size)))
	case e == asDecimal:
		return exact.FromWide(float.Extended, b[1]>>15 != 0, 63, fromDecimal(b), 0)
	case size == 10:
		return float.UnpackExtended(b[0], uint16(b[1]))
	}
	return formatOf(uint(8 * size)).Unpack(b[0])
}

// decimalDigits is how many digits a decimal number has.
const decimalDigits = 18

func fromDecimal(b vec) (v uint64) {
	for i := decimalDigits - 1; i >= 0; i-- {
		v = 10*v + b.lane(i, 4)
	}
	return v
}

func toDecimal(v uint64, neg bool) (b vec) {
	for i := range decimalDigits {
		b = b.with(i, 4, v%10)
		v /= 10
	}
	b[1] |= boolBit(neg) << 15
	return b
}

// x87Arithmetic binds an operation of a register with another one or with memory.
func x87Arithmetic(op operation, e x87Format, pops int) row {
	return x87Form(func(d *decoder, _ *row) (func(*CPU, *inst), bool) {
		dst, source := uint8(0), d.x.Args[0]
		if d.x.Args[1] != nil {
			dst, _ = stackRegister(d.x.Args[0])
			source = d.x.Args[1]
		}
		get, ok := d.x87Source(source, e)
		return func(c *CPU, in *inst) {
			if y, filled, ok := get(c, in); ok && c.fpu.compute(op, dst, y, filled) {
				c.fpu.pop(pops)
			}
		}, ok
	})
}

// x87Compare binds a comparison of the top with an operand, by default the second register. toFlags sets EFLAGS, and else
// the condition codes are set.
func x87Compare(e x87Format, signals, toFlags bool, pops int) row {
	return x87Form(func(d *decoder, r *row) (func(*CPU, *inst), bool) {
		source := x86asm.Arg(x86asm.F1)
		switch {
		case toFlags:
			source, r.io = d.x.Args[1], ioSetFlag|ioNoWrite
		case d.x.Args[0] != nil:
			source = d.x.Args[0]
		}
		get, ok := d.x87Source(source, e)
		return func(c *CPU, in *inst) {
			y, filled, ok := get(c, in)
			if !ok {
				return
			}
			flags, ok := c.fpu.compare(y, filled, signals)
			if toFlags {
				c.setArith(flags)
			} else {
				c.fpu.setOrder(flags)
			}
			if ok {
				c.fpu.pop(pops)
			}
		}, ok
	})
}

// x87Load binds fld, fild and fbld. They convert numbers of shorter formats, and copy numbers of 80 bits.
func x87Load(e x87Format) row {
	return x87Form(func(d *decoder, _ *row) (func(*CPU, *inst), bool) {
		if i, ok := stackRegister(d.x.Args[0]); ok {
			return func(c *CPU, _ *inst) {
				v := c.fpu.st[i]
				if !c.fpu.filled(i) {
					if !c.fpu.stackFault(false) {
						return
					}
					v = indefinite
				}
				empty := !c.fpu.filled(i)
				if c.fpu.push(v); empty {
					c.fpu.status &^= fswC1
				}
			}, true
		}
		size := d.x87Size()
		m, ok := d.x.Args[0].(x86asm.Mem)
		d.op.Flags |= engine.Loads
		return func(c *CPU, in *inst) {
			b, ok := c.loadBytes(c.ea(in), size)
			if !ok {
				return
			}
			if e == asFloat && size == 10 {
				c.fpu.push(vec{b[0], b[1] & 0xffff})
				return
			}
			x := c.fpu.context()
			n := decodeX87(b, size, e)
			if c.fpu.filled(7) {
				c.fpu.push(indefinite)
				return
			}
			x.Deliver &^= float.Denormal // the number is loaded all the same
			if n = x.Convert(float.Extended, n); c.fpu.raised(&x) {
				c.fpu.push(packed(n))
			}
		}, ok && d.memory(m)
	})
}

// x87Store binds fst, fist, fbstp and their forms that pop. A result that overflows or underflows in memory is not stored where
// that is delivered.
func x87Store(e x87Format, truncates bool, pops int) row {
	return x87Form(func(d *decoder, _ *row) (func(*CPU, *inst), bool) {
		if i, ok := stackRegister(d.x.Args[0]); ok {
			return func(c *CPU, _ *inst) {
				v := c.fpu.st[0]
				if c.fpu.status &^= fswC1; !c.fpu.filled(0) {
					if !c.fpu.stackFault(false) {
						return
					}
					v = indefinite
				}
				c.fpu.setRaw(i, v)
				c.fpu.pop(pops)
			}, true
		}
		size := d.x87Size()
		m, ok := d.x.Args[0].(x86asm.Mem)
		d.op.Flags |= engine.Stores
		return func(c *CPU, in *inst) { c.storeX87(c.ea(in), size, e, truncates, pops) }, ok && d.memory(m)
	})
}

// storeX87 stores the top of the stack. What the access raises comes before what the number does, as on processors, and leaves
// all as it was.
func (c *CPU) storeX87(at uint64, size int, e x87Format, truncates bool, pops int) {
	if !c.writable(at, size) {
		return
	}
	f := &c.fpu
	x := f.context()
	n, before := f.get(0), f.status
	if !f.filled(0) {
		if !f.stackFault(false) {
			return
		}
		n, x = float.DefaultNaN(true), float.Context{Propagate: largerNaN, Default: float.DefaultNaN(true)}
	}
	if truncates {
		x.Round = float.TowardZero
	}
	b := encodeX87(&x, n, size, e)
	if size == 10 && e == asFloat && f.filled(0) {
		b = f.st[0] // whatever it is
	}
	if x.Raised&x.Deliver&^float.Inexact != 0 {
		x.Raised, x.Away = x.Raised&^float.Inexact, false
		f.raised(&x)
		return
	}
	if !c.storeBytes(at, b, size) {
		f.status = before
		return
	}
	if f.filled(0) {
		f.raised(&x)
	}
	f.pop(pops)
}

// encodeX87 makes the bytes of a number. What has no integer is the most negative, and in decimal a pattern of its own
// (SDM vol. 1, 4.8.3.7 and table 4-4).
func encodeX87(x *float.Context, n float.Number, size int, e x87Format) vec {
	switch {
	case e == asInteger:
		v, ok := x.ToInt(n, 8*size, x.Round)
		if !ok {
			v = -1 << (8*size - 1)
		}
		return vec{uint64(v)}
	case e == asDecimal:
		const limit = 1_000_000_000_000_000_000
		before := x.Raised
		v, ok := x.ToInt(n, 64, x.Round)
		if !ok || v >= limit || v <= -limit {
			x.Raised, x.Away = before|float.Invalid, false
			return vec{0xc000_0000_0000_0000, 0xffff}
		}
		return toDecimal(uint64(max(v, -v)), n.Neg)
	case size == 10:
		return packed(n)
	}
	n.Denormal = false // is not noted
	f := formatOf(uint(8 * size))
	return vec{f.Pack(x.Convert(f, n))}
}

// conditionalMoves have the conditions of cmov that x87 has, in the encoding's order (SDM vol. 2, FCMOVcc).
var conditionalMoves = map[x86asm.Op]uint8{
	x86asm.FCMOVB: condB, x86asm.FCMOVE: condE, x86asm.FCMOVBE: condBE, x86asm.FCMOVU: condP,
	x86asm.FCMOVNB: condAE, x86asm.FCMOVNE: condNE, x86asm.FCMOVNBE: condA, x86asm.FCMOVNU: condNP,
}

func x87Move(cond uint8) row {
	return x87Form(func(d *decoder, r *row) (func(*CPU, *inst), bool) {
		i, ok := stackRegister(d.x.Args[1])
		r.io = flagsOf(cond)
		return func(c *CPU, _ *inst) {
			f := &c.fpu
			switch {
			case !f.filled(0) || !f.filled(i):
				if f.stackFault(false) {
					f.setRaw(0, indefinite)
				}
			case c.condition(cond):
				f.st[0] = f.st[i]
			}
		}, ok
	})
}

// x87Register makes the row of an instruction on one register of the stack.
func x87Register(f func(f *fpu, i uint8)) row {
	return x87Form(func(d *decoder, _ *row) (func(*CPU, *inst), bool) {
		i, ok := stackRegister(d.x.Args[0])
		return func(c *CPU, _ *inst) { f(&c.fpu, i) }, ok
	})
}

// fxch exchanges. An empty register is filled with the indefinite before, where that is masked.
func fxch(f *fpu, i uint8) {
	f.status &^= fswC1
	for _, j := range []uint8{0, i} {
		if !f.filled(j) {
			if !f.stackFault(false) {
				return
			}
		}
	}
	for _, j := range []uint8{0, i} {
		if !f.filled(j) {
			f.setRaw(j, indefinite)
		}
	}
	f.st[0], f.st[i] = f.st[i], f.st[0]
}

func ffree(f *fpu, i uint8) {
	f.status &^= fswC1
	f.tags &^= f.tag(i)
}

// x87Rows are SDM vol. 1, 5.2, but for control.
func x87Rows() map[x86asm.Op]row {
	rows := map[x86asm.Op]row{
		x86asm.FLD: x87Load(asFloat), x86asm.FILD: x87Load(asInteger), x86asm.FBLD: x87Load(asDecimal),
		x86asm.FST: x87Store(asFloat, false, 0), x86asm.FSTP: x87Store(asFloat, false, 1),
		x86asm.FIST: x87Store(asInteger, false, 0), x86asm.FISTP: x87Store(asInteger, false, 1),
		x86asm.FISTTP: x87Store(asInteger, true, 1), x86asm.FBSTP: x87Store(asDecimal, false, 1),

		x86asm.FCOM: x87Compare(asFloat, true, false, 0), x86asm.FCOMP: x87Compare(asFloat, true, false, 1), x86asm.FCOMPP: x87Compare(asFloat, true, false, 2),
		x86asm.FICOM: x87Compare(asInteger, true, false, 0), x86asm.FICOMP: x87Compare(asInteger, true, false, 1),
		x86asm.FUCOM: x87Compare(asFloat, false, false, 0), x86asm.FUCOMP: x87Compare(asFloat, false, false, 1), x86asm.FUCOMPP: x87Compare(asFloat, false, false, 2),
		x86asm.FCOMI: x87Compare(asFloat, true, true, 0), x86asm.FCOMIP: x87Compare(asFloat, true, true, 1),
		x86asm.FUCOMI: x87Compare(asFloat, false, true, 0), x86asm.FUCOMIP: x87Compare(asFloat, false, true, 1),

		x86asm.FXCH: x87Register(fxch), x86asm.FFREE: x87Register(ffree),
		x86asm.FFREEP: x87Register(func(f *fpu, i uint8) { ffree(f, i); f.pop(1) }),

		x86asm.FLD1: x87Plain(constant(0, 1<<63, 0)), x86asm.FLDZ: x87Plain(constant(0, 0, 0)),
		x86asm.FLDPI:  x87Plain(constant(1, 0xc90fdaa22168c234, 0xc4c6628b80dc1cd1)),
		x86asm.FLDL2T: x87Plain(constant(1, 0xd49a784bcd1b8afe, 0x492bf6ff4dafdb4c)),
		x86asm.FLDL2E: x87Plain(constant(0, 0xb8aa3b295c17f0bb, 0xbe87fed0691d3e88)),
		x86asm.FLDLG2: x87Plain(constant(-2, 0x9a209a84fbcff798, 0x8f8959ac0b7c9178)),
		x86asm.FLDLN2: x87Plain(constant(-1, 0xb17217f7d1cf79ab, 0xc9e3b39803f2f6af)),

		x86asm.FCHS: x87Plain(onSign(func(head uint64) uint64 { return head ^ 1<<15 })),
		x86asm.FABS: x87Plain(onSign(func(head uint64) uint64 { return head &^ (1 << 15) })),
		x86asm.FXAM: x87Plain(fxam), x86asm.FTST: x87Plain(ftst), x86asm.FNOP: x87Plain(func(*CPU) {}),
		x86asm.FINCSTP: x87Plain(turn(true)), x86asm.FDECSTP: x87Plain(turn(false)),

		x86asm.FSQRT: x87Plain(onTop((*float.Context).Sqrt)), x86asm.FXTRACT: x87Plain(fxtract),
		x86asm.FRNDINT: x87Plain(onTop(func(x *float.Context, _ float.Format, a float.Number) float.Number { return x.Rint(a) })),
		x86asm.FSCALE: x87Plain(withSecond(func(x *float.Context, _ float.Format, a, b float.Number) float.Number {
			return x.Scale(float.Extended, a, b)
		})),
		x86asm.FPREM: x87Plain(remainderOf(false)), x86asm.FPREM1: x87Plain(remainderOf(true)),

		x86asm.FSIN: x87Plain(ofAngle((*float.Context).Sin)), x86asm.FCOS: x87Plain(ofAngle((*float.Context).Cos)),
		x86asm.FSINCOS: x87Plain(ofAngle((*float.Context).Cos, (*float.Context).Sin)),
		x86asm.FPTAN:   x87Plain(ofAngle((*float.Context).One, (*float.Context).Tan)),
		x86asm.FPATAN:  x87Plain(intoSecond((*float.Context).Atan2)),
		x86asm.F2XM1: x87Plain(onTop(func(x *float.Context, _ float.Format, a float.Number) float.Number {
			return x.Exp2m1(float.Extended, a)
		})),
		x86asm.FYL2X:   x87Plain(intoSecond((*float.Context).Log2)),
		x86asm.FYL2XP1: x87Plain(intoSecond((*float.Context).Log2p1)),
	}
	for _, x := range []struct {
		plain, pop, integer x86asm.Op
		f                   operation
	}{
		{x86asm.FADD, x86asm.FADDP, x86asm.FIADD, (*float.Context).Add},
		{x86asm.FMUL, x86asm.FMULP, x86asm.FIMUL, (*float.Context).Mul},
		{x86asm.FSUB, x86asm.FSUBP, x86asm.FISUB, (*float.Context).Sub},
		{x86asm.FSUBR, x86asm.FSUBRP, x86asm.FISUBR, reversed((*float.Context).Sub)},
		{x86asm.FDIV, x86asm.FDIVP, x86asm.FIDIV, (*float.Context).Div},
		{x86asm.FDIVR, x86asm.FDIVRP, x86asm.FIDIVR, reversed((*float.Context).Div)},
	} {
		rows[x.plain], rows[x.pop] = x87Arithmetic(x.f, asFloat, 0), x87Arithmetic(x.f, asFloat, 1)
		rows[x.integer] = x87Arithmetic(x.f, asInteger, 0)
	}
	for op, cond := range conditionalMoves {
		rows[op] = x87Move(cond)
	}
	return rows
}

// reversed exchanges the operands.
func reversed(f operation) operation {
	return func(x *float.Context, to float.Format, a, b float.Number) float.Number { return f(x, to, b, a) }
}

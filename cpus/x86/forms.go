package x86

import "kprobesim/cpus/engine"

// The forms of instructions that compute, made of their operations. The letter in a form's name says where
// its operands are: R has a register as destination and a register or an immediate as source, L a register
// and a source in memory, M a destination in memory. 8 and 16 bits keep the rest of a register, 32 bits
// clear its upper half (SDM vol. 1, 3.4.1.1), which put does.
//
// An operation is a call from its form. Host code executes the frequent ones, so the call costs nothing
// that a user waits for.

// binaryOp is an operation on two operands, for each operand size. It returns the result and sets the flags.
type binaryOp struct {
	b func(*CPU, uint8, uint8) uint8
	w func(*CPU, uint16, uint16) uint16
	d func(*CPU, uint32, uint32) uint32
	q func(*CPU, uint64, uint64) uint64
}

// binaryR is a form of op. With keep the result is thrown away.
func binaryR[T width](op func(c *CPU, a, b T) T, keep bool) exec {
	if op == nil {
		return nil
	}
	return func(c *CPU, in *inst) {
		if r := op(c, get[T](c, in.dst), src[T](c, in)); !keep {
			put(c, in.dst, r)
		}
	}
}

// binaryL leaves register and flags as they were when the load faults: the instruction is executed again
// when the handler returns.
func binaryL[T width](op func(c *CPU, a, b T) T, keep bool) exec {
	if op == nil {
		return nil
	}
	return func(c *CPU, in *inst) {
		if b, ok := load[T](c, c.ea(in)); ok {
			if r := op(c, get[T](c, in.dst), b); !keep {
				put(c, in.dst, r)
			}
		}
	}
}

// binaryM changes flags only after the store is known to succeed: rmw has checked the right to write.
func binaryM[T width](op func(c *CPU, a, b T) T, keep bool) exec {
	if keep {
		return func(c *CPU, in *inst) {
			if a, ok := load[T](c, c.ea(in)); ok {
				op(c, a, src[T](c, in))
			}
		}
	}
	return func(c *CPU, in *inst) {
		va := c.ea(in)
		if a, ok := rmw[T](c, va); ok {
			store(c, va, op(c, a, src[T](c, in)))
		}
	}
}

func (o binaryOp) reg(keep bool) byWidth {
	return byWidth{binaryR(o.b, keep), binaryR(o.w, keep), binaryR(o.d, keep), binaryR(o.q, keep)}
}

func (o binaryOp) load(keep bool) byWidth {
	return byWidth{binaryL(o.b, keep), binaryL(o.w, keep), binaryL(o.d, keep), binaryL(o.q, keep)}
}

func (o binaryOp) mem(keep bool) byWidth {
	return byWidth{binaryM(o.b, keep), binaryM(o.w, keep), binaryM(o.d, keep), binaryM(o.q, keep)}
}

// twoOperands is a row with all forms of an operation.
func twoOperands(o binaryOp, class, inMem uint8, io uint16) row {
	return row{
		bind: bindTwo, class: class, inMem: inMem, io: ioArith | ioLock | io,
		reg: o.reg(false), load: o.load(false), mem: o.mem(false),
	}
}

// unaryOp is an operation on one operand.
type unaryOp struct {
	b func(*CPU, uint8) uint8
	w func(*CPU, uint16) uint16
	d func(*CPU, uint32) uint32
	q func(*CPU, uint64) uint64
}

func unaryR[T width](op func(*CPU, T) T) exec {
	return func(c *CPU, in *inst) { put(c, in.dst, op(c, get[T](c, in.dst))) }
}

func unaryM[T width](op func(*CPU, T) T) exec {
	return func(c *CPU, in *inst) {
		va := c.ea(in)
		if a, ok := rmw[T](c, va); ok {
			store(c, va, op(c, a))
		}
	}
}

// oneOperand is a row with both forms of an operation.
func oneOperand(o unaryOp, io uint16) row {
	return row{
		bind: bindOne, class: clALU, inMem: clALUMem, io: ioReadDst | ioLock | io,
		reg: byWidth{unaryR(o.b), unaryR(o.w), unaryR(o.d), unaryR(o.q)},
		mem: byWidth{unaryM(o.b), unaryM(o.w), unaryM(o.d), unaryM(o.q)},
	}
}

// countedOp is a shift or a rotate by a count, or an operation on the bit of a number.
type countedOp struct {
	b func(*CPU, uint8, uint) uint8
	w func(*CPU, uint16, uint) uint16
	d func(*CPU, uint32, uint) uint32
	q func(*CPU, uint64, uint) uint64
}

func shiftR[T width](op func(*CPU, T, uint) T) exec {
	return func(c *CPU, in *inst) { put(c, in.dst, op(c, get[T](c, in.dst), shiftCount[T](c, in))) }
}

// shiftM writes for a count of zero too: the access is the same for all counts.
func shiftM[T width](op func(*CPU, T, uint) T) exec {
	return func(c *CPU, in *inst) {
		va := c.ea(in)
		if v, ok := rmw[T](c, va); ok {
			store(c, va, op(c, v, shiftCount[T](c, in)))
		}
	}
}

// shifted is a row with both forms of a shift or rotate.
func shifted(o countedOp, class, inMem uint8, io uint16) row {
	return row{
		bind: bindShift, class: class, inMem: inMem, io: ioReadDst | io,
		reg: byWidth{shiftR(o.b), shiftR(o.w), shiftR(o.d), shiftR(o.q)},
		mem: byWidth{shiftM(o.b), shiftM(o.w), shiftM(o.d), shiftM(o.q)},
	}
}

func bitR[T width](op func(*CPU, T, uint) T) exec {
	return func(c *CPU, in *inst) { put(c, in.dst, op(c, get[T](c, in.dst), bitIndex[T](c, in))) }
}

// bitM reads and writes the operand at once, with the prefix lock or without.
func bitM[T width](op func(*CPU, T, uint) T) exec {
	return func(c *CPU, in *inst) {
		va := bitAddress[T](c, in)
		if v, ok := rmw[T](c, va); ok {
			store(c, va, op(c, v, bitIndex[T](c, in)))
		}
	}
}

// bitChanged is a row with both forms of a bit test that changes the bit. Bytes have none.
func bitChanged(o countedOp) row {
	return row{
		bind: bindTwo, class: clBitTest, inMem: clBitString, io: ioReadDst | ioSetCarry | ioLock,
		reg: byWidth{nil, bitR(o.w), bitR(o.d), bitR(o.q)},
		mem: byWidth{nil, bitM(o.w), bitM(o.d), bitM(o.q)},
	}
}

// sourceOp is an operation with a single operand that is only a source.
type sourceOp struct {
	b func(*CPU, uint8)
	w func(*CPU, uint16)
	d func(*CPU, uint32)
	q func(*CPU, uint64)
}

func sourcedR[T width](op func(*CPU, T)) exec {
	return func(c *CPU, in *inst) { op(c, src[T](c, in)) }
}

func sourcedM[T width](op func(*CPU, T)) exec {
	return func(c *CPU, in *inst) {
		if v, ok := load[T](c, c.ea(in)); ok {
			op(c, v)
		}
	}
}

// wide is a row of an operation on the accumulator and one operand. The destination is dx:ax and the like, so io
// has it, and reg and mem the source.
func wide(o sourceOp, class uint8, io uint16) row {
	return row{
		bind: bindWide, class: class, io: ioReadA | ioSetA | ioSetD | io,
		reg: byWidth{sourcedR(o.b), sourcedR(o.w), sourcedR(o.d), sourcedR(o.q)},
		mem: byWidth{sourcedM(o.b), sourcedM(o.w), sourcedM(o.d), sourcedM(o.q)},
	}
}

// ofSelector is a row of an operation on 16 bits: a selector, or the machine status word.
func ofSelector(op func(*CPU, uint16), class uint8, io, flags uint16) row {
	return row{
		bind: bindSelector, class: class, io: ioNoWrite | io, flags: flags | engine.Ends,
		reg: byWidth{size16: sourcedR(op)}, mem: byWidth{size16: sourcedM(op)},
	}
}

// ofSelectorAtLevel0 is ofSelector for an operation that needs level 0, which is checked before the operand is loaded.
func ofSelectorAtLevel0(op func(*CPU, uint16), class uint8) row {
	r := ofSelector(op, class, 0, 0)
	load := r.mem[size16]
	r.mem[size16] = func(c *CPU, in *inst) {
		if c.privileged() {
			load(c, in)
		}
	}
	return r
}

func givenR[T width](value func(*CPU) uint64) exec {
	return func(c *CPU, in *inst) { put(c, in.dst, T(value(c))) }
}

// giving is a row of an instruction that stores a system register. Memory takes 16 bits alone.
func giving(value func(*CPU) uint64) row {
	return row{
		bind: bindSelector, class: clDescriptor, flags: engine.Ends,
		reg: byWidth{size16: givenR[uint16](value), size32: givenR[uint32](value), size64: givenR[uint64](value)},
		mem: byWidth{size16: func(c *CPU, in *inst) { store(c, c.ea(in), uint16(value(c))) }},
	}
}

package x86

// The arithmetic of the two-operand group: each returns the result and sets the flags. Carries out
// of every bit, which flags.go keeps in place of CF, OF and AF, are (a AND b) OR ((a OR b) AND NOT
// r) for sums and the same with NOT a for differences.

func add[T width](c *CPU, a, b T) T {
	r := a + b
	setResult(c, r, a&b|(a|b)&^r)
	return r
}

// adc and sbb take CF in as a number. The formula of the carries holds with it: it uses the result.
func adc[T width](c *CPU, a, b T) T {
	r := a + b + T(c.carryBit())
	setResult(c, r, a&b|(a|b)&^r)
	return r
}

func sub[T width](c *CPU, a, b T) T {
	r := a - b
	setResult(c, r, ^a&b|(^a|b)&r)
	return r
}

func sbb[T width](c *CPU, a, b T) T {
	r := a - b - T(c.carryBit())
	setResult(c, r, ^a&b|(^a|b)&r)
	return r
}

// Logic clears CF and OF and leaves AF undefined (SDM vol. 2, AND).
func and[T width](c *CPU, a, b T) T { r := a & b; setLogic(c, r); return r }
func or[T width](c *CPU, a, b T) T  { r := a | b; setLogic(c, r); return r }
func xor[T width](c *CPU, a, b T) T { r := a ^ b; setLogic(c, r); return r }

// The instructions come in three forms, by the place of the operands; the letter behind the name
// says which. R has a register as destination and a register or an immediate as source, L a
// register and a source in memory, M a destination in memory. All are generic over the operand
// size: 8 and 16 bits keep the rest of a register, 32 bits clear its upper half (SDM vol. 1,
// 3.4.1.1), which put does.

// Register destination. cmp and test compute and throw the result away.

func addR[T width](c *CPU, in *inst)  { put(c, in.dst, add(c, get[T](c, in.dst), src[T](c, in))) }
func adcR[T width](c *CPU, in *inst)  { put(c, in.dst, adc(c, get[T](c, in.dst), src[T](c, in))) }
func subR[T width](c *CPU, in *inst)  { put(c, in.dst, sub(c, get[T](c, in.dst), src[T](c, in))) }
func sbbR[T width](c *CPU, in *inst)  { put(c, in.dst, sbb(c, get[T](c, in.dst), src[T](c, in))) }
func andR[T width](c *CPU, in *inst)  { put(c, in.dst, and(c, get[T](c, in.dst), src[T](c, in))) }
func orR[T width](c *CPU, in *inst)   { put(c, in.dst, or(c, get[T](c, in.dst), src[T](c, in))) }
func xorR[T width](c *CPU, in *inst)  { put(c, in.dst, xor(c, get[T](c, in.dst), src[T](c, in))) }
func cmpR[T width](c *CPU, in *inst)  { sub(c, get[T](c, in.dst), src[T](c, in)) }
func testR[T width](c *CPU, in *inst) { and(c, get[T](c, in.dst), src[T](c, in)) }

// Register destination, memory source. A load that faults leaves the register and the flags as they
// were: the instruction is executed again when the handler returns. It is written out for each
// operation: a function value as argument would be a call on the path of every instruction.

func addL[T width](c *CPU, in *inst) {
	if b, ok := load[T](c, c.ea(in)); ok {
		put(c, in.dst, add(c, get[T](c, in.dst), b))
	}
}

func adcL[T width](c *CPU, in *inst) {
	if b, ok := load[T](c, c.ea(in)); ok {
		put(c, in.dst, adc(c, get[T](c, in.dst), b))
	}
}

func subL[T width](c *CPU, in *inst) {
	if b, ok := load[T](c, c.ea(in)); ok {
		put(c, in.dst, sub(c, get[T](c, in.dst), b))
	}
}

func sbbL[T width](c *CPU, in *inst) {
	if b, ok := load[T](c, c.ea(in)); ok {
		put(c, in.dst, sbb(c, get[T](c, in.dst), b))
	}
}

func andL[T width](c *CPU, in *inst) {
	if b, ok := load[T](c, c.ea(in)); ok {
		put(c, in.dst, and(c, get[T](c, in.dst), b))
	}
}

func orL[T width](c *CPU, in *inst) {
	if b, ok := load[T](c, c.ea(in)); ok {
		put(c, in.dst, or(c, get[T](c, in.dst), b))
	}
}

func xorL[T width](c *CPU, in *inst) {
	if b, ok := load[T](c, c.ea(in)); ok {
		put(c, in.dst, xor(c, get[T](c, in.dst), b))
	}
}

func cmpL[T width](c *CPU, in *inst) {
	if b, ok := load[T](c, c.ea(in)); ok {
		sub(c, get[T](c, in.dst), b)
	}
}

// Memory destination. Flags change only after the store is known to succeed: rmw has checked the
// right to write.

func addM[T width](c *CPU, in *inst) {
	va := c.ea(in)
	if a, ok := rmw[T](c, va); ok {
		store(c, va, add(c, a, src[T](c, in)))
	}
}

func adcM[T width](c *CPU, in *inst) {
	va := c.ea(in)
	if a, ok := rmw[T](c, va); ok {
		store(c, va, adc(c, a, src[T](c, in)))
	}
}

func subM[T width](c *CPU, in *inst) {
	va := c.ea(in)
	if a, ok := rmw[T](c, va); ok {
		store(c, va, sub(c, a, src[T](c, in)))
	}
}

func sbbM[T width](c *CPU, in *inst) {
	va := c.ea(in)
	if a, ok := rmw[T](c, va); ok {
		store(c, va, sbb(c, a, src[T](c, in)))
	}
}

func andM[T width](c *CPU, in *inst) {
	va := c.ea(in)
	if a, ok := rmw[T](c, va); ok {
		store(c, va, and(c, a, src[T](c, in)))
	}
}

func orM[T width](c *CPU, in *inst) {
	va := c.ea(in)
	if a, ok := rmw[T](c, va); ok {
		store(c, va, or(c, a, src[T](c, in)))
	}
}

func xorM[T width](c *CPU, in *inst) {
	va := c.ea(in)
	if a, ok := rmw[T](c, va); ok {
		store(c, va, xor(c, a, src[T](c, in)))
	}
}

func cmpM[T width](c *CPU, in *inst) {
	if a, ok := load[T](c, c.ea(in)); ok {
		sub(c, a, src[T](c, in))
	}
}

func testM[T width](c *CPU, in *inst) {
	if a, ok := load[T](c, c.ea(in)); ok {
		and(c, a, src[T](c, in))
	}
}

// One operand. inc and dec keep CF (SDM vol. 2, INC), so that a loop counter can be changed amid
// arithmetic on several words. neg is a subtraction from zero, CF included: it is clear for zero
// only.

func inc[T width](c *CPU, a T) T {
	cy := c.cy
	r := add(c, a, 1)
	c.keepCF(cy)
	return r
}

func dec[T width](c *CPU, a T) T {
	cy := c.cy
	r := sub(c, a, 1)
	c.keepCF(cy)
	return r
}

func incR[T width](c *CPU, in *inst) { put(c, in.dst, inc(c, get[T](c, in.dst))) }
func decR[T width](c *CPU, in *inst) { put(c, in.dst, dec(c, get[T](c, in.dst))) }
func negR[T width](c *CPU, in *inst) { put(c, in.dst, sub(c, 0, get[T](c, in.dst))) }
func notR[T width](c *CPU, in *inst) { put(c, in.dst, ^get[T](c, in.dst)) }

func incM[T width](c *CPU, in *inst) {
	va := c.ea(in)
	if a, ok := rmw[T](c, va); ok {
		store(c, va, inc(c, a))
	}
}

func decM[T width](c *CPU, in *inst) {
	va := c.ea(in)
	if a, ok := rmw[T](c, va); ok {
		store(c, va, dec(c, a))
	}
}

func negM[T width](c *CPU, in *inst) {
	va := c.ea(in)
	if a, ok := rmw[T](c, va); ok {
		store(c, va, sub(c, 0, a))
	}
}

// notM leaves all flags alone.
func notM[T width](c *CPU, in *inst) {
	va := c.ea(in)
	if a, ok := rmw[T](c, va); ok {
		store(c, va, ^a)
	}
}

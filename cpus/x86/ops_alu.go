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

func neg[T width](c *CPU, a T) T { return sub(c, 0, a) }
func not[T width](_ *CPU, a T) T { return ^a }

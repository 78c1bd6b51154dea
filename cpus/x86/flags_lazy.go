package x86

// Host code leaves the arithmetic flags to be computed when something asks for them. Materialize then computes them by
// the functions that all instructions use, from what is kept: the result and the first operand.

// lazy says of what operation res is the result and old the first operand, both with no bits above the operand's size.
// Zero says that all flags are where flags.go has them.
type lazy uint8

// In each group are the operands of 8, 16, 32 and 64 bits.
const (
	lazySum8 lazy = 4 + iota
	lazySum16
	lazySum32
	lazySum64
	lazyDiff8
	lazyDiff16
	lazyDiff32
	lazyDiff64
	lazyAdc8 // with the carry in CPU.shifted
	lazyAdc16
	lazyAdc32
	lazyAdc64
	lazySbb8 // likewise
	lazySbb16
	lazySbb32
	lazySbb64
	lazyLogic8
	lazyLogic16
	lazyLogic32
	lazyLogic64
	lazyShl8 // by CPU.shifted, which is not zero
	lazyShl16
	lazyShl32
	lazyShl64
	lazyShr8
	lazyShr16
	lazyShr32
	lazyShr64
	lazySar8
	lazySar16
	lazySar32
	lazySar64
	lazyMul8 // CPU.shifted says that the product overflows
	lazyMul16
	lazyMul32
	lazyMul64
)

// bytes is the size of the operands.
func (l lazy) bytes() int { return 1 << (l & 3) }

// Materialize implements engine.Emitter: it computes the flags.
func (c *CPU) Materialize() {
	how := c.lazy
	if how == 0 {
		return
	}
	c.lazy = 0
	switch how.bytes() {
	case 8:
		flagsOfLazy[uint64](c, how)
	case 4:
		flagsOfLazy[uint32](c, how)
	case 2:
		flagsOfLazy[uint16](c, how)
	default:
		flagsOfLazy[uint8](c, how)
	}
}

// flagsOfLazy has the operation done again on what is kept of its operands.
func flagsOfLazy[T width](c *CPU, how lazy) {
	old, res, carry := T(c.old), T(c.res), T(c.shifted)
	switch how &^ 3 {
	case lazySum8:
		add(c, old, res-old)
	case lazyDiff8:
		sub(c, old, old-res)
	case lazyAdc8:
		c.setCarry(carry != 0, false)
		adc(c, old, res-old-carry)
	case lazySbb8:
		c.setCarry(carry != 0, false)
		sbb(c, old, old-res-carry)
	case lazyLogic8:
		setLogic(c, res)
	case lazyMul8:
		setLogic(c, res)
		c.setCarry(carry != 0, carry != 0)
	case lazyShl8:
		shl(c, old, uint(c.shifted))
	case lazyShr8:
		shr(c, old, uint(c.shifted))
	case lazySar8:
		sar(c, old, uint(c.shifted))
	}
}

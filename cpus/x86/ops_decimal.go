package x86

// Instructions that exist in 32-bit mode only: all registers at once, decimal arithmetic, bounds.
// In 64-bit mode their opcodes are undefined (SDM vol. 2, appendix A, superscript i64), and x86asm
// does not decode them there. Flags that the manual leaves undefined follow the result; the
// comparison with the host leaves them out.

// pusha stores the eight registers, the stack pointer as it was. The stack pointer changes when all
// the stores have succeeded, so it can be restarted.
func pusha[T width](c *CPU, _ *inst) {
	n := uint64(bitsOf(T(0)) / 8)
	sp := c.R[rsp]
	for i := range uint8(8) {
		if !store(c, (sp-uint64(i+1)*n)&c.AddrMask, get[T](c, i)) {
			return
		}
	}
	c.R[rsp] = (sp - 8*n) & c.AddrMask
}

// popa loads them, but for the stack pointer, whose word is skipped. When a later word faults, the registers before it
// have changed and the stack pointer has not, so it can be restarted (measured on processors of both vendors; no manual says it).
func popa[T width](c *CPU, _ *inst) {
	n := uint64(bitsOf(T(0)) / 8)
	for i := range uint8(8) {
		v, ok := load[T](c, (c.R[rsp]+uint64(i)*n)&c.AddrMask)
		if !ok {
			c.onStack()
			return
		}
		if r := 7 - i; r != rsp {
			put(c, r, v)
		}
	}
	c.R[rsp] = (c.R[rsp] + 8*n) & c.AddrMask
}

// setDecimal sets the flags of a decimal adjustment with result al.
func (c *CPU) setDecimal(al uint8, af, cf bool) {
	setLogic(c, al)
	c.setCarry(cf, false)
	if af {
		c.aux |= auxAF
	}
}

// adjusts reports that the low digit of al needs correction.
func (c *CPU) adjusts() bool { return c.R[rax]&0xf > 9 || c.af() }

// aaa and aas adjust ax after an operation on one unpacked digit: 6 to the digit and 1 to ah at
// once.
func aaa(c *CPU, _ *inst) { c.unpacked(0x106) }
func aas(c *CPU, _ *inst) { c.unpacked(-0x106 & 0xffff) }

// unpacked adds by to ax when the digit in al needs it.
func (c *CPU) unpacked(by uint16) {
	fix := c.adjusts()
	ax := uint16(c.R[rax])
	if fix {
		ax += by
	}
	put(c, rax, ax&0xff0f)
	c.setDecimal(uint8(ax)&0xf, fix, fix)
}

// daa and das adjust al after an addition or a subtraction of packed digits (SDM vol. 2, DAA and
// DAS). Both digits are looked at in the value from before the correction of the lower one.
func daa(c *CPU, _ *inst) {
	low, high := c.adjusts(), uint8(c.R[rax]) > 0x99 || c.cf()
	al := uint8(c.R[rax])
	if low {
		al += 6
	}
	if high {
		al += 0x60
	}
	put(c, rax, al)
	c.setDecimal(al, low, high)
}

// das also sets CF when the correction of the lower digit borrows.
func das(c *CPU, _ *inst) {
	low, high := c.adjusts(), uint8(c.R[rax]) > 0x99 || c.cf()
	al := uint8(c.R[rax])
	borrow := low && al < 6
	if low {
		al -= 6
	}
	if high {
		al -= 0x60
	}
	put(c, rax, al)
	c.setDecimal(al, low, high || borrow)
}

// aam splits al into digits of a base, aad joins them. The base is the immediate; 10 is the one
// with a name in assembly. A base of zero is a division by zero.
func aam(c *CPU, in *inst) {
	base := uint8(in.imm)
	if base == 0 {
		c.raise(vecDE)
		return
	}
	al := uint8(c.R[rax])
	put(c, rax, uint16(al/base)<<8|uint16(al%base))
	c.setDecimal(al%base, false, false)
}

func aad(c *CPU, in *inst) {
	al := uint8(c.R[rax]) + uint8(c.R[rax]>>8)*uint8(in.imm)
	put(c, rax, uint16(al))
	c.setDecimal(al, false, false)
}

// bound raises #BR, a fault, when a signed index is outside the two limits in memory.
func bound[T width](c *CPU, in *inst) {
	va := c.ea(in)
	low, ok := load[T](c, va)
	if !ok {
		return
	}
	i := signed(get[T](c, in.dst))
	if i < signed(low) {
		c.raise(vecBR)
		return
	}
	high, ok := load[T](c, (va+uint64(bitsOf(low)/8))&c.AddrMask)
	if ok && i > signed(high) {
		c.raise(vecBR)
	}
}

// into is int 4 when OF is set: a trap whose gate's DPL is checked, like that of int n.
func into(c *CPU, in *inst) {
	if c.of() {
		c.softInterrupt(vecOF, in)
	}
}

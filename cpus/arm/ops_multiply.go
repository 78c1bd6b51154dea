package arm

import "math"

// Multiplications (ARM ARM, A5.2.5, A5.2.7, A5.4.4). The factors are Rn in a and Rm in b; the addend is in
// s, which is also the lower half of a result of 64 bits, with the upper half in dst.

func (c *CPU) factors(in *inst) (n, m uint32) { return uint32(c.R[in.a&63]), uint32(c.R[in.b&63]) }
func (c *CPU) addend(in *inst) uint32         { return uint32(c.R[in.s&63]) }

func (c *CPU) setLong(in *inst, v uint64) {
	c.R[in.s&63], c.R[in.dst&63] = uint64(uint32(v)), v>>32
}

func (c *CPU) long(in *inst) uint64 { return c.R[in.dst&63]<<32 | c.R[in.s&63] }

func mul(c *CPU, in *inst)  { n, m := c.factors(in); c.set(in, n*m) }
func muls(c *CPU, in *inst) { n, m := c.factors(in); c.logic(in, n*m) }
func mla(c *CPU, in *inst)  { n, m := c.factors(in); c.set(in, n*m+c.addend(in)) }
func mlas(c *CPU, in *inst) { n, m := c.factors(in); c.logic(in, n*m+c.addend(in)) }
func mls(c *CPU, in *inst)  { n, m := c.factors(in); c.set(in, c.addend(in)-n*m) }

func (c *CPU) productU(in *inst) uint64 { n, m := c.factors(in); return uint64(n) * uint64(m) }

func (c *CPU) productS(in *inst) uint64 {
	n, m := c.factors(in)
	return uint64(int64(int32(n)) * int64(int32(m)))
}

func umull(c *CPU, in *inst) { c.setLong(in, c.productU(in)) }
func umlal(c *CPU, in *inst) { c.setLong(in, c.long(in)+c.productU(in)) }
func smull(c *CPU, in *inst) { c.setLong(in, c.productS(in)) }
func smlal(c *CPU, in *inst) { c.setLong(in, c.long(in)+c.productS(in)) }

func umaal(c *CPU, in *inst) {
	c.setLong(in, c.productU(in)+c.R[in.dst&63]+c.R[in.s&63])
}

// longFlags is a long multiplication that sets N and Z.
func longFlags(f exec) exec {
	return func(c *CPU, in *inst) {
		f(c, in)
		v := c.long(in)
		c.nf, c.zf = uint32(v>>32), uint32(v>>32)|uint32(v)
	}
}

// half is the upper or lower half of a word, with its sign.
func half(v uint32, upper bool) int64 {
	if upper {
		return int64(int16(v >> 16))
	}
	return int64(int16(v))
}

// Bits of aux in multiplications of halves.
const (
	upperN = 1 << 0 // also: m's halves are exchanged, in forms of two halves
	upperM = 1 << 1
)

// accumulate is a sum of three numbers of which the last is added with saturation noted in Q.
func (c *CPU) accumulate(in *inst, v int64) {
	if v != int64(int32(v)) {
		c.sticky = psrQ
	}
	c.set(in, uint32(v))
}

func (c *CPU) halfProduct(in *inst) int64 {
	n, m := c.factors(in)
	return half(n, in.aux&upperN != 0) * half(m, in.aux&upperM != 0)
}

func (c *CPU) wordHalfProduct(in *inst) int64 {
	n, m := c.factors(in)
	return int64(int32(n)) * half(m, in.aux&upperM != 0) >> 16
}

func smulxy(c *CPU, in *inst)  { c.set(in, uint32(c.halfProduct(in))) }
func smlaxy(c *CPU, in *inst)  { c.accumulate(in, c.halfProduct(in)+int64(int32(c.addend(in)))) }
func smulw(c *CPU, in *inst)   { c.set(in, uint32(c.wordHalfProduct(in))) }
func smlaw(c *CPU, in *inst)   { c.accumulate(in, c.wordHalfProduct(in)+int64(int32(c.addend(in)))) }
func smlalxy(c *CPU, in *inst) { c.setLong(in, c.long(in)+uint64(c.halfProduct(in))) }

// dual returns the products of the lower and of the upper halves.
func (c *CPU) dual(in *inst) (low, high int64) {
	n, m := c.factors(in)
	if in.aux&upperN != 0 {
		m = m<<16 | m>>16
	}
	return half(n, false) * half(m, false), half(n, true) * half(m, true)
}

// smlad and smlsd add what the operand without an addend has as the register that reads as zero.
func smlad(c *CPU, in *inst) {
	low, high := c.dual(in)
	c.accumulate(in, low+high+int64(int32(c.addend(in))))
}

func smlsd(c *CPU, in *inst) {
	low, high := c.dual(in)
	c.accumulate(in, low-high+int64(int32(c.addend(in))))
}

func smlald(c *CPU, in *inst) {
	low, high := c.dual(in)
	c.setLong(in, c.long(in)+uint64(low+high))
}

func smlsld(c *CPU, in *inst) {
	low, high := c.dual(in)
	c.setLong(in, c.long(in)+uint64(low-high))
}

// The upper word of a product, rounded when bit 5 of the instruction is set.
func (c *CPU) upperWord(in *inst, v uint64) {
	if in.aux&upperN != 0 {
		v += 1 << 31
	}
	c.set(in, uint32(v>>32))
}

func smmla(c *CPU, in *inst) { c.upperWord(in, uint64(c.addend(in))<<32+c.productS(in)) }
func smmls(c *CPU, in *inst) { c.upperWord(in, uint64(c.addend(in))<<32-c.productS(in)) }

// Division (ARM ARM, A8.8.165): by zero it gives zero.
func udiv(c *CPU, in *inst) {
	n, m := c.factors(in)
	if m == 0 {
		c.set(in, 0)
		return
	}
	c.set(in, n/m)
}

func sdiv(c *CPU, in *inst) {
	n, m := c.factors(in)
	switch {
	case m == 0:
		c.set(in, 0)
	case int32(n) == math.MinInt32 && int32(m) == -1:
		c.set(in, n)
	default:
		c.set(in, uint32(int32(n)/int32(m)))
	}
}

package arm

import "math/bits"

// Data-processing instructions (ARM ARM, A5.2). The second operand is a register or an immediate: one of the
// two is zero, so that a sum does for a choice. Registers hold 32 bits; what is above them is zero.

func (c *CPU) n(in *inst) uint32 { return uint32(c.R[in.a&63]) }
func (c *CPU) m(in *inst) uint32 { return uint32(c.R[in.b&63]) + in.imm }

func (c *CPU) set(in *inst, v uint32) { c.R[in.dst&63] = uint64(v) }

// logic sets N and Z too; the carry is the shifter's, and set by then.
func (c *CPU) logic(in *inst, v uint32) {
	c.R[in.dst&63] = uint64(v)
	c.nf, c.zf = v, v
}

func and(c *CPU, in *inst)  { c.set(in, c.n(in)&c.m(in)) }
func ands(c *CPU, in *inst) { c.logic(in, c.n(in)&c.m(in)) }
func eor(c *CPU, in *inst)  { c.set(in, c.n(in)^c.m(in)) }
func eors(c *CPU, in *inst) { c.logic(in, c.n(in)^c.m(in)) }
func orr(c *CPU, in *inst)  { c.set(in, c.n(in)|c.m(in)) }
func orrs(c *CPU, in *inst) { c.logic(in, c.n(in)|c.m(in)) }
func bic(c *CPU, in *inst)  { c.set(in, c.n(in)&^c.m(in)) }
func bics(c *CPU, in *inst) { c.logic(in, c.n(in)&^c.m(in)) }
func mov(c *CPU, in *inst)  { c.set(in, c.m(in)) }
func movs(c *CPU, in *inst) { c.logic(in, c.m(in)) }
func mvn(c *CPU, in *inst)  { c.set(in, ^c.m(in)) }
func mvns(c *CPU, in *inst) { c.logic(in, ^c.m(in)) }
func tst(c *CPU, in *inst)  { c.setNZ(c.n(in) & c.m(in)) }
func teq(c *CPU, in *inst)  { c.setNZ(c.n(in) ^ c.m(in)) }

func sub(c *CPU, in *inst)  { c.set(in, c.n(in)-c.m(in)) }
func subs(c *CPU, in *inst) { c.set(in, c.sum(c.n(in), ^c.m(in), 1)) }
func rsb(c *CPU, in *inst)  { c.set(in, c.m(in)-c.n(in)) }
func rsbs(c *CPU, in *inst) { c.set(in, c.sum(^c.n(in), c.m(in), 1)) }
func add(c *CPU, in *inst)  { c.set(in, c.n(in)+c.m(in)) }
func adds(c *CPU, in *inst) { c.set(in, c.sum(c.n(in), c.m(in), 0)) }
func adc(c *CPU, in *inst)  { c.set(in, c.n(in)+c.m(in)+c.cf) }
func adcs(c *CPU, in *inst) { c.set(in, c.sum(c.n(in), c.m(in), c.cf)) }
func sbc(c *CPU, in *inst)  { c.set(in, c.n(in)+^c.m(in)+c.cf) }
func sbcs(c *CPU, in *inst) { c.set(in, c.sum(c.n(in), ^c.m(in), c.cf)) }
func rsc(c *CPU, in *inst)  { c.set(in, ^c.n(in)+c.m(in)+c.cf) }
func rscs(c *CPU, in *inst) { c.set(in, c.sum(^c.n(in), c.m(in), c.cf)) }
func cmp(c *CPU, in *inst)  { c.sum(c.n(in), ^c.m(in), 1) }
func cmn(c *CPU, in *inst)  { c.sum(c.n(in), c.m(in), 0) }

// movt writes the upper half.
func movt(c *CPU, in *inst) { c.set(in, uint32(c.R[in.dst&63])&0xffff|in.imm<<16) }

// Kinds of shift (ARM ARM, A8.4).
const (
	shiftLSL = iota
	shiftLSR
	shiftASR
	shiftROR
	shiftRRX
)

// shifted computes the second operand before f.
func shifted(f exec, carry bool) exec {
	return func(c *CPU, in *inst) {
		r, out := shift(in.aux, uint32(c.R[in.s&63]), uint32(in.sh), c.cf)
		c.R[rOperand] = uint64(r)
		if carry {
			c.cf = out
		}
		f(c, in)
	}
}

// shiftedByRegister is shifted with the count in the lowest byte of a register.
func shiftedByRegister(f exec, carry bool) exec {
	return func(c *CPU, in *inst) {
		r, out := shift(in.aux, uint32(c.R[in.s&63]), uint32(uint8(c.R[in.sh&63])), c.cf)
		c.R[rOperand] = uint64(r)
		if carry {
			c.cf = out
		}
		f(c, in)
	}
}

// shift shifts by any number below 256, and returns the last bit that was shifted out (ARM ARM, A2.2.1,
// Shift_C). By zero it changes nothing.
func shift(kind uint8, v, n, carry uint32) (r, out uint32) {
	if kind == shiftRRX {
		return carry<<31 | v>>1, v & 1
	}
	if n == 0 {
		return v, carry
	}
	switch kind {
	case shiftLSL:
		w := uint64(v) << min(n, 63)
		return uint32(w), uint32(w >> 32 & 1)
	case shiftLSR:
		w := uint64(v) << 1 >> min(n, 63)
		return uint32(w >> 1), uint32(w & 1)
	case shiftASR:
		w := int64(int32(v)) << 1 >> min(n, 63)
		return uint32(w >> 1), uint32(w & 1)
	}
	r = bits.RotateLeft32(v, -int(n&31))
	return r, r >> 31
}

// Operations on bits (ARM ARM, A5.4.3, A5.2.12).
func clz(c *CPU, in *inst)  { c.set(in, uint32(bits.LeadingZeros32(c.m(in)))) }
func rbit(c *CPU, in *inst) { c.set(in, bits.Reverse32(c.m(in))) }
func rev(c *CPU, in *inst)  { c.set(in, bits.ReverseBytes32(c.m(in))) }

func rev16(c *CPU, in *inst) { c.set(in, bits.RotateLeft32(bits.ReverseBytes32(c.m(in)), 16)) }

func revsh(c *CPU, in *inst) {
	c.set(in, uint32(int16(bits.ReverseBytes16(uint16(c.m(in))))))
}

// The operand of these has no immediate: imm is a mask.
func bfi(c *CPU, in *inst) {
	c.set(in, uint32(c.R[in.dst&63])&^in.imm|uint32(c.R[in.b&63])<<in.sh&in.imm)
}

func ubfx(c *CPU, in *inst) { c.set(in, uint32(c.R[in.b&63])>>in.sh&in.imm) }

func sbfx(c *CPU, in *inst) {
	c.set(in, uint32(int32(uint32(c.R[in.b&63])>>in.sh<<in.aux)>>in.aux))
}

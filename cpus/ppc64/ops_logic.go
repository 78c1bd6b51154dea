package ppc64

import "math/bits"

// Logic, rotation and shifts (Book I, Fixed-Point Logical Instructions, Fixed-Point Rotate and Shift
// Instructions). The first source is RS, the result RA.

func and(c *CPU, in *inst)  { c.R[in.dst&63] = c.first(in) & c.second(in) }
func or(c *CPU, in *inst)   { c.R[in.dst&63] = c.first(in) | c.second(in) }
func xor(c *CPU, in *inst)  { c.R[in.dst&63] = c.first(in) ^ c.second(in) }
func nand(c *CPU, in *inst) { c.R[in.dst&63] = ^(c.first(in) & c.second(in)) }
func nor(c *CPU, in *inst)  { c.R[in.dst&63] = ^(c.first(in) | c.second(in)) }
func eqv(c *CPU, in *inst)  { c.R[in.dst&63] = ^(c.first(in) ^ c.second(in)) }
func andc(c *CPU, in *inst) { c.R[in.dst&63] = c.first(in) &^ c.second(in) }
func orc(c *CPU, in *inst)  { c.R[in.dst&63] = c.first(in) | ^c.second(in) }
func nop(*CPU, *inst)       {}

func extsb(c *CPU, in *inst)  { c.R[in.dst&63] = uint64(int64(int8(c.first(in)))) }
func extsh(c *CPU, in *inst)  { c.R[in.dst&63] = uint64(int64(int16(c.first(in)))) }
func extsw(c *CPU, in *inst)  { c.R[in.dst&63] = uint64(int64(int32(c.first(in)))) }
func cntlzw(c *CPU, in *inst) { c.R[in.dst&63] = uint64(bits.LeadingZeros32(uint32(c.first(in)))) }
func cntlzd(c *CPU, in *inst) { c.R[in.dst&63] = uint64(bits.LeadingZeros64(c.first(in))) }

// popcntb counts the ones of each byte.
func popcntb(c *CPU, in *inst) {
	v := c.first(in)
	v -= v >> 1 & 0x5555_5555_5555_5555
	v = v&0x3333_3333_3333_3333 + v>>2&0x3333_3333_3333_3333
	c.R[in.dst&63] = (v + v>>4) & 0x0f0f_0f0f_0f0f_0f0f
}

// Rotation of a word rotates it in both halves of a doubleword, and a mask around the end has ones in the
// upper half.
func rotated(v uint64, by uint64) uint64 {
	w := uint64(bits.RotateLeft32(uint32(v), int(by&31)))
	return w | w<<32
}

func rlwinm(c *CPU, in *inst) { c.R[in.dst&63] = rotated(c.first(in), uint64(in.sh)) & in.imm }

func rlwnm(c *CPU, in *inst) { c.R[in.dst&63] = rotated(c.first(in), c.R[in.b&63]) & in.imm }

func rlwimi(c *CPU, in *inst) {
	r := &c.R[in.dst&63]
	*r = rotated(c.first(in), uint64(in.sh))&in.imm | *r&^in.imm
}

// rld is every rotation of a doubleword by an immediate under a mask.
func rld(c *CPU, in *inst) {
	c.R[in.dst&63] = bits.RotateLeft64(c.first(in), int(in.sh)) & in.imm
}

func rldimi(c *CPU, in *inst) {
	r := &c.R[in.dst&63]
	*r = bits.RotateLeft64(c.first(in), int(in.sh))&in.imm | *r&^in.imm
}

// rldc is rld by a register.
func rldc(c *CPU, in *inst) {
	c.R[in.dst&63] = bits.RotateLeft64(c.first(in), int(c.R[in.b&63]&63)) & in.imm
}

// Shifts by a register look at six bits of it for a word and seven for a doubleword, so that a count can
// be too large. Go shifts by any count.
func slw(c *CPU, in *inst) {
	c.R[in.dst&63] = uint64(uint32(c.first(in)) << (c.R[in.b&63] & 0x3f))
}

func srw(c *CPU, in *inst) {
	c.R[in.dst&63] = uint64(uint32(c.first(in)) >> (c.R[in.b&63] & 0x3f))
}

func sld(c *CPU, in *inst) { c.R[in.dst&63] = c.first(in) << (c.R[in.b&63] & 0x7f) }
func srd(c *CPU, in *inst) { c.R[in.dst&63] = c.first(in) >> (c.R[in.b&63] & 0x7f) }

// shiftAlgebraic shifts right and sets the carry when a negative number loses ones.
func (c *CPU) shiftAlgebraic(in *inst, v int64, n uint64) {
	r := v >> n
	c.R[rCA] = 0
	if v < 0 && r<<n != v {
		c.R[rCA] = 1
	}
	c.R[in.dst&63] = uint64(r)
}

func sraw(c *CPU, in *inst) {
	c.shiftAlgebraic(in, int64(int32(c.first(in))), c.R[in.b&63]&0x3f)
}

func srad(c *CPU, in *inst)  { c.shiftAlgebraic(in, int64(c.first(in)), c.R[in.b&63]&0x7f) }
func srawi(c *CPU, in *inst) { c.shiftAlgebraic(in, int64(int32(c.first(in))), uint64(in.sh)) }
func sradi(c *CPU, in *inst) { c.shiftAlgebraic(in, int64(c.first(in)), uint64(in.sh)) }

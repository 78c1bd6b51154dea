package arm

import "math"

// Saturating and media instructions (ARM ARM, A5.4, A5.2.6).

// saturate clamps a number, and notes in Q that it had to.
func (c *CPU) saturate(v, low, high int64) uint32 {
	w := clamp(v, low, high)
	if w != v {
		c.sticky = psrQ
	}
	return uint32(w)
}

func clamp(v, low, high int64) int64 { return min(max(v, low), high) }

func (c *CPU) saturateWord(v int64) int64 {
	return int64(int32(c.saturate(v, math.MinInt32, math.MaxInt32)))
}

func (c *CPU) signed(in *inst) (n, m int64) {
	return int64(int32(c.R[in.a&63])), int64(int32(c.R[in.b&63]))
}

// The saturating sums name Rm first and Rn second.
func qadd(c *CPU, in *inst) { n, m := c.signed(in); c.set(in, uint32(c.saturateWord(m+n))) }
func qsub(c *CPU, in *inst) { n, m := c.signed(in); c.set(in, uint32(c.saturateWord(m-n))) }
func qdadd(c *CPU, in *inst) {
	n, m := c.signed(in)
	c.set(in, uint32(c.saturateWord(m+c.saturateWord(2*n))))
}

func qdsub(c *CPU, in *inst) {
	n, m := c.signed(in)
	c.set(in, uint32(c.saturateWord(m-c.saturateWord(2*n))))
}

// saturated is the operand of ssat and usat; imm is the width.
func (c *CPU) saturated(in *inst) int64 {
	r, _ := shift(in.aux, uint32(c.R[in.b&63]), uint32(in.sh), 0)
	return int64(int32(r))
}

func signedRange(n uint32) (low, high int64)   { return -1 << n, 1<<n - 1 }
func unsignedRange(n uint32) (low, high int64) { return 0, 1<<n - 1 }

func ssat(c *CPU, in *inst) {
	low, high := signedRange(in.imm)
	c.set(in, c.saturate(c.saturated(in), low, high))
}

func usat(c *CPU, in *inst) {
	low, high := unsignedRange(in.imm)
	c.set(in, c.saturate(c.saturated(in), low, high))
}

func (c *CPU) saturateHalves(in *inst, low, high int64) {
	v := uint32(c.R[in.b&63])
	c.set(in, c.saturate(half(v, true), low, high)<<16|c.saturate(half(v, false), low, high)&0xffff)
}

func ssat16(c *CPU, in *inst) {
	low, high := signedRange(in.imm)
	c.saturateHalves(in, low, high)
}

func usat16(c *CPU, in *inst) {
	low, high := unsignedRange(in.imm)
	c.saturateHalves(in, low, high)
}

// Extensions rotate their operand and add Rn, which reads as zero where there is none.
func (c *CPU) rotated(in *inst) uint32 {
	r, _ := shift(shiftROR, uint32(c.R[in.b&63]), uint32(in.sh), 0)
	return r
}

func sxtab(c *CPU, in *inst) { c.set(in, c.n(in)+uint32(int8(c.rotated(in)))) }
func sxtah(c *CPU, in *inst) { c.set(in, c.n(in)+uint32(int16(c.rotated(in)))) }
func uxtab(c *CPU, in *inst) { c.set(in, c.n(in)+uint32(uint8(c.rotated(in)))) }
func uxtah(c *CPU, in *inst) { c.set(in, c.n(in)+uint32(uint16(c.rotated(in)))) }

// addHalves adds the halves of two words apart.
func addHalves(a, b uint32) uint32 { return (a&^0xffff+b&^0xffff)&^0xffff | (a+b)&0xffff }

func sxtab16(c *CPU, in *inst) {
	r := c.rotated(in)
	c.set(in, addHalves(c.n(in), uint32(int8(r>>16))<<16|uint32(int8(r))&0xffff))
}

func uxtab16(c *CPU, in *inst) { c.set(in, addHalves(c.n(in), c.rotated(in)&0xff00ff)) }

func pkhbt(c *CPU, in *inst) {
	c.set(in, c.n(in)&0xffff|uint32(c.R[in.b&63])<<(in.sh&31)&^0xffff)
}

// pkhtb shifts by 32 where its field is zero.
func pkhtb(c *CPU, in *inst) {
	r, _ := shift(shiftASR, uint32(c.R[in.b&63]), uint32(in.sh), 0)
	c.set(in, c.n(in)&^0xffff|r&0xffff)
}

// sel chooses bytes by the GE flags.
func sel(c *CPU, in *inst) {
	var mask uint32
	for i := range 4 {
		if c.ge>>i&1 != 0 {
			mask |= 0xff << (8 * i)
		}
	}
	c.set(in, c.n(in)&mask|c.m(in)&^mask)
}

func usada8(c *CPU, in *inst) {
	n, m := c.factors(in)
	sum := c.addend(in)
	for i := 0; i < 32; i += 8 {
		d := int32(n>>i&0xff) - int32(m>>i&0xff)
		sum += uint32(max(d, -d))
	}
	c.set(in, sum)
}

// Kinds of parallel additions, by bits 20 to 22, and what they do with lanes, by bits 5 to 7.
const (
	parSigned         = 1
	parSaturate       = 2
	parHalving        = 3
	parUnsigned       = 5
	parSaturateU      = 6
	parHalvingU       = 7
	laneAdd16         = 0
	laneExchangeAdd   = 1 // asx: the upper lane is a sum
	laneExchangeSub   = 2 // sax
	laneSub16         = 3
	laneAdd8          = 4
	laneSub8          = 7
	parUnsignedKinds  = 4
	parKindsWithFlags = 3 // with parUnsignedKinds cleared, parSigned has them alone
)

// parallel is an addition or subtraction of halves or bytes of a kind.
func parallel(kind, lanes int) exec {
	return func(c *CPU, in *inst) {
		n, m := c.factors(in)
		width := 16
		if lanes == laneAdd8 || lanes == laneSub8 {
			width = 8
		}
		var r, ge uint32
		for at := 0; at < 32; at += width {
			a, b, minus := laneOperands(n, m, at, lanes)
			v := oneLane(kind, width, lane(kind, width, a), lane(kind, width, b), minus, &ge, at)
			r |= v & (1<<width - 1) << at
		}
		if kind&parKindsWithFlags == parSigned {
			c.ge = ge
		}
		c.set(in, r)
	}
}

// laneOperands returns the operands of a lane in their lowest bits, and whether they are subtracted.
func laneOperands(n, m uint32, at, lanes int) (a, b uint32, minus bool) {
	switch lanes {
	case laneExchangeAdd:
		return n >> at, m >> (16 - at), at == 0
	case laneExchangeSub:
		return n >> at, m >> (16 - at), at != 0
	}
	return n >> at, m >> at, lanes == laneSub16 || lanes == laneSub8
}

// lane is a lane as a number.
func lane(kind, width int, v uint32) int64 {
	if kind&parUnsignedKinds != 0 {
		return int64(v & (1<<width - 1))
	}
	return int64(int32(v<<(32-width)) >> (32 - width))
}

// oneLane computes a lane and its GE flags.
func oneLane(kind, width int, a, b int64, minus bool, ge *uint32, at int) uint32 {
	v, over := a+b, int64(0)
	if kind == parUnsigned {
		over = 1 << width
	}
	if minus {
		v, over = a-b, 0
	}
	if v >= over {
		*ge |= (1<<(width/8) - 1) << (at / 8)
	}
	switch kind {
	case parHalving, parHalvingU:
		v >>= 1
	case parSaturate:
		v = clamp(v, -1<<(width-1), 1<<(width-1)-1)
	case parSaturateU:
		v = clamp(v, 0, 1<<width-1)
	}
	return uint32(v)
}

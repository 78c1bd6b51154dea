package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
	"kprobesim/cpus/float"
)

// adjacent applies f to neighbouring lanes, first in one operand and then in the other.
func adjacent(n uint, f func(a, b uint64) uint64) func(a, b vec) vec {
	return func(a, b vec) (r vec) {
		count := int(128 / n)
		for i := range count / 2 {
			r = r.with(i, n, f(a.lane(2*i, n), a.lane(2*i+1, n)))
			r = r.with(count/2+i, n, f(b.lane(2*i, n), b.lane(2*i+1, n)))
		}
		return r
	}
}

// summed adds or subtracts two words with saturation.
func summed(sign int64) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 { return saturate(sext(a, 16)+sign*sext(b, 16), 16, true) }
}

// withSign gives a lane the sign of the other: it is negated, cleared or left alone.
func withSign(n uint) func(a, b vec) vec {
	return lanes(n, func(a, b uint64) uint64 {
		switch v := sext(b, n); {
		case v < 0:
			return -a
		case v == 0:
			return 0
		}
		return a
	})
}

func absolute(n uint) func(a, b vec) vec {
	return lanes(n, func(_, b uint64) uint64 { return uint64(max(sext(b, n), -sext(b, n))) })
}

// chooseBytes takes for each byte of b that of a with its number. The highest bit clears.
func chooseBytes(a, b vec) (r vec) {
	for i := range 16 {
		if by := b.lane(i, 8); by < 0x80 {
			r = r.with(i, 8, a.lane(int(by&15), 8))
		}
	}
	return r
}

// multiplyAddBytes multiplies bytes, the second ones signed, and adds neighbours with saturation.
func multiplyAddBytes(a, b vec) (r vec) {
	for i := range 8 {
		x := int64(a.lane(2*i, 8))*sext(b.lane(2*i, 8), 8) + int64(a.lane(2*i+1, 8))*sext(b.lane(2*i+1, 8), 8)
		r = r.with(i, 16, saturate(x, 16, true))
	}
	return r
}

// joinedBytes takes 16 bytes of two registers, the second one lower, from byte imm on.
func joinedBytes(a, b vec, imm uint64) vec {
	if imm >= 16 {
		return bytesRight(a, vec{imm - 16})
	}
	return vor(bytesRight(b, vec{imm}), bytesLeft(a, vec{16 - imm}))
}

// ssse3 are the operations on two registers of SDM vol. 1, 5.8.
var ssse3 = map[x86asm.Op]func(a, b vec) vec{
	x86asm.PHADDW: adjacent(16, vadd), x86asm.PHADDD: adjacent(32, vadd), x86asm.PHADDSW: adjacent(16, summed(1)),
	x86asm.PHSUBW: adjacent(16, vsub), x86asm.PHSUBD: adjacent(32, vsub), x86asm.PHSUBSW: adjacent(16, summed(-1)),
	x86asm.PABSB: absolute(8), x86asm.PABSW: absolute(16), x86asm.PABSD: absolute(32),
	x86asm.PSIGNB: withSign(8), x86asm.PSIGNW: withSign(16), x86asm.PSIGND: withSign(32),
	x86asm.PMADDUBSW: multiplyAddBytes, x86asm.PSHUFB: chooseBytes,
	x86asm.PMULHRSW: lanes(16, func(a, b uint64) uint64 { return uint64((sext(a, 16)*sext(b, 16)>>14 + 1) >> 1) }),
}

// mmxSSSE3 are the operations that are not the lower half of what a vector does.
func mmxSSSE3() map[x86asm.Op]mmxFunc {
	all := map[x86asm.Op]mmxFunc{
		x86asm.PSHUFB:  func(a, b, _ uint64) uint64 { return chooseBytes(vec{a}, vec{b &^ 0x0808080808080808})[0] },
		x86asm.PALIGNR: func(a, b, imm uint64) uint64 { return bytesRight(vec{b, a}, vec{imm})[0] },
	}
	for _, op := range []x86asm.Op{x86asm.PHADDW, x86asm.PHADDD, x86asm.PHADDSW, x86asm.PHSUBW, x86asm.PHSUBD, x86asm.PHSUBSW} {
		all[op] = mmxJoined(ssse3[op])
	}
	return all
}

// sse3 are SDM vol. 1, 5.7: moves that copy lanes, and sums of neighbours. x87 has fisttp.
func sse3() map[x86asm.Op]row {
	move := func(n int, f func(b vec) vec) row {
		return vectorForm(n, 0, func(_ *CPU, _, b vec, _ uint64) (vec, bool) { return f(b), true })
	}
	return map[x86asm.Op]row{
		x86asm.LDDQU:    vectorMove(movement{n: 16}),
		x86asm.MOVDDUP:  move(8, func(b vec) vec { return vec{b[0], b[0]} }),
		x86asm.MOVSHDUP: move(16, func(b vec) vec { return pick(b, b, 32, 0, 0xf5) }),
		x86asm.MOVSLDUP: move(16, func(b vec) vec { return pick(b, b, 32, 0, 0xa0) }),
	}
}

// sse3Floats compute with the two operands of sums and differences that pairs chooses for each lane.
func sse3Floats() map[x86asm.Op]row {
	sum := func(int) operation { return (*float.Context).Add }
	difference := func(int) operation { return (*float.Context).Sub }
	alternating := func(i int) operation { return [2]operation{(*float.Context).Sub, (*float.Context).Add}[i&1] }
	return map[x86asm.Op]row{
		x86asm.HADDPS: pairedLanes(32, ofNeighbours, sum), x86asm.HADDPD: pairedLanes(64, ofNeighbours, sum),
		x86asm.HSUBPS: pairedLanes(32, ofNeighbours, difference), x86asm.HSUBPD: pairedLanes(64, ofNeighbours, difference),
		x86asm.ADDSUBPS: pairedLanes(32, ofBoth, alternating), x86asm.ADDSUBPD: pairedLanes(64, ofBoth, alternating),
	}
}

// pairs gives the operands of lane i, each of n bits.
type pairs func(a, b vec, i int, n uint) (x, y uint64)

func ofBoth(a, b vec, i int, n uint) (x, y uint64) { return a.lane(i, n), b.lane(i, n) }

func ofNeighbours(a, b vec, i int, n uint) (x, y uint64) {
	of, half := a, int(64/n)
	if i >= half {
		of, i = b, i-half
	}
	return of.lane(2*i, n), of.lane(2*i+1, n)
}

// pairedLanes makes the row of an operation on pairs, which may be another one for each lane.
func pairedLanes(n uint, of pairs, op func(i int) operation) row {
	f := formatOf(n)
	return vectorForm(16, ioReadDst, func(c *CPU, a, b vec, _ uint64) (r vec, ok bool) {
		ctx := c.mxcsrContext()
		for i := range int(128 / n) {
			x, y := of(a, b, i, n)
			r = r.with(i, n, f.Pack(op(i)(&ctx, f, f.Unpack(x), f.Unpack(y))))
		}
		return r, c.sseRaised(&ctx)
	})
}

// mmxConversions are the conversions between numbers and the integers of a register of MMX (SDM vol. 1, 5.5.1 and 5.6.1).
func mmxConversions() map[x86asm.Op]row {
	return map[x86asm.Op]row{
		x86asm.CVTPI2PS:  mmxConversion(8, lanewise{32, 32, 2, false, fromInteger(32, float.Single)}),
		x86asm.CVTPI2PD:  mmxConversion(8, lanewise{32, 64, 2, true, fromInteger(32, float.Double)}),
		x86asm.CVTPS2PI:  mmxConversion(8, lanewise{32, 32, 2, true, toInteger(float.Single, 32, false)}),
		x86asm.CVTTPS2PI: mmxConversion(8, lanewise{32, 32, 2, true, toInteger(float.Single, 32, true)}),
		x86asm.CVTPD2PI:  mmxConversion(16, lanewise{64, 32, 2, true, toInteger(float.Double, 32, false)}),
		x86asm.CVTTPD2PI: mmxConversion(16, lanewise{64, 32, 2, true, toInteger(float.Double, 32, true)}),
	}
}

// mmxConversion makes the row of a conversion, whose second operand has n bytes in memory. Both units must be ready where it
// names registers of both.
func mmxConversion(n int, l lanewise) row {
	return row{class: clVector, flags: engine.Ends, bind: func(d *decoder, r *row) bool {
		vector, toVector := xmmOf(d.x.Args[0])
		wide, _ := mmxOf(d.x.Args[0])
		if toVector {
			d.in.dst = rXMM + vector
		}
		if toVector && !l.whole {
			r.io = ioReadDst
		}
		names := d.namesMMX()
		get, ok := d.conversionSource(n)
		d.exec = func(c *CPU, in *inst) {
			if !c.sseReady() || names && !c.mmxReady() {
				return
			}
			b, ok := get(c, in)
			if !ok {
				return
			}
			x, v := c.mxcsrContext(), vec{}
			if !l.whole {
				v = c.fpu.xmm[vector]
			}
			for i := range l.count {
				v = v.with(i, l.to, l.f(&x, 0, b.lane(i, l.from), 0))
			}
			if names { // before an exception, too (measured on an Intel processor with AMX)
				c.fpu.enterMMX()
			}
			switch {
			case !c.sseRaised(&x):
			case toVector:
				c.fpu.xmm[vector] = v
			default:
				c.fpu.setMM(wide, v[0])
			}
		}
		return ok
	}}
}

// conversionSource binds the second operand, of either kind.
func (d *decoder) conversionSource(n int) (fetch func(c *CPU, in *inst) (vec, bool), ok bool) {
	if i, ok := mmxOf(d.x.Args[1]); ok {
		return func(c *CPU, _ *inst) (vec, bool) { return vec{c.fpu.mm(i)}, true }, true
	}
	return d.vectorSource(d.x.Args[1], n)
}

// maskedMoves store the bytes of the first register that the second one's highest bits name, where rdi points to.
func maskedMoves() map[x86asm.Op]row {
	r := row{class: clVectorStore, flags: engine.Ends, bind: bindMasked}
	return map[x86asm.Op]row{x86asm.MASKMOVQ: r, x86asm.MASKMOVDQU: r}
}

func bindMasked(d *decoder, _ *row) bool {
	a, isVector := xmmOf(d.x.Args[0])
	b, _ := xmmOf(d.x.Args[1])
	if !isVector {
		a, _ = mmxOf(d.x.Args[0])
		b, _ = mmxOf(d.x.Args[1])
	}
	d.op.Flags |= engine.Stores
	d.exec = func(c *CPU, in *inst) {
		if isVector && c.sseReady() {
			c.storeMasked(c.ea(in), c.fpu.xmm[a], c.fpu.xmm[b], 16)
		}
		if !isVector && c.mmxReady() {
			c.fpu.enterMMX()
			c.storeMasked(c.ea(in), vec{c.fpu.mm(a)}, vec{c.fpu.mm(b)}, 8)
		}
	}
	d.in.base = rdi
	d.implied()
	return true
}

// storeMasked stores the bytes, of n, that mask names. It faults as a store of all of them would (measured on an Intel
// processor with AMX; the manual lets a processor choose).
func (c *CPU) storeMasked(at uint64, v, mask vec, n int) {
	last := (at + uint64(n) - 1) & c.AddrMask
	for _, va := range []uint64{at, max(at, last&^0xfff)} {
		if _, ok := c.DataAddress(va, true); !ok {
			return
		}
	}
	for i := range n {
		if mask.lane(i, 8) >= 0x80 && !store(c, (at+uint64(i))&c.AddrMask, uint8(v.lane(i, 8))) {
			return
		}
	}
}

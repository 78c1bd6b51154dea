package x86

import (
	"golang.org/x/arch/x86/x86asm"

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

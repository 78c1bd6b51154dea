package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
	"kprobesim/internal/encoding"
)

// vec is a vector register of 128 bits, its lower half first.
type vec [2]uint64

// lanes applies f to the lanes of two vectors, each of some bits.
func lanes(n uint, f func(a, b uint64) uint64) func(a, b vec) vec {
	mask := ^uint64(0) >> (64 - n)
	return func(a, b vec) (r vec) {
		for i := range r {
			for s := uint(0); s < 64; s += n {
				r[i] |= f(a[i]>>s&mask, b[i]>>s&mask) & mask << s
			}
		}
		return r
	}
}

// sext is the signed value of a lane of n bits.
func sext(v uint64, n uint) int64 { return int64(v<<(64-n)) >> (64 - n) }

// saturate bounds a value to n bits, signed or not.
func saturate(v int64, n uint, signed bool) uint64 {
	lo, hi := int64(0), int64(1)<<n-1
	if signed {
		lo, hi = -1<<(n-1), 1<<(n-1)-1
	}
	return uint64(min(max(v, lo), hi))
}

func vadd(a, b uint64) uint64 { return a + b }
func vsub(a, b uint64) uint64 { return a - b }

func vequal(a, b uint64) uint64 { return -boolBit(a == b) }

func vgreater(n uint) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 { return -boolBit(sext(a, n) > sext(b, n)) }
}

func vand(a, b vec) vec  { return vec{a[0] & b[0], a[1] & b[1]} }
func vandn(a, b vec) vec { return vec{^a[0] & b[0], ^a[1] & b[1]} }
func vor(a, b vec) vec   { return vec{a[0] | b[0], a[1] | b[1]} }
func vxor(a, b vec) vec  { return vec{a[0] ^ b[0], a[1] ^ b[1]} }

// sat adds (sign 1) or subtracts (-1) with saturation.
func sat(n uint, signed bool, sign int64) func(a, b vec) vec {
	return lanes(n, func(a, b uint64) uint64 {
		if signed {
			return saturate(sext(a, n)+sign*sext(b, n), n, true)
		}
		return saturate(int64(a)+sign*int64(b), n, false)
	})
}

// lane reads lane i of n bits.
func (v vec) lane(i int, n uint) uint64 {
	at := uint(i) * n
	return v[at/64] >> (at % 64) & (^uint64(0) >> (64 - n))
}

// with returns v with lane i of n bits replaced.
func (v vec) with(i int, n uint, x uint64) vec {
	at, mask := uint(i)*n, ^uint64(0)>>(64-n)
	v[at/64] = v[at/64]&^(mask<<(at%64)) | x&mask<<(at%64)
	return v
}

// interleave takes lanes of two vectors in turns, from their lower or upper halves.
func interleave(n uint, high bool) func(a, b vec) vec {
	return func(a, b vec) (r vec) {
		count := int(128 / n)
		from := 0
		if high {
			from = count / 2
		}
		for i := range count / 2 {
			r = r.with(2*i, n, a.lane(from+i, n)).with(2*i+1, n, b.lane(from+i, n))
		}
		return r
	}
}

// pack narrows the lanes of two vectors with saturation.
func pack(n uint, signed bool) func(a, b vec) vec {
	return func(a, b vec) (r vec) {
		count := int(128 / n)
		for i := range count {
			r = r.with(i, n/2, saturate(sext(a.lane(i, n), n), n/2, signed))
			r = r.with(count+i, n/2, saturate(sext(b.lane(i, n), n), n/2, signed))
		}
		return r
	}
}

// shifted lanes: counts beyond the width clear, or fill with the sign.
func vshift(n uint, f func(v uint64, by uint) uint64, arithmetic bool) func(a, b vec) vec {
	return func(a, b vec) vec {
		by := uint(min(b[0], uint64(n)))
		if arithmetic {
			by = min(by, n-1)
		}
		return lanes(n, func(v, _ uint64) uint64 { return f(v, by) })(a, vec{})
	}
}

func left(v uint64, by uint) uint64  { return v << by }
func right(v uint64, by uint) uint64 { return v >> by }

func rightSigned(n uint) func(v uint64, by uint) uint64 {
	return func(v uint64, by uint) uint64 { return uint64(sext(v, n) >> by) }
}

// bytesLeft and bytesRight shift the whole register by bytes.
func bytesLeft(a, b vec) vec {
	switch by := 8 * b[0]; {
	case by >= 128:
		return vec{}
	case by >= 64:
		return vec{0, a[0] << (by - 64)}
	default:
		return vec{a[0] << by, a[1]<<by | a[0]>>(64-by)}
	}
}

func bytesRight(a, b vec) vec {
	switch by := 8 * b[0]; {
	case by >= 128:
		return vec{}
	case by >= 64:
		return vec{a[1] >> (by - 64), 0}
	default:
		return vec{a[0]>>by | a[1]<<(64-by), a[1] >> by}
	}
}

func multiplyEven(a, b vec) vec {
	return vec{a[0] & 0xffffffff * (b[0] & 0xffffffff), a[1] & 0xffffffff * (b[1] & 0xffffffff)}
}

// multiplyAdd multiplies signed words and adds neighbours.
func multiplyAdd(a, b vec) (r vec) {
	for i := range 4 {
		x := sext(a.lane(2*i, 16), 16)*sext(b.lane(2*i, 16), 16) + sext(a.lane(2*i+1, 16), 16)*sext(b.lane(2*i+1, 16), 16)
		r = r.with(i, 32, uint64(x))
	}
	return r
}

// distances adds the distances of bytes, in each half.
func distances(a, b vec) (r vec) {
	for i := range 16 {
		x, y := a.lane(i, 8), b.lane(i, 8)
		r[i/8] += max(x, y) - min(x, y)
	}
	return r
}

// vectorOps are the operations on two registers, or one and memory, that change the first (SDM vol. 1,
// 5.5 and 5.6, without what computes with floating point).
var vectorOps = map[x86asm.Op]func(a, b vec) vec{
	x86asm.PAND: vand, x86asm.ANDPS: vand, x86asm.ANDPD: vand,
	x86asm.PANDN: vandn, x86asm.ANDNPS: vandn, x86asm.ANDNPD: vandn,
	x86asm.POR: vor, x86asm.ORPS: vor, x86asm.ORPD: vor,
	x86asm.PXOR: vxor, x86asm.XORPS: vxor, x86asm.XORPD: vxor,

	x86asm.PADDB: lanes(8, vadd), x86asm.PADDW: lanes(16, vadd), x86asm.PADDD: lanes(32, vadd), x86asm.PADDQ: lanes(64, vadd),
	x86asm.PSUBB: lanes(8, vsub), x86asm.PSUBW: lanes(16, vsub), x86asm.PSUBD: lanes(32, vsub), x86asm.PSUBQ: lanes(64, vsub),
	x86asm.PADDSB: sat(8, true, 1), x86asm.PADDSW: sat(16, true, 1), x86asm.PADDUSB: sat(8, false, 1), x86asm.PADDUSW: sat(16, false, 1),
	x86asm.PSUBSB: sat(8, true, -1), x86asm.PSUBSW: sat(16, true, -1), x86asm.PSUBUSB: sat(8, false, -1), x86asm.PSUBUSW: sat(16, false, -1),

	x86asm.PCMPEQB: lanes(8, vequal), x86asm.PCMPEQW: lanes(16, vequal), x86asm.PCMPEQD: lanes(32, vequal),
	x86asm.PCMPGTB: lanes(8, vgreater(8)), x86asm.PCMPGTW: lanes(16, vgreater(16)), x86asm.PCMPGTD: lanes(32, vgreater(32)),
	x86asm.PMINUB: lanes(8, func(a, b uint64) uint64 { return min(a, b) }),
	x86asm.PMAXUB: lanes(8, func(a, b uint64) uint64 { return max(a, b) }),
	x86asm.PMINSW: lanes(16, func(a, b uint64) uint64 { return uint64(min(sext(a, 16), sext(b, 16))) }),
	x86asm.PMAXSW: lanes(16, func(a, b uint64) uint64 { return uint64(max(sext(a, 16), sext(b, 16))) }),
	x86asm.PAVGB:  lanes(8, func(a, b uint64) uint64 { return (a + b + 1) >> 1 }),
	x86asm.PAVGW:  lanes(16, func(a, b uint64) uint64 { return (a + b + 1) >> 1 }),

	x86asm.PMULLW:  lanes(16, func(a, b uint64) uint64 { return a * b }),
	x86asm.PMULHW:  lanes(16, func(a, b uint64) uint64 { return uint64(sext(a, 16) * sext(b, 16) >> 16) }),
	x86asm.PMULHUW: lanes(16, func(a, b uint64) uint64 { return a * b >> 16 }),
	x86asm.PMULUDQ: multiplyEven, x86asm.PMADDWD: multiplyAdd, x86asm.PSADBW: distances,

	x86asm.PUNPCKLBW: interleave(8, false), x86asm.PUNPCKLWD: interleave(16, false), x86asm.PUNPCKLDQ: interleave(32, false),
	x86asm.PUNPCKHBW: interleave(8, true), x86asm.PUNPCKHWD: interleave(16, true), x86asm.PUNPCKHDQ: interleave(32, true),
	x86asm.PUNPCKLQDQ: interleave(64, false), x86asm.PUNPCKHQDQ: interleave(64, true),
	x86asm.UNPCKLPS: interleave(32, false), x86asm.UNPCKHPS: interleave(32, true),
	x86asm.UNPCKLPD: interleave(64, false), x86asm.UNPCKHPD: interleave(64, true),
	x86asm.PACKSSWB: pack(16, true), x86asm.PACKSSDW: pack(32, true), x86asm.PACKUSWB: pack(16, false),

	x86asm.PSLLW: vshift(16, left, false), x86asm.PSLLD: vshift(32, left, false), x86asm.PSLLQ: vshift(64, left, false),
	x86asm.PSRLW: vshift(16, right, false), x86asm.PSRLD: vshift(32, right, false), x86asm.PSRLQ: vshift(64, right, false),
	x86asm.PSRAW: vshift(16, rightSigned(16), true), x86asm.PSRAD: vshift(32, rightSigned(32), true),
	x86asm.PSLLDQ: bytesLeft, x86asm.PSRLDQ: bytesRight,
}

// shuffles take an immediate that names the lanes.
var shuffles = map[x86asm.Op]func(a, b vec, imm uint64) vec{
	x86asm.PSHUFD:  func(_, b vec, imm uint64) vec { return pick(b, b, 32, 0, imm) },
	x86asm.PSHUFLW: func(_, b vec, imm uint64) vec { r := pick(b, b, 16, 0, imm); return vec{r[0], b[1]} },
	x86asm.PSHUFHW: func(_, b vec, imm uint64) vec { r := pick(b, b, 16, 4, imm); return vec{b[0], r[0]} },
	x86asm.SHUFPS:  func(a, b vec, imm uint64) vec { return pick(a, b, 32, 0, imm) },
	x86asm.SHUFPD:  func(a, b vec, imm uint64) vec { return vec{a[imm&1], b[imm>>1&1]} },
	x86asm.PALIGNR: joinedBytes,
}

// pick makes four lanes, the first two of a and the others of b, from lane base on.
func pick(a, b vec, n uint, base int, imm uint64) (r vec) {
	for i := range 4 {
		from := a
		if i >= 2 {
			from = b
		}
		r = r.with(i, n, from.lane(base+int(imm>>(2*i)&3), n))
	}
	return r
}

// loadVec loads 16 bytes, which must be aligned for most instructions (SDM vol. 1, 10.7.3).
func (c *CPU) loadVec(va uint64, aligned bool) (v vec, ok bool) {
	if aligned && va&15 != 0 {
		c.raiseCode(vecGP, 0)
		return v, false
	}
	if v[0], ok = load[uint64](c, va); ok {
		v[1], ok = load[uint64](c, (va+8)&c.AddrMask)
	}
	return v, ok
}

// storeVec stores 16 bytes, of which the page of the last is looked at first.
func (c *CPU) storeVec(va uint64, v vec, aligned bool) {
	if aligned && va&15 != 0 {
		c.raiseCode(vecGP, 0)
		return
	}
	if last := (va + 15) & c.AddrMask; last>>12 != va>>12 {
		if _, ok := c.DataAddress(va, true); !ok {
			return
		}
		if _, ok := c.DataAddress(last&^0xfff, true); !ok {
			return
		}
	}
	if store(c, va, v[0]) {
		store(c, (va+8)&c.AddrMask, v[1])
	}
}

// xmmOf is the number of a vector register; ok is false for another one.
func xmmOf(a x86asm.Arg) (n uint8, ok bool) {
	r, ok := a.(x86asm.Reg)
	return uint8(r - x86asm.X0), ok && r >= x86asm.X0 && r <= x86asm.X15
}

// vectorOp makes the row of an operation that changes its first operand.
func vectorOp(f func(a, b vec) vec) row {
	return vectorRow(func(a, b vec, _ uint64) vec { return f(a, b) })
}

// vectorRow is vectorOp with the immediate. A shift by an immediate has it in place of its second operand.
func vectorRow(f func(a, b vec, imm uint64) vec) row {
	return vectorForm(16, ioReadDst, func(_ *CPU, a, b vec, imm uint64) (vec, bool) { return f(a, b, imm), true })
}

// vectorFunc gives the new value of the first operand. ok is false when an exception is pending.
type vectorFunc func(c *CPU, a, b vec, imm uint64) (v vec, ok bool)

// vectorForm makes the row of an operation on two operands that sets the first. The second has n bytes in memory.
func vectorForm(n int, io uint16, f vectorFunc) row {
	return row{class: clVector, io: io, bind: func(d *decoder, r *row) bool {
		dst, ok := xmmOf(d.x.Args[0])
		if d.in.dst = rXMM + dst; readsSecond(d.x.Op) {
			r.io = 0
		}
		imm, _ := d.x.Args[2].(x86asm.Imm)
		second, known := d.vectorSource(d.x.Args[1], n)
		d.exec = func(c *CPU, in *inst) {
			if !c.sseReady() {
				return
			}
			b, ok := second(c, in)
			if !ok {
				return
			}
			if v, ok := f(c, c.fpu.xmm[dst], b, uint64(imm)&0xff); ok {
				c.fpu.xmm[dst] = v
			}
		}
		return ok && known
	}}
}

// vectorSource binds the second operand of a vector instruction: n bytes in memory, of which 16 must be aligned and take
// two loads, a register of either kind, or an immediate.
func (d *decoder) vectorSource(a x86asm.Arg, n int) (fetch func(c *CPU, in *inst) (vec, bool), ok bool) {
	switch a := a.(type) {
	case x86asm.Mem:
		m := movement{n: n, aligned: n == 16}
		d.op.Flags |= engine.Loads | m.ends()
		return func(c *CPU, in *inst) (vec, bool) { return c.loadPart(c.ea(in), m) }, d.memory(a)
	case x86asm.Imm:
		v := vec{uint64(a) & 0xff}
		return func(*CPU, *inst) (vec, bool) { return v, true }, true
	case x86asm.Reg:
		if from, ok := xmmOf(a); ok {
			d.in.src = rXMM + from
			return func(c *CPU, _ *inst) (vec, bool) { return c.fpu.xmm[from], true }, true
		}
		from, _, ok := register(a)
		d.in.src = from
		return func(c *CPU, _ *inst) (vec, bool) { return vec{c.R[from&63]}, true }, ok
	}
	return nil, false
}

// readsSecond reports an operation that does not look at its first operand.
func readsSecond(op x86asm.Op) bool {
	switch op {
	case x86asm.PSHUFD, x86asm.PSHUFLW, x86asm.PSHUFHW, x86asm.PABSB, x86asm.PABSW, x86asm.PABSD:
		return true
	}
	return false
}

// movement describes a move of n bytes between vector registers and memory, or general registers.
type movement struct {
	n       int
	aligned bool
	keep    bool // a load from a register keeps the rest of the destination
	high    bool // the upper half is meant
}

// get and put are the part of a register that moves.
func (m movement) part(v vec) vec {
	switch {
	case m.high:
		return vec{v[1], 0}
	case m.n == 16:
		return v
	case m.n == 8:
		return vec{v[0], 0}
	}
	return vec{v[0] & 0xffffffff, 0}
}

// merge puts what was loaded into the old register: moves of halves keep the other half, and others
// clear what is above.
func (m movement) merge(old, v vec, fromMemory bool) vec {
	switch {
	case m.high:
		return vec{old[0], v[0]}
	case m.keep && m.n == 8:
		return vec{v[0], old[1]}
	case m.keep && !fromMemory:
		return vec{old[0]&^0xffffffff | v[0], old[1]}
	}
	return v
}

func (c *CPU) loadPart(va uint64, m movement) (vec, bool) {
	switch m.n {
	case 16:
		return c.loadVec(va, m.aligned)
	case 8:
		v, ok := load[uint64](c, va)
		return vec{v}, ok
	}
	v, ok := load[uint32](c, va)
	return vec{uint64(v)}, ok
}

func (c *CPU) storePart(va uint64, v vec, m movement) {
	switch m.n {
	case 16:
		c.storeVec(va, v, m.aligned)
	case 8:
		store(c, va, v[0])
	default:
		store(c, va, uint32(v[0]))
	}
}

// ends has a move of 16 bytes end its block, since it makes two accesses.
func (m movement) ends() uint16 {
	if m.n == 16 {
		return engine.Ends
	}
	return 0
}

// vectorMove makes the row of a move.
func vectorMove(m movement) row {
	return row{class: clVector, bind: func(d *decoder, r *row) bool {
		dst, toXMM := xmmOf(d.x.Args[0])
		from, fromXMM := xmmOf(d.x.Args[1])
		if mem, ok := d.x.Args[0].(x86asm.Mem); ok {
			d.in.src = rXMM + from
			d.op.Class, d.op.Flags = clVectorStore, d.op.Flags|engine.Stores|m.ends()
			d.exec = func(c *CPU, in *inst) {
				if c.sseReady() {
					c.storePart(c.ea(in), m.part(c.fpu.xmm[from]), m)
				}
			}
			return fromXMM && d.memory(mem)
		}
		if mem, ok := d.x.Args[1].(x86asm.Mem); ok {
			d.in.dst = rXMM + dst
			d.op.Class, d.op.Flags = clVectorLoad, d.op.Flags|engine.Loads|m.ends()
			half := m
			half.keep = m.keep && m.n == 8 && d.x.Op != x86asm.MOVSD_XMM
			if m.high || half.keep {
				r.io = ioReadDst
			}
			d.exec = func(c *CPU, in *inst) {
				if !c.sseReady() {
					return
				}
				if v, ok := c.loadPart(c.ea(in), m); ok {
					c.fpu.xmm[dst] = half.merge(c.fpu.xmm[dst], v, true)
				}
			}
			return toXMM && d.memory(mem)
		}
		if m.keep && toXMM {
			r.io = ioReadDst
		}
		return bindVectorRegisters(d, m, dst, from, toXMM, fromXMM)
	}}
}

// bindVectorRegisters binds a move between registers, one of which may be a general one.
func bindVectorRegisters(d *decoder, m movement, dst, from uint8, toXMM, fromXMM bool) bool {
	switch {
	case toXMM && fromXMM:
		d.in.dst, d.in.src = rXMM+dst, rXMM+from
		d.exec = func(c *CPU, _ *inst) {
			if c.sseReady() {
				c.fpu.xmm[dst] = m.merge(c.fpu.xmm[dst], m.part(c.fpu.xmm[from]), false)
			}
		}
		return true
	case toXMM:
		r, _ := d.x.Args[1].(x86asm.Reg)
		n, _, ok := register(r)
		d.in.dst, d.in.src = rXMM+dst, n
		d.exec = func(c *CPU, _ *inst) {
			if c.sseReady() {
				c.fpu.xmm[dst] = m.part(vec{c.R[n&63]})
			}
		}
		return ok
	case fromXMM:
		r, _ := d.x.Args[0].(x86asm.Reg)
		n, _, ok := register(r)
		d.in.dst, d.in.src = n, rXMM+from
		d.exec = func(c *CPU, _ *inst) {
			if c.sseReady() {
				c.R[n&63] = m.part(c.fpu.xmm[from])[0]
			}
		}
		return ok
	}
	return false
}

// halves moves one half of a register to the other half of another: movhlps and movlhps.
func halves(f func(a, b vec) vec) row { return vectorOp(f) }

// toGeneral makes the row of an instruction that takes bits of a vector into a general register.
func toGeneral(f func(v vec, imm uint64) uint64) row {
	return generalForm(16, func(_ *CPU, v vec, imm uint64, _ int) (uint64, bool) { return f(v, imm), true })
}

// generalForm makes the row of an instruction that sets a general register, of size bits, by a vector.
func generalForm(n int, f func(c *CPU, v vec, imm uint64, size int) (r uint64, ok bool)) row {
	return row{class: clVector, bind: func(d *decoder, _ *row) bool {
		r, isReg := d.x.Args[0].(x86asm.Reg)
		dst, bytes, general := register(r)
		d.in.dst = dst
		imm, _ := d.x.Args[2].(x86asm.Imm)
		second, known := d.vectorSource(d.x.Args[1], n)
		d.exec = func(c *CPU, in *inst) {
			if !c.sseReady() {
				return
			}
			v, ok := second(c, in)
			if !ok {
				return
			}
			if r, ok := f(c, v, uint64(imm), 8*bytes); ok {
				c.R[dst&63] = r
			}
		}
		return isReg && general && known
	}}
}

// topBits collects the highest bit of each lane.
func topBits(n uint) func(v vec, _ uint64) uint64 {
	return func(v vec, _ uint64) (r uint64) {
		for i := range int(128 / n) {
			r |= v.lane(i, n) >> (n - 1) << i
		}
		return r
	}
}

// bindInsertWord binds pinsrw, which replaces a word by one of a register or of memory.
func bindInsertWord(d *decoder, _ *row) bool {
	dst, ok := xmmOf(d.x.Args[0])
	imm, _ := d.x.Args[2].(x86asm.Imm)
	d.in.dst = rXMM + dst
	i := int(imm & 7)
	if m, isMem := d.x.Args[1].(x86asm.Mem); isMem {
		d.op.Flags |= engine.Loads
		d.exec = func(c *CPU, in *inst) {
			if !c.sseReady() {
				return
			}
			if v, ok := load[uint16](c, c.ea(in)); ok {
				c.fpu.xmm[dst] = c.fpu.xmm[dst].with(i, 16, uint64(v))
			}
		}
		return ok && d.memory(m)
	}
	r, isReg := d.x.Args[1].(x86asm.Reg)
	n, _, general := register(r)
	d.in.src = n
	d.exec = func(c *CPU, _ *inst) {
		if c.sseReady() {
			c.fpu.xmm[dst] = c.fpu.xmm[dst].with(i, 16, c.R[n&63])
		}
	}
	return ok && isReg && general
}

// vectors are the moves and the integer operations of MMX, SSE and its successors to SSSE3.
func vectors() map[x86asm.Op]row {
	rows := map[x86asm.Op]row{
		x86asm.MOVAPS: vectorMove(movement{n: 16, aligned: true}), x86asm.MOVAPD: vectorMove(movement{n: 16, aligned: true}),
		x86asm.MOVDQA: vectorMove(movement{n: 16, aligned: true}), x86asm.MOVNTDQ: vectorMove(movement{n: 16, aligned: true}),
		x86asm.MOVNTPS: vectorMove(movement{n: 16, aligned: true}), x86asm.MOVNTPD: vectorMove(movement{n: 16, aligned: true}),
		x86asm.MOVUPS: vectorMove(movement{n: 16}), x86asm.MOVUPD: vectorMove(movement{n: 16}), x86asm.MOVDQU: vectorMove(movement{n: 16}),
		x86asm.MOVQ: vectorMove(movement{n: 8}), x86asm.MOVD: vectorMove(movement{n: 4}),
		x86asm.MOVSS: vectorMove(movement{n: 4, keep: true}), x86asm.MOVSD_XMM: vectorMove(movement{n: 8, keep: true}),
		x86asm.MOVLPS: vectorMove(movement{n: 8, keep: true}), x86asm.MOVLPD: vectorMove(movement{n: 8, keep: true}),
		x86asm.MOVHPS: vectorMove(movement{n: 8, high: true}), x86asm.MOVHPD: vectorMove(movement{n: 8, high: true}),
		x86asm.MOVHLPS:  halves(func(a, b vec) vec { return vec{b[1], a[1]} }),
		x86asm.MOVLHPS:  halves(func(a, b vec) vec { return vec{a[0], b[0]} }),
		x86asm.PMOVMSKB: toGeneral(topBits(8)), x86asm.MOVMSKPS: toGeneral(topBits(32)), x86asm.MOVMSKPD: toGeneral(topBits(64)),
		x86asm.PEXTRW: toGeneral(func(v vec, imm uint64) uint64 { return v.lane(int(imm&7), 16) }),
		x86asm.PINSRW: {class: clVector, io: ioReadDst, bind: bindInsertWord},
	}
	for op, f := range encoding.Union(vectorOps, ssse3) {
		rows[op] = vectorOp(f)
	}
	for op, f := range shuffles {
		rows[op] = vectorRow(f)
	}
	return encoding.Union(withMMX(rows), sse3(), mmxConversions(), maskedMoves())
}

package x86

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
	"kprobesim/cpus/float"
	"kprobesim/internal/encoding"
)

// mmxOf is the number of a register of MMX; ok is false for another one.
func mmxOf(a x86asm.Arg) (n uint8, ok bool) {
	r, ok := a.(x86asm.Reg)
	return uint8(r - x86asm.M0), ok && r >= x86asm.M0 && r <= x86asm.M7
}

// mmxReady checks what MMX needs: no emulation, a unit that is this task's, and no exception of x87 that waits (SDM vol. 3,
// 12.1).
func (c *CPU) mmxReady() bool {
	if c.cr0&cr0EM != 0 {
		c.raise(vecUD)
		return false
	}
	return c.x87Waits()
}

// mm is a register of MMX: the significand of the register of x87 with its number, wherever the top is.
func (f *fpu) mm(i uint8) uint64 { return f.st[(uint16(i)-f.top())&7][0] }

// enterMMX changes x87 as every instruction of MMX does: the top is register 0 and no register is empty (SDM vol. 3, 12.2).
func (f *fpu) enterMMX() {
	f.clearTop()
	f.tags = 0xff
}

// clearTop makes register 0 the top.
func (f *fpu) clearTop() {
	for f.top() != 0 {
		f.rotate(false)
	}
}

// setMM sets a register behind enterMMX. Its exponent becomes all ones, so that x87 finds no number in it.
func (f *fpu) setMM(i uint8, v uint64) { f.st[i] = vec{v, 0xffff} }

// emms empties the registers, for x87.
func emms(c *CPU, _ *inst) {
	if c.mmxReady() {
		c.fpu.enterMMX()
		c.fpu.tags = 0
	}
}

// bindEMMS binds emms, which prefixes that choose an instruction make undefined.
func bindEMMS(d *decoder, _ *row) bool {
	d.exec = emms
	return !slices.ContainsFunc(d.x.Prefix[:], func(p x86asm.Prefix) bool {
		return p&0xff == x86asm.PrefixREP || p&0xff == x86asm.PrefixREPN || p&0xff == x86asm.PrefixDataSize
	})
}

// mmxFunc computes with two registers.
type mmxFunc func(a, b, imm uint64) uint64

// mmxHalf has an operation on vectors work on their lower half.
func mmxHalf(f func(a, b vec) vec) mmxFunc {
	return func(a, b, _ uint64) uint64 { return f(vec{a}, vec{b})[0] }
}

// mmxUpper is mmxHalf for one that takes the upper lanes.
func mmxUpper(f func(a, b vec) vec) mmxFunc {
	return func(a, b, _ uint64) uint64 { return f(vec{0, a}, vec{0, b})[1] }
}

// mmxJoined is mmxHalf for one that narrows both operands.
func mmxJoined(f func(a, b vec) vec) mmxFunc {
	return func(a, b, _ uint64) uint64 { return f(vec{a, b}, vec{})[0] }
}

// mmxOperand binds a source: memory of the decoder's size, an immediate, or a register of any kind.
func (d *decoder) mmxOperand(a x86asm.Arg) (fetch func(c *CPU, in *inst) (uint64, bool), ok bool) {
	if i, ok := mmxOf(a); ok {
		return func(c *CPU, _ *inst) (uint64, bool) { return c.fpu.mm(i), true }, true
	}
	_, isMem := a.(x86asm.Mem)
	n := d.x.MemBytes
	if isMem && n != 2 && n != 4 && n != 8 {
		return nil, false
	}
	if isMem && n == 2 {
		m, _ := a.(x86asm.Mem)
		d.op.Flags |= engine.Loads
		return func(c *CPU, in *inst) (uint64, bool) {
			v, ok := load[uint16](c, c.ea(in))
			return uint64(v), ok
		}, d.memory(m)
	}
	get, ok := d.vectorSource(a, n)
	return func(c *CPU, in *inst) (uint64, bool) {
		v, ok := get(c, in)
		return v[0], ok
	}, ok
}

// mmxResult binds a destination, which is of any kind but an immediate. false is a store that faults: it has cleared the
// top by then, and left the tags (measured on an Intel processor with AMX).
func (d *decoder) mmxResult(a x86asm.Arg) (put func(c *CPU, in *inst, v uint64) bool, ok bool) {
	switch a := a.(type) {
	case x86asm.Mem:
		n := d.x.MemBytes
		d.op.Class, d.op.Flags = clVectorStore, d.op.Flags|engine.Stores
		return func(c *CPU, in *inst, v uint64) bool {
			if c.fpu.clearTop(); n == 8 {
				return store(c, c.ea(in), v)
			}
			return store(c, c.ea(in), uint32(v))
		}, (n == 4 || n == 8) && d.memory(a)
	case x86asm.Reg:
		if i, ok := mmxOf(a); ok {
			return func(c *CPU, _ *inst, v uint64) bool { c.fpu.enterMMX(); c.fpu.setMM(i, v); return true }, true
		}
		if i, ok := xmmOf(a); ok {
			d.in.dst = rXMM + i
			return func(c *CPU, _ *inst, v uint64) bool { c.fpu.xmm[i] = vec{v}; return true }, true
		}
		n, _, ok := register(a)
		d.in.dst = n
		return func(c *CPU, _ *inst, v uint64) bool { c.R[n&63] = v; return true }, ok
	}
	return nil, false
}

// mmxBind binds f to the destination and the source that an instruction names. It ends a block, as x87 does, and no cost model
// follows its registers.
func mmxBind(f mmxFunc) func(d *decoder, r *row) bool {
	return func(d *decoder, r *row) bool {
		imm, _ := d.x.Args[2].(x86asm.Imm)
		put, known := d.mmxResult(d.x.Args[0])
		get, ok := d.mmxOperand(d.x.Args[1])
		dst, _ := mmxOf(d.x.Args[0])
		r.io &^= ioReadDst
		d.op.Flags |= engine.Ends
		d.exec = func(c *CPU, in *inst) {
			if !c.mmxReady() {
				return
			}
			if v, ok := get(c, in); ok && put(c, in, f(c.fpu.mm(dst), v, uint64(imm)&0xff)) {
				c.fpu.enterMMX()
			}
		}
		return ok && known
	}
}

// mmxOthers are the operations that are not the lower half of what a vector does.
func mmxOthers() map[x86asm.Op]mmxFunc {
	whole := func(_, b, _ uint64) uint64 { return b }
	return encoding.Union(mmxSSSE3(), map[x86asm.Op]mmxFunc{
		x86asm.PUNPCKHBW: mmxUpper(interleave(8, true)), x86asm.PUNPCKHWD: mmxUpper(interleave(16, true)),
		x86asm.PUNPCKHDQ: mmxUpper(interleave(32, true)),
		x86asm.PACKSSWB:  mmxJoined(pack(16, true)), x86asm.PACKSSDW: mmxJoined(pack(32, true)), x86asm.PACKUSWB: mmxJoined(pack(16, false)),
		x86asm.MOVQ: whole, x86asm.MOVNTQ: whole, x86asm.MOVQ2DQ: whole, x86asm.MOVDQ2Q: whole,
		x86asm.MOVD:     func(_, b, _ uint64) uint64 { return b & 0xffffffff },
		x86asm.PMOVMSKB: func(_, b, _ uint64) uint64 { return topBits(8)(vec{b}, 0) },
		x86asm.PEXTRW:   func(_, b, imm uint64) uint64 { return vec{b}.lane(int(imm&3), 16) },
		x86asm.PINSRW:   func(a, b, imm uint64) uint64 { return vec{a}.with(int(imm&3), 16, b)[0] },
		x86asm.PSHUFW:   func(_, b, imm uint64) uint64 { return pick(vec{b}, vec{b}, 16, 0, imm)[0] },
	})
}

// mmxFuncs are SDM vol. 1, 5.4, and what SSE, SSE2 and SSSE3 add to it (5.5.3, 5.6.3 and 5.8), without conversions and
// masked moves.
func mmxFuncs() map[x86asm.Op]mmxFunc {
	halves := map[x86asm.Op]mmxFunc{}
	others := mmxOthers()
	for op, f := range encoding.Union(vectorOps, ssse3) {
		if _, ok := others[op]; !ok {
			halves[op] = mmxHalf(f)
		}
	}
	return encoding.Union(halves, others)
}

// namesMMX reports an operand in a register of MMX.
func (d *decoder) namesMMX() bool {
	for _, a := range d.x.Args {
		if _, ok := mmxOf(a); ok {
			return true
		}
	}
	return false
}

// withMMX adds forms of MMX to the rows of vectors, and rows for what only MMX has.
func withMMX(rows map[x86asm.Op]row) map[x86asm.Op]row {
	for op, f := range mmxFuncs() {
		r, bind := rows[op], mmxBind(f)
		vector := r.bind
		r.class = clVector
		r.bind = func(d *decoder, r *row) bool {
			if d.namesMMX() {
				return bind(d, r)
			}
			return vector != nil && vector(d, r)
		}
		rows[op] = r
	}
	rows[x86asm.EMMS] = row{class: clX87Control, flags: engine.Ends, bind: bindEMMS}
	return rows
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

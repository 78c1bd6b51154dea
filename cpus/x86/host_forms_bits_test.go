package x86

import "fmt"

// undefForCount tells the flags that a shift or rotate by n leaves undefined.
func undefForCount(ext, w int, n uint64) uint64 {
	mask := uint64(31)
	if w == 8 {
		mask = 63
	}
	n &= mask
	if n == 0 {
		return 0
	}
	var u uint64
	if n != 1 {
		u |= flagOF
	}
	if ext >= 4 {
		u |= flagAF
		if n >= uint64(8*w) && ext != 7 {
			u |= flagCF
		}
	}
	return u
}

func buildShifts(g *gen) {
	for ext, name := range []string{"rol", "ror", "rcl", "rcr", "shl", "shr", "sal", "sar"} {
		for _, w := range widths {
			g.shiftForms(name, ext, w)
		}
	}
	for _, op := range []byte{0xa4, 0xac} {
		for _, w := range []int{2, 4, 8} {
			g.doubleShifts(op, w)
		}
	}
}

// shiftForms adds one shift by one, by immediates and by CL, over all counts.
func (g *gen) shiftForms(name string, ext, w int) {
	each(2, func() { g.xr(name+" 1", undefForCount(ext, w, 1), w, ext, opcode(w, 0xd0), nil) })
	each(2, func() { g.xm(name+" 1", undefForCount(ext, w, 1), w, ext, opcode(w, 0xd0), nil, nil) })
	for _, n := range []byte{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 127, 128, 255} {
		u := undefForCount(ext, w, uint64(n))
		g.xr(fmt.Sprintf("%s $%d", name, n), u, w, ext, opcode(w, 0xc0), []byte{n})
		g.xm(fmt.Sprintf("%s $%d", name, n), u, w, ext, opcode(w, 0xc0), []byte{n}, nil)
	}
	byCL := func(v *vector) uint64 { return undefForCount(ext, w, v.regs[rcx]) }
	for range 6 {
		f := g.xr(name+" cl", 0, w, ext, opcode(w, 0xd2), nil)
		f.undefOf = byCL
		f.also(func(v *vector) { v.regs[rcx] = v.rng.Uint64()&^0xff | v.rng.Uint64N(256) }).times(3)
		f = g.xm(name+" cl", 0, w, ext, opcode(w, 0xd2), nil, nil)
		f.undefOf = byCL
	}
}

// doubleShifts adds shld and shrd. Counts beyond the width of 16-bit operands are undefined.
func (g *gen) doubleShifts(op byte, w int) {
	name := map[byte]string{0xa4: "shld", 0xac: "shrd"}[op]
	undef := func(n uint64) uint64 {
		n &= map[int]uint64{2: 31, 4: 31, 8: 63}[w]
		switch n {
		case 0:
			return 0
		case 1:
			return flagAF
		}
		return flagAF | flagOF
	}
	for _, n := range []byte{0, 1, 2, 8, 15, 16, 31, 32, 33, 63, 64, 65, 255} {
		if w == 2 && n&31 > 16 {
			continue
		}
		g.rr(fmt.Sprintf("%s $%d", name, n), undef(uint64(n)), w, []byte{0x0f, op}, []byte{n})
		g.rm(fmt.Sprintf("%s $%d", name, n), undef(uint64(n)), w, []byte{0x0f, op}, []byte{n}, nil)
	}
	count := func(v *vector) {
		for v.regs[rcx] = v.rng.Uint64(); w == 2 && v.regs[rcx]&31 > 16; {
			v.regs[rcx]++
		}
	}
	for range 4 {
		f := g.rr(name+" cl", 0, w, []byte{0x0f, op + 1}, nil).also(count).times(3)
		f.undefOf = func(v *vector) uint64 { return undef(v.regs[rcx]) }
		m, fix := g.mem(w, rcx)
		f = g.add(fmt.Sprintf("%s%d m,r,cl", name, w*8), 0, insn{
			width: w, op: []byte{0x0f, op + 1}, modrm: true,
			reg: g.reg(w, false), mem: m,
		}).also(count).also(fix).times(3)
		f.undefOf = func(v *vector) uint64 { return undef(v.regs[rcx]) }
	}
}

func buildMultiply(g *gen) {
	for _, w := range widths {
		for _, x := range []named{{4, "mul"}, {5, "imul"}} {
			ext, name := x.ext, x.name
			each(4, func() { g.xr(name, undefMul, w, ext, opcode(w, 0xf6), nil) })
			each(4, func() { g.xm(name, undefMul, w, ext, opcode(w, 0xf6), nil, nil) })
		}
		for _, x := range []named{{6, "div"}, {7, "idiv"}} {
			ext, name := x.ext, x.name
			each(6, func() { g.xr(name, arith, w, ext, opcode(w, 0xf6), nil).times(3) })
			each(6, func() { g.xm(name, arith, w, ext, opcode(w, 0xf6), nil, nil).times(3) })
			each(6, func() { g.xr(name+" small", arith, w, ext, opcode(w, 0xf6), nil).first(smallDividend(w, ext)).times(4) })
			each(6, func() {
				g.xm(name+" small", arith, w, ext, opcode(w, 0xf6), nil, nil).first(smallDividend(w, ext)).times(4)
			})
		}
		if w == 1 {
			continue
		}
		each(3, func() { g.rr("imul", undefMul, w, []byte{0x0f, 0xaf}, nil) })
		each(3, func() { g.rm("imul", undefMul, w, []byte{0x0f, 0xaf}, nil, nil) })
		each(2, func() { g.rr("imul imm", undefMul, w, []byte{0x69}, g.immediate(immOf(w))) })
		each(2, func() { g.rm("imul imm", undefMul, w, []byte{0x69}, g.immediate(immOf(w)), nil) })
		g.rr("imul imm8", undefMul, w, []byte{0x6b}, g.immediate(1))
		g.rm("imul imm8", undefMul, w, []byte{0x6b}, g.immediate(1), nil)
	}
}

// smallDividend makes most divisions succeed: the upper half is the sign of the lower, or nearly.
func smallDividend(w, ext int) func(*vector) {
	return func(v *vector) {
		hi := uint64(0)
		if ext == 7 && v.regs[rax]>>(8*w-1)&1 != 0 {
			hi = ^uint64(0)
		}
		hi += uint64(v.rng.Int64N(3)-1) * uint64(v.rng.IntN(2))
		if w == 1 {
			v.regs[rax] = v.regs[rax]&^0xff00 | hi&0xff<<8
		} else {
			v.regs[rdx] = hi
		}
	}
}

func buildBits(g *gen) {
	for _, w := range []int{2, 4, 8} {
		for _, op := range []byte{0xbc, 0xbd} {
			each(6, func() { g.bitScan(op, w) })
		}
		each(4, func() { g.popcnt(w) })
		for _, x := range []named{{4, "bt"}, {5, "bts"}, {6, "btr"}, {7, "btc"}} {
			ext, name := x.ext, x.name
			op := []byte{0x0f, byte(0x83 | ext<<3)}
			each(4, func() { g.rr(name, undefBit, w, op, nil) })
			each(6, func() { g.bitString(name, w, op, nil) })
			each(4, func() { g.xr(name+" imm", undefBit, w, ext, []byte{0x0f, 0xba}, g.immediate(1)) })
			each(4, func() { g.xm(name+" imm", undefBit, w, ext, []byte{0x0f, 0xba}, g.immediate(1), nil) })
			if ext != 4 {
				g.bitString("lock "+name, w, op, lockPrefix)
				g.xm("lock imm "+name, undefBit, w, ext, []byte{0x0f, 0xba}, g.immediate(1), lockPrefix)
			}
		}
	}
	for _, w := range []int{2, 4, 8} {
		each(4, func() {
			g.add(fmt.Sprintf("bswap%d", w*8), 0, insn{width: w, op: []byte{0x0f, 0xc8}, rm: g.reg(w, false)})
		})
	}
}

// bitScan adds bit scans. Zero leaves the destination alone, but whether a 32-bit one loses its upper
// half then differs between processors, so that form has no zeroes.
func (g *gen) bitScan(op byte, w int) {
	name := fmt.Sprintf("bit scan %#x width %d", op, w*8)
	a, b := g.reg(w, false), g.reg(w, false)
	x := insn{width: w, op: []byte{0x0f, op}, modrm: true, reg: a, rm: b}
	f := g.add(name+" r,r", undefScan, x).times(2)
	m, fix := g.mem(w)
	x.mem = m
	fm := g.add(name+" r,m", undefScan, x).also(fix).times(2)
	if w == 4 {
		f.also(func(v *vector) { v.regs[b.n] |= 0x10 << v.rng.IntN(28) })
		fm.also(func(v *vector) { v.mem[m.address(v)-sandboxVA] |= 8 })
	}
}

func (g *gen) popcnt(w int) {
	x := insn{pre: []byte{0xf3}, width: w, op: []byte{0x0f, 0xb8}, modrm: true, reg: g.reg(w, false), rm: g.reg(w, false)}
	g.add(fmt.Sprintf("popcnt%d r,r", w*8), 0, x).times(2)
	m, fix := g.mem(w)
	x.mem = m
	g.add(fmt.Sprintf("popcnt%d r,m", w*8), 0, x).also(fix).times(2)
}

// bitString adds a bit test of memory whose bit index reaches up to 48 bytes to both sides.
func (g *gen) bitString(name string, w int, op, pre []byte) {
	idx := g.rng.IntN(g.regs)
	m, fix := g.mem(w, idx)
	if g.bits == 32 && m.seg != 0 {
		return // not modelled
	}
	if m.base < 0 && m.index >= 0 {
		m.index, m.scale = g.other([]int{idx, 4}), 0
	}
	g.add(fmt.Sprintf("%s%d m,r", name, w*8), undefBit,
		insn{pre: pre, width: w, op: op, modrm: true, reg: gpr{n: idx}, mem: m}).
		also(func(v *vector) {
			bit := uint64(v.rng.Int64N(2*48*8) - 48*8)
			keep := ^uint64(0) << (8 * w % 64)
			if w == 8 {
				keep = 0
			}
			v.regs[idx] = v.regs[idx]&keep | bit&^keep
		}).also(fix)
}

func buildExchange(g *gen) {
	for _, w := range widths {
		each(4, func() { g.rr("xchg", 0, w, opcode(w, 0x86), nil) })
		each(4, func() { g.rm("xchg", 0, w, opcode(w, 0x86), nil, nil) })
		g.rm("lock xchg", 0, w, opcode(w, 0x86), nil, lockPrefix)
		each(4, func() { g.rr("xadd", 0, w, opcode(w, 0x0f, 0xc0), nil) })
		each(2, func() { g.same("xadd", 0, w, opcode(w, 0x0f, 0xc0)) })
		each(4, func() { g.rm("xadd", 0, w, opcode(w, 0x0f, 0xc0), nil, nil) })
		g.rm("lock xadd", 0, w, opcode(w, 0x0f, 0xc0), nil, lockPrefix)
		each(8, func() { g.cmpxchg(w, nil) })
		each(2, func() { g.cmpxchg(w, lockPrefix) })
		if w > 1 {
			for r := range 16 {
				g.add(fmt.Sprintf("xchg%d a,%s", w*8, regNames[r]), 0, insn{width: w, op: []byte{0x90}, rm: gpr{n: r}})
			}
		}
	}
	for _, pre := range [][]byte{nil, lockPrefix} {
		each(8, func() { g.cmpxchgWide(4, pre) })
		each(8, func() { g.cmpxchgWide(8, pre) })
	}
}

// cmpxchg adds register and memory forms, half of whose vectors succeed.
func (g *gen) cmpxchg(w int, pre []byte) {
	op := opcode(w, 0x0f, 0xb0)
	if pre == nil {
		g.rr("cmpxchg", 0, w, op, nil)
		x := insn{width: w, op: op, modrm: true, reg: gpr{n: 1}, rm: gpr{n: 2}}
		g.add("cmpxchg equal", 0, x).also(func(v *vector) { v.regs[2] = v.regs[0] })
	}
	m, fix := g.mem(w, rax)
	g.add(fmt.Sprintf("cmpxchg%d m,r", w*8), 0, insn{pre: pre, width: w, op: op, modrm: true, reg: gpr{n: g.rng.IntN(4)}, mem: m}).
		also(fix).also(func(v *vector) {
		if v.rng.IntN(2) == 0 {
			copy(v.mem[m.address(v)-sandboxVA:], le64(v.regs[rax])[:w])
		}
	}).times(2)
}

// cmpxchgWide adds cmpxchg8b and cmpxchg16b; the latter wants 16-byte alignment and faults without.
func (g *gen) cmpxchgWide(half int, pre []byte) {
	base := g.other([]int{rax, rbx, rcx, rdx})
	m := &memop{base: base, index: -1, dispBytes: 1, disp: int32(g.rng.IntN(64))}
	g.add(fmt.Sprintf("cmpxchg%db", 2*half), 0, insn{pre: pre, width: half, op: []byte{0x0f, 0xc7}, modrm: true, reg: gpr{n: 1}, mem: m}).
		also(func(v *vector) {
			at := uint64(sandboxVA + 16*v.rng.IntN(15))
			if half == 4 || v.rng.IntN(8) == 0 {
				at += 1 + v.rng.Uint64N(15)
			}
			v.regs[base] = at - uint64(m.disp)
			if v.rng.IntN(2) == 0 {
				copy(v.mem[at-sandboxVA:], le64(v.regs[rax])[:half])
				copy(v.mem[at-sandboxVA+uint64(half):], le64(v.regs[rdx])[:half])
			}
		}).times(3)
}

package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
)

// bindMov binds mov in all its forms: general, segment, control and debug registers, which x86asm
// calls by one name. The opcodes a0 to a3 come first: in 64-bit mode their address has 64 bits. A
// mov to memory is a store without the load that bindTwo may have noted.
func bindMov(d *decoder, r *row) bool {
	dst, dstReg := d.x.Args[0].(x86asm.Reg)
	from, fromReg := d.x.Args[1].(x86asm.Reg)
	switch {
	case d.mode == 64 && d.x.Opcode>>24 >= 0xa0 && d.x.Opcode>>24 <= 0xa3:
		return d.absolute()
	case dstReg && special(dst):
		return d.toSpecial(dst)
	case fromReg && special(from):
		return d.fromSpecial(from)
	case !bindTwo(d, r):
		return false
	case !dstReg:
		d.op.Class = clStore
		d.op.Flags &^= engine.Loads
	case d.isMem(1):
		d.op.Class = clLoad
	}
	return true
}

// special tells the registers that x86asm numbers behind the general ones.
func special(r x86asm.Reg) bool { return r >= x86asm.ES }

// toSpecial binds a move to a segment, control or debug register. All end a block: a control
// register may change how code is translated, a debug register where it stops, and a segment the
// mode's rights.
func (d *decoder) toSpecial(dst x86asm.Reg) bool {
	in := &d.in
	d.op.Flags |= engine.Ends
	switch {
	case dst == x86asm.CS:
		d.meaningless = true
		return false
	case dst >= x86asm.ES && dst <= x86asm.GS:
		in.aux, d.op.Class = segmentIndex[dst], clToSeg
		if m, ok := d.x.Args[1].(x86asm.Mem); ok {
			d.exec = movToSegL
			d.op.Flags |= engine.Loads
			return d.memory(m)
		}
		d.exec = movToSeg
	case dst >= x86asm.CR0 && dst <= x86asm.CR15:
		in.aux, d.exec = uint8(dst-x86asm.CR0), movToCR
		d.op.Class = classToCR(in.aux)
	case dst >= x86asm.DR0 && dst <= x86asm.DR7:
		in.aux, d.op.Class, d.exec = uint8(dst-x86asm.DR0), clToDR, movToDR
	default:
		return false
	}
	return d.source(d.x.Args[1])
}

// classToCR is the class of a write to a control register.
func classToCR(n uint8) uint8 {
	switch n {
	case 3:
		return clToCR3
	case 8:
		return clToCR8
	}
	return clToCR
}

// fromSpecial binds a move from a segment, control or debug register. A selector goes to memory
// with 16 bits and to a register with zeroes above (SDM vol. 2, MOV).
func (d *decoder) fromSpecial(from x86asm.Reg) bool {
	in := &d.in
	if m, ok := d.x.Args[0].(x86asm.Mem); ok {
		in.aux, d.op.Class, d.exec = segmentIndex[from], clFromSeg, movFromSegM
		d.op.Flags |= engine.Stores
		return from <= x86asm.GS && d.memory(m)
	}
	n, bytes, ok := register(d.x.Args[0].(x86asm.Reg))
	in.dst = n
	switch {
	case from >= x86asm.ES && from <= x86asm.GS:
		in.aux, d.op.Class = segmentIndex[from], clFromSeg
		f := byWidth{nil, movFromSeg[uint16], movFromSeg[uint32], movFromSeg[uint64]}
		d.exec = f[max(sizeIndex(bytes), 0)]
	case from >= x86asm.CR0 && from <= x86asm.CR15:
		in.aux, d.op.Class, d.exec = uint8(from-x86asm.CR0), clFromCR, movFromCR
	case from >= x86asm.DR0 && from <= x86asm.DR7:
		in.aux, d.op.Class, d.exec = uint8(from-x86asm.DR0), clFromDR, movFromDR
	default:
		return false
	}
	return ok
}

// bindPush binds push and pop of registers, memory, immediates and segment registers in the width
// of the mode or of 16 bits. 64-bit mode has no push of 32 bits (SDM vol. 1, 6.2.2). A loaded
// segment register ends the block, and so does a stored one, for having the same row.
func bindPush(d *decoder, r *row) bool {
	i := d.modeSize()
	if d.x.DataSize == 16 {
		i = size16
	}
	d.exec = r.reg[i]
	switch a := d.x.Args[0].(type) {
	case x86asm.Mem:
		d.exec, d.op.Class = r.mem[i], r.inMem
		d.op.Flags |= engine.Loads | engine.Stores
		return d.memory(a)
	case x86asm.Imm:
		d.in.imm = uint64(a)
		return true
	case x86asm.Reg:
		if a >= x86asm.ES && a <= x86asm.GS {
			d.in.aux, d.op.Class, d.exec = segmentIndex[a], r.aux, r.load[i]
			d.op.Flags |= engine.Ends
			return true
		}
		n, _, ok := register(a)
		if r.io&ioNoWrite != 0 {
			d.in.src = n
		} else {
			d.in.dst = n
		}
		return ok
	}
	return false
}

// bindModeWidth binds an instruction without operands, or with one immediate, that works in the
// width of the mode.
func bindModeWidth(d *decoder, r *row) bool {
	i := d.modeSize()
	if !bindImm(d, r) {
		return false
	}
	if d.x.DataSize == 16 && (d.mode == 32 || r.reg[size16] != nil) {
		i = size16
	}
	if d.exec = r.reg[i]; d.mode == 16 && d.x.Op == x86asm.RET && i == size16 {
		d.exec = ret16
	}
	return true
}

// bindCount binds loop and jcxz: the width of the count is that of an address, which the prefix 67
// changes (SDM vol. 2, LOOP). No memory is accessed, so all widths are modelled.
func bindCount(d *decoder, r *row) bool {
	rel, ok := d.x.Args[0].(x86asm.Rel)
	d.in.imm, d.in.aux = d.displacement(rel), r.aux
	d.exec = r.reg[max(sizeIndex(d.x.AddrSize/8), 0)]
	d.op.Flags |= engine.Ends
	return ok
}

// displacement is that of a relative branch. With the prefix 66 in 32-bit mode the target has 16
// bits; 64-bit mode does not look at the prefix, as on Intel's processors.
func (d *decoder) displacement(rel x86asm.Rel) uint64 {
	if d.mode != 32 || d.x.DataSize != 16 {
		return uint64(int64(rel))
	}
	next := d.pc + uint64(d.x.Len)
	return (next+uint64(int64(rel)))&0xffff - next
}

// bindString binds a string instruction; its segment override is that of the source. In 32-bit mode
// fs and gs have a limit.
func bindString(d *decoder, r *row) bool {
	d.exec = r.reg[0]
	d.in.seg = segFlat
	for _, a := range d.x.Args {
		if m, ok := a.(x86asm.Mem); ok && m.Segment != 0 && sourcePointer(m.Base) {
			d.in.seg = segmentOf(m.Segment)
		}
	}
	if d.in.seg == segCS {
		d.in.seg = segFlat // CS is flat too; that it may not be readable is not looked at
	}
	d.pointers()
	r.io |= ioReadBase
	if d.in.rep != 0 {
		d.op.Class = clRepStart
		d.op.Flags |= engine.Ends
		r.io |= ioReadC | ioSetC
	}
	d.shorten()
	return true
}

// pointers names the pointers of a string instruction, which are its address and results of it.
func (d *decoder) pointers() {
	from, to := false, false
	for _, a := range d.x.Args {
		if m, ok := a.(x86asm.Mem); ok {
			from, to = from || sourcePointer(m.Base), to || !sourcePointer(m.Base)
		}
	}
	switch {
	case from && to:
		d.in.base, d.in.index, d.op.Also = rsi, rdi, 1<<rsi|1<<rdi
	case from:
		d.in.base, d.op.Also = rsi, 1<<rsi
	case to:
		d.in.base, d.op.Also = rdi, 1<<rdi
	}
}

func sourcePointer(r x86asm.Reg) bool { return r == x86asm.RSI || r == x86asm.ESI || r == x86asm.SI }

// shorten lets an instruction with implied pointers use as much of them as its address size has, and notes whether their
// segment has a limit.
func (d *decoder) shorten() {
	if d.x.AddrSize != d.mode {
		d.exec = shortPointers(d.exec, 1<<d.x.AddrSize-1)
	}
	if d.mode == 32 && limited(d.in.seg) {
		d.in.aux = 1
	}
}

// bindXlat binds xlat.
func bindXlat(d *decoder, r *row) bool {
	d.exec = r.reg[0]
	d.implied()
	return true
}

// implied binds an operand in memory that has no place in the instruction. x86asm leaves its segment override among the
// prefixes. The last one counts, of those that the mode has.
func (d *decoder) implied() {
	d.in.seg = segFlat
	for _, p := range d.x.Prefix {
		switch p & 0xff {
		case x86asm.PrefixFS:
			d.in.seg = segFS
		case x86asm.PrefixGS:
			d.in.seg = segGS
		case x86asm.PrefixCS, x86asm.PrefixDS, x86asm.PrefixES, x86asm.PrefixSS:
			if d.mode == 32 {
				d.in.seg = segFlat
			}
		}
	}
	d.shorten()
}

// bindNop binds no-ops with any operand, which is not looked at: a prefetch never faults.
func bindNop(d *decoder, r *row) bool {
	d.exec = nop
	d.in.src = rZero
	return true
}

// bindSelector binds the operand of 16 bits of instructions on selectors and on the machine status
// word. What stores it fills a register of any size and 16 bits of memory.
func bindSelector(d *decoder, r *row) bool {
	switch a := d.x.Args[0].(type) {
	case x86asm.Mem:
		d.exec = r.mem[size16]
		if r.io&ioNoWrite != 0 {
			d.op.Flags |= engine.Loads
		} else {
			d.op.Flags |= engine.Stores
		}
		return d.memory(a)
	case x86asm.Reg:
		n, bytes, ok := register(a)
		if r.io&ioNoWrite != 0 {
			d.in.src, d.exec = n, r.reg[size16]
		} else {
			d.in.dst, d.exec = n, r.reg[max(sizeIndex(bytes), 0)]
		}
		return ok
	}
	return false
}

// bindQuery binds lar and lsl: a register of the operand size, and a selector that x86asm takes for
// a register of that size too.
func bindQuery(d *decoder, r *row) bool {
	size := max(sizeIndex(d.x.DataSize/8), 0)
	dst, ok := d.x.Args[0].(x86asm.Reg)
	if !ok {
		return false
	}
	d.in.dst, _, _ = register(dst)
	return d.toRegister(r, size)
}

// bindFarPointer binds lss and its like, which load a register and, named by the row, a segment.
func bindFarPointer(d *decoder, r *row) bool {
	dst, ok := d.x.Args[0].(x86asm.Reg)
	m, isMem := d.x.Args[1].(x86asm.Mem)
	if !ok || !isMem {
		return false
	}
	d.in.dst, _, _ = register(dst)
	d.in.aux = r.aux
	d.exec = r.load[max(sizeIndex(d.x.DataSize/8), 0)]
	d.op.Flags |= engine.Loads | engine.Ends
	return d.memory(m)
}

// bindFar binds a jump to a far pointer in memory or in the instruction (SDM vol. 2, JMP). The
// operand size is that of the offset; the latter form, which 32-bit mode alone has, keeps the
// selector in disp.
func bindFar(d *decoder, r *row) bool {
	size := max(sizeIndex(d.x.DataSize/8), 0)
	d.op.Flags |= engine.Ends
	if sel, ok := d.x.Args[0].(x86asm.Imm); ok {
		to, isImm := d.x.Args[1].(x86asm.Imm)
		if d.mode == 16 {
			size = size32 // the function is that of all sizes
		}
		d.exec, d.in.disp, d.in.imm = r.load[size], int32(sel), uint64(uint32(to))
		return isImm
	}
	m, ok := d.x.Args[0].(x86asm.Mem)
	d.exec = r.reg[size]
	d.op.Flags |= engine.Loads
	return ok && d.memory(m)
}

// bindTable binds a descriptor-table register and its image in memory, whose base has the width of
// the mode. With 16-bit operands a load in 32-bit mode takes 24 bits of it, and a store is not modelled.
func bindTable(d *decoder, r *row) bool {
	ok := bindMem(d, r)
	d.exec = r.reg[d.modeSize()]
	if d.mode == 32 && d.x.DataSize == 16 {
		d.in.aux = 1
		return ok && r.flags&engine.Loads != 0
	}
	return ok && (d.mode == 64 || d.x.DataSize == 32)
}

// bindSet binds setcc; aux is the condition.
func bindSet(d *decoder, r *row) bool {
	d.in.aux = r.aux
	return bindOne(d, r)
}

// bindCmov binds cmovcc; aux is the condition.
func bindCmov(d *decoder, r *row) bool {
	d.in.aux = r.aux
	return bindTwo(d, r)
}

// bindSizedImm binds an optional immediate; the width is the operand size.
func bindSizedImm(d *decoder, r *row) bool {
	if !bindImm(d, r) {
		return false
	}
	d.exec = r.reg[max(sizeIndex(d.x.DataSize/8), 0)]
	return true
}

// bindInt binds int n; int3, the opcode cc, is a trap of its own. cd 03 is another instruction with
// the same vector: a kernel tells them apart by the length.
func bindInt(d *decoder, r *row) bool {
	if d.x.Opcode>>24 == 0xcc {
		d.exec = int3
		return true
	}
	return bindImm(d, r)
}

// bindPlain binds a store to memory that no prefix of operand size or repetition may precede.
func bindPlain(d *decoder, r *row) bool {
	if d.x.DataSize == 16 || d.in.rep != 0 {
		d.meaningless = true
		return false
	}
	return bindTwo(d, r)
}

// absolute binds the moves between the accumulator and a 64-bit address in the instruction. The
// address goes to imm: disp has 32 bits.
func (d *decoder) absolute() bool {
	size := d.size()
	if m, ok := d.x.Args[0].(x86asm.Mem); ok {
		d.in.imm, d.in.seg, d.in.src = uint64(m.Disp)&(1<<d.x.AddrSize-1), segmentOf(m.Segment), rax
		f := byWidth{movToAbs[uint8], movToAbs[uint16], movToAbs[uint32], movToAbs[uint64]}
		d.exec, d.op.Class = f[size], clStore
		d.op.Flags |= engine.Stores
		return true
	}
	m, ok := d.x.Args[1].(x86asm.Mem)
	d.in.imm, d.in.seg, d.in.dst = uint64(m.Disp)&(1<<d.x.AddrSize-1), segmentOf(m.Segment), rax
	f := byWidth{movFromAbs[uint8], movFromAbs[uint16], movFromAbs[uint32], movFromAbs[uint64]}
	d.exec, d.op.Class = f[size], clLoad
	d.op.Flags |= engine.Loads
	return ok
}

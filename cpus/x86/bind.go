package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
)

// A bind function looks at the operands that x86asm found and fills the three parts of an
// instruction: the function (decoder.exec), its operands (decoder.in) and what the engine times
// (decoder.op). It returns false for a form that is not modelled. It runs once for an instruction
// that is decoded, the function on every execution, so whatever can be decided here is.

// exec is the function of one operation in one form and width.
type exec = func(*CPU, *inst)

// byWidth holds a function for each operand size: 8, 16, 32 and 64 bits.
type byWidth [4]exec

// row says how an operation is bound and priced. The zero value of what a row leaves out is absent:
// a form without a function is not modelled.
type row struct {
	bind  func(d *decoder, r *row) bool
	reg   byWidth // destination in a register, source in a register or immediate
	load  byWidth // destination in a register, source in memory
	mem   byWidth // destination in memory
	class uint8
	inMem uint8 // class of the form with a memory destination, when it is another
	io    uint16
	flags uint16
	aux   uint8
	also  uint64          // registers that are written beside io's, as bits
	ready func(*CPU) bool // comes before what an access may raise (SDM vol. 3, table 6-2); nil where nothing does
}

// size gives the operand size of the first operand, as an index; -1 for one that no form has.
// Memory without a size of its own has that of the instruction (SDM vol. 1, 3.6).
func (d *decoder) size() int {
	switch a := d.x.Args[0].(type) {
	case x86asm.Reg:
		if _, n, ok := register(a); ok {
			return sizeIndex(n)
		}
	case x86asm.Mem:
		if d.x.MemBytes != 0 {
			return sizeIndex(d.x.MemBytes)
		}
	}
	return sizeIndex(d.x.DataSize / 8)
}

// bindTwo binds destination and source in any of the forms of the arithmetic instructions.
func bindTwo(d *decoder, r *row) bool {
	size := d.size()
	if size < 0 || d.x.Args[1] == nil {
		return false
	}
	switch dst := d.x.Args[0].(type) {
	case x86asm.Mem:
		if !d.memory(dst) || !d.source(d.x.Args[1]) {
			return false
		}
		d.exec = r.mem[size]
		d.priceMem(r)
		return true
	case x86asm.Reg:
		n, _, ok := register(dst)
		if !ok {
			return false
		}
		d.in.dst = n
		return d.toRegister(r, size)
	}
	return false
}

// toRegister binds the second operand of a form whose first one is a register.
func (d *decoder) toRegister(r *row, size int) bool {
	if m, ok := d.x.Args[1].(x86asm.Mem); ok {
		d.exec = r.load[size]
		d.op.Flags |= engine.Loads
		return d.memory(m)
	}
	d.exec = r.reg[size]
	return d.source(d.x.Args[1])
}

// priceMem marks the memory traffic of a form with a memory destination: what reads its destination
// loads it, and what only compares does not store.
func (d *decoder) priceMem(r *row) {
	if r.inMem != 0 {
		d.op.Class = r.inMem
	}
	if r.io&ioReadDst != 0 || r.io&ioNoWrite != 0 {
		d.op.Flags |= engine.Loads
	}
	if r.io&ioNoWrite == 0 {
		d.op.Flags |= engine.Stores
	}
}

// source binds a register or immediate source.
func (d *decoder) source(a x86asm.Arg) bool {
	switch a := a.(type) {
	case x86asm.Reg:
		n, _, ok := register(a)
		d.in.src = n
		return ok
	case x86asm.Imm:
		d.in.imm = uint64(a)
		return true
	}
	return false
}

// bindOne binds a single operand, which is the destination, that is read, written or both.
func bindOne(d *decoder, r *row) bool {
	size := d.size()
	if size < 0 {
		return false
	}
	switch a := d.x.Args[0].(type) {
	case x86asm.Mem:
		d.exec = r.mem[size]
		d.priceMem(r)
		return d.memory(a)
	case x86asm.Reg:
		n, _, ok := register(a)
		d.in.dst = n
		d.exec = r.reg[size]
		return ok
	}
	return false
}

// bindRead binds a single operand that is only a source: registers go to src. The destination is
// implied.
func bindRead(d *decoder, r *row) bool {
	size := d.size()
	if size < 0 {
		return false
	}
	switch a := d.x.Args[0].(type) {
	case x86asm.Mem:
		d.exec = r.mem[size]
		d.op.Flags |= engine.Loads
		return d.memory(a)
	case x86asm.Reg:
		d.exec = r.reg[size]
		return d.source(a)
	}
	return false
}

// bindShift binds a destination and a count: an immediate, or CL with src set.
func bindShift(d *decoder, r *row) bool {
	if !bindOne(d, r) {
		return false
	}
	return d.count(d.x.Args[1])
}

// count binds the count of a shift. Its upper bits are cut off when it is used: see shiftCount.
func (d *decoder) count(a x86asm.Arg) bool {
	switch a := a.(type) {
	case x86asm.Imm:
		d.in.imm = uint64(a) & 0xff
		return true
	case x86asm.Reg:
		d.in.src = rcx
		return a == x86asm.CL
	}
	return a == nil
}

// bindDouble binds shld and shrd: destination, source register, count. The count register, if any,
// is told by aux, the immediate by imm.
func bindDouble(d *decoder, r *row) bool {
	if !bindTwo(d, r) {
		return false
	}
	switch a := d.x.Args[2].(type) {
	case x86asm.Imm:
		d.in.imm = uint64(a) & 0xff
		return true
	case x86asm.Reg:
		d.in.aux = 1
		return a == x86asm.CL
	}
	return false
}

// bindExtend binds movzx, movsx and movsxd; aux is the kind. movsxd with a 16-bit destination moves
// 16 bits, though the decoder calls its source a 32-bit one.
func bindExtend(d *decoder, r *row) bool {
	dst, ok := d.x.Args[0].(x86asm.Reg)
	if !ok {
		return false
	}
	n, bytes, ok := register(dst)
	d.in.dst = n
	size := sizeIndex(bytes)
	if !ok || size < 0 {
		return false
	}
	switch s := d.x.Args[1].(type) {
	case x86asm.Mem:
		d.exec = extensions[size][min(size, sizeIndex(d.x.MemBytes))&3][r.aux].load
		d.op.Class = clLoad
		d.op.Flags |= engine.Loads
		return d.memory(s)
	case x86asm.Reg:
		var from int
		d.in.src, from, ok = register(s)
		d.exec = extensions[size][min(size, sizeIndex(from))&3][r.aux].reg
		return ok
	}
	return false
}

// bindImul binds the three forms of imul, told apart by the operands that are there. That with one has a row of its own.
// That with three hides the immediate while bindTwo binds the others.
func bindImul(d *decoder, r *row) bool {
	if d.x.Args[1] == nil {
		*r = imul1
		d.op.Class = r.class
		return bindWide(d, r)
	}
	if d.size() == size64 {
		d.op.Class = clImul64
	}
	if d.x.Args[2] == nil {
		return bindTwo(d, r)
	}
	imm, ok := d.x.Args[2].(x86asm.Imm)
	if !ok {
		return false
	}
	d.x.Args[2] = nil
	if !bindTwo(d, &imul3) {
		return false
	}
	r.io &^= ioReadDst
	d.in.imm = uint64(imm)
	return true
}

// bindWide binds one-operand mul, div and their signed kin and prices them by width: forms of 64 bits are
// slower by far on the processors of the eras that are modelled. Forms of bytes have ah in place of rdx.
func bindWide(d *decoder, r *row) bool {
	if !bindRead(d, r) {
		return false
	}
	switch d.size() {
	case size8:
		r.io &^= ioSetD | ioReadD
	case size64:
		d.op.Class++ // clMul64 follows clMul, clDiv64 follows clDiv32
	}
	return true
}

// bindRel binds a relative branch: the displacement is in imm. In 32-bit mode a call with an operand
// size of 16 bits, which would push as many, is not modelled.
func bindRel(d *decoder, r *row) bool {
	rel, ok := d.x.Args[0].(x86asm.Rel)
	d.in.imm = d.displacement(rel)
	d.exec = r.reg[0]
	d.in.aux = r.aux
	d.op.Flags |= engine.Ends
	return ok && (d.mode != 32 || d.x.DataSize == 32 || d.x.Op != x86asm.CALL)
}

// modeSize is the size of a stack word and of an address in the mode. In 16-bit code that of a stack word is the operand
// size, which alone matters there.
func (d *decoder) modeSize() int {
	if d.mode == 16 {
		return max(sizeIndex(d.x.DataSize/8), 0)
	}
	return sizeIndex(d.mode / 8)
}

// bindBranch binds call and jmp: relative (mem has their functions), through a register or through
// memory.
func bindBranch(d *decoder, r *row) bool {
	d.op.Flags |= engine.Ends
	size := d.modeSize()
	switch a := d.x.Args[0].(type) {
	case x86asm.Rel:
		ok := bindRel(d, r)
		d.exec = r.mem[size]
		return ok
	case x86asm.Mem:
		d.op.Class = r.inMem
		d.op.Flags |= engine.Loads
		d.exec = r.load[size]
		return d.x.MemBytes == d.mode/8 && d.memory(a)
	case x86asm.Reg:
		n, bytes, ok := register(a)
		d.in.src, d.op.Class = n, r.inMem
		d.exec = r.reg[size]
		return ok && bytes == d.mode/8
	}
	return false
}

// The kinds below have few operands or none, and one function.
// bindNone binds an instruction without explicit operands.
func bindNone(d *decoder, r *row) bool {
	d.exec = r.reg[0]
	d.in.aux = r.aux
	return true
}

// bindImm binds an optional immediate operand.
func bindImm(d *decoder, r *row) bool {
	d.exec = r.reg[0]
	if imm, ok := d.x.Args[0].(x86asm.Imm); ok {
		d.in.imm = uint64(imm)
	}
	if imm, ok := d.x.Args[1].(x86asm.Imm); ok {
		d.in.aux = uint8(imm)
	}
	return true
}

// bindMem binds a memory operand whose address alone matters.
func bindMem(d *decoder, r *row) bool {
	m, ok := d.x.Args[0].(x86asm.Mem)
	d.exec = r.reg[0]
	d.in.aux = r.aux
	return ok && d.memory(m)
}

// bindRegMem is bindMem with a register before it.
func bindRegMem(d *decoder, r *row) bool {
	n, ok := d.x.Args[0].(x86asm.Reg)
	m, isMem := d.x.Args[1].(x86asm.Mem)
	d.in.dst, _, _ = register(n)
	d.exec = r.reg[0]
	return ok && isMem && d.memory(m)
}

// bindLea binds lea: the address is the result. The index goes to src too, as a source for the cost
// models.
func bindLea(d *decoder, r *row) bool {
	dst, ok := d.x.Args[0].(x86asm.Reg)
	m, isMem := d.x.Args[1].(x86asm.Mem)
	if !ok || !isMem {
		return false
	}
	n, bytes, ok := register(dst)
	d.in.dst = n
	size := sizeIndex(bytes)
	if !ok || size < 0 {
		return false
	}
	m.Segment = 0
	d.exec = r.reg[size]
	if !d.memory(m) {
		return false
	}
	if 8*bytes <= d.x.AddrSize {
		d.mask = 0 // what it would cut off is cut off anyway
	}
	d.in.src = d.in.index
	return true
}

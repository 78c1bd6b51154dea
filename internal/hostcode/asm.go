package hostcode

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Reg is a general register of x86-64, by its number.
type Reg uint8

// The registers.
const (
	RAX Reg = iota
	RCX
	RDX
	RBX
	RSP
	RBP
	RSI
	RDI
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15
	NoReg Reg = 0xff // in a Mem: none
)

// Main, Spare and Other are registers that any code may change. Call returns Main, and With holds the pointer that Call
// was given.
const (
	Main  = RAX
	Spare = RCX
	Other = RDX
	With  = R15
)

// Local1 to Local9 are registers that code may keep anything in, from its beginning to its end.
const (
	Local1 = RBX
	Local2 = RSI
	Local3 = RDI
	Local4 = R8
	Local5 = R9
	Local6 = R10
	Local7 = R11
	Local8 = R12
	Local9 = R13
)

// Mem is an operand in memory: Base + Index<<Shift + Disp. Base must be a register, and Index, if it is not NoReg,
// another one than RSP.
type Mem struct {
	Base, Index Reg
	Shift       uint8
	Disp        int32
}

// At is the operand at a distance from a register.
func At(base Reg, disp int32) Mem { return Mem{base, NoReg, 0, disp} }

// Alu is an operation with two operands, by its number in the opcodes of the group (SDM vol. 2, table A-6, group 1).
type Alu uint8

// The operations. Test and Mov are none of the group and have opcodes of their own.
const (
	Add Alu = iota
	Or
	Adc
	Sbb
	And
	Sub
	Xor
	Cmp
	Test
)

// Shift is a shift or a rotate by its number in its group (group 2).
type Shift uint8

// The shifts and rotates.
const (
	Rol Shift = 0
	Ror Shift = 1
	Shl Shift = 4
	Shr Shift = 5
	Sar Shift = 7
)

// Unary is an operation with one operand by its number in its group (group 3).
type Unary uint8

// The operations.
const (
	Not Unary = 2
	Neg Unary = 3
)

// Cond is a condition by its number (SDM vol. 2, B.1.4.7).
type Cond uint8

// Conditions that code without a guest's needs.
const (
	Overflow    Cond = 0
	Below       Cond = 2
	AboveOrEq   Cond = 3
	Above       Cond = 7
	NotAbove    Cond = 6
	Equal       Cond = 4
	NotEqual    Cond = 5
	Less        Cond = 12
	GreaterOrEq Cond = 13
	LessOrEq    Cond = 14
	Greater     Cond = 15
)

// Asm writes instructions one behind the other. Sizes are bytes of operands: 1, 2, 4 or 8. Where the room ends
// nothing more is written, and Full says so.
type Asm struct {
	room  []byte
	base  int // of room, in what JmpTo counts from
	n     int
	full  bool
	fixes []fix
	marks []int
}

// Label is a place to jump to, which may come later.
type Label int

// fix is a distance that is written when its label has come.
type fix struct {
	at    int
	label Label
}

// Begin has code written into the rest of a room.
func (a *Asm) Begin(r *Room) {
	a.room, a.base, a.n, a.full, a.fixes, a.marks = r.rest(), r.used, 0, false, a.fixes[:0], a.marks[:0]
}

// Cut forgets what was written from a place on. No label lies there.
func (a *Asm) Cut(n int) {
	a.n = n
	for i, f := range a.fixes {
		if f.at >= n {
			a.fixes = a.fixes[:i]
			break
		}
	}
}

// Len is the number of bytes written.
func (a *Asm) Len() int { return a.n }

// Full reports that the room was not enough.
func (a *Asm) Full() bool { return a.full }

// NewLabel returns a label that Bind gives its place.
func (a *Asm) NewLabel() Label {
	a.marks = append(a.marks, -1)
	return Label(len(a.marks) - 1)
}

// Bind places a label here.
func (a *Asm) Bind(l Label) { a.marks[l] = a.n }

// Place returns where a label is.
func (a *Asm) Place(l Label) int { return a.marks[l] }

// Finish writes the distances to labels. All must have been bound.
func (a *Asm) Finish() {
	for _, f := range a.fixes {
		if !a.full {
			binary.LittleEndian.PutUint32(a.room[f.at:], uint32(a.marks[f.label]-f.at-4))
		}
	}
}

func (a *Asm) byte(b ...byte) {
	if a.n+len(b) > len(a.room) {
		a.full = true
		return
	}
	a.n += copy(a.room[a.n:], b)
}

func (a *Asm) long(v uint32) { a.byte(byte(v), byte(v>>8), byte(v>>16), byte(v>>24)) }

// Align writes bytes that nothing executes up to a multiple of a power of two.
func (a *Asm) Align(n int) {
	for a.n&(n-1) != 0 && !a.full {
		a.byte(0xcc)
	}
}

// prefix writes what stands before an opcode: the operand size, and REX by the registers in reg, index and base. A
// byte in the registers from RSP to RDI needs a REX. Any other size is a mistake of the caller.
func (a *Asm) prefix(size int, reg, index, base Reg, bytes bool) {
	rex := byte(0)
	switch size {
	case 1, 4:
	case 2:
		a.byte(0x66)
	case 8:
		rex = 0x48
	default:
		panic(fmt.Sprintf("hostcode: an operand of %d bytes", size))
	}
	if reg != NoReg && reg&8 != 0 {
		rex |= 0x44
	}
	if index != NoReg && index&8 != 0 {
		rex |= 0x42
	}
	if base != NoReg && base&8 != 0 {
		rex |= 0x41
	}
	if bytes {
		rex |= 0x40
	}
	if rex != 0 {
		a.byte(rex)
	}
}

// modMem writes ModRM, SIB and displacement.
func (a *Asm) modMem(reg Reg, m Mem) {
	mod, short := byte(0x80), m.Disp >= math.MinInt8 && m.Disp <= math.MaxInt8
	if short {
		mod = 0x40
	}
	if m.Disp == 0 && m.Base&7 != RBP {
		mod = 0
	}
	if m.Index == NoReg && m.Base&7 != RSP {
		a.byte(mod | byte(reg&7)<<3 | byte(m.Base&7))
	} else {
		index := byte(4)
		if m.Index != NoReg {
			index = byte(m.Index & 7)
		}
		a.byte(mod|byte(reg&7)<<3|4, m.Shift<<6|index<<3|byte(m.Base&7))
	}
	switch mod {
	case 0x40:
		a.byte(byte(m.Disp))
	case 0x80:
		a.long(uint32(m.Disp))
	}
}

// rm writes an instruction with an operand in memory.
func (a *Asm) rm(size int, reg Reg, m Mem, bytes bool, op ...byte) {
	a.prefix(size, reg, m.Index, m.Base, bytes && reg >= RSP && reg <= RDI)
	a.byte(op...)
	a.modMem(reg, m)
}

// rr writes an instruction between registers; rm is the one in the place of a memory operand.
func (a *Asm) rr(size int, reg, rm Reg, bytes bool, op ...byte) {
	a.prefix(size, reg, NoReg, rm, bytes && (reg >= RSP && reg <= RDI || rm >= RSP && rm <= RDI))
	a.byte(op...)
	a.byte(0xc0 | byte(reg&7)<<3 | byte(rm&7))
}

// wide is 1 for operands of more than a byte: the lowest bit of many opcodes.
func wide(size int) byte {
	if size == 1 {
		return 0
	}
	return 1
}

// Mov copies a register. Four bytes clear the upper half.
func (a *Asm) Mov(size int, dst, src Reg) { a.rr(size, src, dst, size == 1, 0x88|wide(size)) }

// Load reads memory. One and two bytes are extended with zeroes.
func (a *Asm) Load(size int, dst Reg, m Mem) {
	switch size {
	case 1:
		a.rm(4, dst, m, false, 0x0f, 0xb6)
	case 2:
		a.rm(4, dst, m, false, 0x0f, 0xb7)
	default:
		a.rm(size, dst, m, false, 0x8b)
	}
}

// LoadPart reads one or two bytes into a register and keeps its other bits.
func (a *Asm) LoadPart(size int, dst Reg, m Mem) { a.rm(size, dst, m, size == 1, 0x8a|wide(size)) }

// LoadSigned reads from bytes and extends them with the sign to size bytes, which are 4 or 8.
func (a *Asm) LoadSigned(size, from int, dst Reg, m Mem) {
	if from == 4 {
		a.rm(size, dst, m, false, 0x63)
		return
	}
	a.rm(size, dst, m, false, 0x0f, 0xbe|wide(from))
}

// ExtendZero and ExtendSign extend the lowest bytes of a register to size bytes, which are 4 or 8.
func (a *Asm) ExtendZero(from int, dst, src Reg) {
	if from == 4 {
		a.Mov(4, dst, src)
		return
	}
	a.rr(4, dst, src, from == 1, 0x0f, 0xb6|wide(from))
}

// ExtendSign is ExtendZero with the sign.
func (a *Asm) ExtendSign(size, from int, dst, src Reg) {
	if from == 4 {
		a.rr(size, dst, src, false, 0x63)
		return
	}
	a.rr(size, dst, src, from == 1, 0x0f, 0xbe|wide(from))
}

// Store writes a register to memory.
func (a *Asm) Store(size int, m Mem, src Reg) { a.rm(size, src, m, size == 1, 0x88|wide(size)) }

// StoreImm writes a constant, which eight bytes take with its sign extended.
func (a *Asm) StoreImm(size int, m Mem, v int32) {
	a.rm(size, 0, m, false, 0xc6|wide(size))
	a.imm(size, v)
}

// imm writes a constant of an operand size, at most four bytes.
func (a *Asm) imm(size int, v int32) {
	switch size {
	case 1:
		a.byte(byte(v))
	case 2:
		a.byte(byte(v), byte(v>>8))
	default:
		a.long(uint32(v))
	}
}

// Const loads any constant, and changes no flag.
func (a *Asm) Const(dst Reg, v uint64) {
	switch {
	case v <= math.MaxUint32:
		a.prefix(4, NoReg, NoReg, dst, false)
		a.byte(0xb8 | byte(dst&7))
		a.long(uint32(v))
	case int64(v) == int64(int32(v)):
		a.rr(8, 0, dst, false, 0xc7)
		a.long(uint32(v))
	default:
		a.prefix(8, NoReg, NoReg, dst, false)
		a.byte(0xb8 | byte(dst&7))
		a.long(uint32(v))
		a.long(uint32(v >> 32))
	}
}

// Op computes dst = dst op src.
func (a *Asm) Op(op Alu, size int, dst, src Reg) {
	if op == Test {
		a.rr(size, src, dst, size == 1, 0x84|wide(size))
		return
	}
	a.rr(size, src, dst, size == 1, byte(op)<<3|wide(size))
}

// OpLoad is Op with a source in memory.
func (a *Asm) OpLoad(op Alu, size int, dst Reg, m Mem) {
	if op == Test {
		a.rm(size, dst, m, size == 1, 0x84|wide(size))
		return
	}
	a.rm(size, dst, m, size == 1, byte(op)<<3|2|wide(size))
}

// OpStore is Op with a destination in memory.
func (a *Asm) OpStore(op Alu, size int, m Mem, src Reg) {
	if op == Test {
		a.rm(size, src, m, size == 1, 0x84|wide(size))
		return
	}
	a.rm(size, src, m, size == 1, byte(op)<<3|wide(size))
}

// OpImm is Op with a constant, which eight bytes take with its sign extended.
func (a *Asm) OpImm(op Alu, size int, dst Reg, v int32) {
	short := op != Test && size > 1 && v >= math.MinInt8 && v <= math.MaxInt8
	switch {
	case op == Test:
		a.rr(size, 0, dst, size == 1, 0xf6|wide(size))
		a.imm(size, v)
	case short:
		a.rr(size, Reg(op), dst, false, 0x83)
		a.byte(byte(v))
	default:
		a.prefix(size, NoReg, NoReg, dst, size == 1 && dst >= RSP && dst <= RDI)
		a.byte(0x80|wide(size), 0xc0|byte(op)<<3|byte(dst&7))
		a.imm(size, v)
	}
}

// OpMemImm is OpImm with a destination in memory.
func (a *Asm) OpMemImm(op Alu, size int, m Mem, v int32) {
	short := op != Test && size > 1 && v >= math.MinInt8 && v <= math.MaxInt8
	switch {
	case op == Test:
		a.rm(size, 0, m, false, 0xf6|wide(size))
		a.imm(size, v)
	case short:
		a.rm(size, Reg(op), m, false, 0x83)
		a.byte(byte(v))
	default:
		a.rm(size, Reg(op), m, false, 0x80|wide(size))
		a.imm(size, v)
	}
}

// Lea computes an address, cut off to size bytes, which are 4 or 8.
func (a *Asm) Lea(size int, dst Reg, m Mem) { a.rm(size, dst, m, false, 0x8d) }

// ShiftImm shifts by a constant.
func (a *Asm) ShiftImm(op Shift, size int, dst Reg, n uint8) {
	a.prefix(size, NoReg, NoReg, dst, size == 1 && dst >= RSP && dst <= RDI)
	a.byte(0xc0|wide(size), 0xc0|byte(op)<<3|byte(dst&7), n)
}

// ShiftCL shifts by the lowest byte of RCX.
func (a *Asm) ShiftCL(op Shift, size int, dst Reg) {
	a.prefix(size, NoReg, NoReg, dst, size == 1 && dst >= RSP && dst <= RDI)
	a.byte(0xd2|wide(size), 0xc0|byte(op)<<3|byte(dst&7))
}

// One computes dst = op dst.
func (a *Asm) One(op Unary, size int, dst Reg) {
	a.rr(size, Reg(op), dst, size == 1, 0xf6|wide(size))
}

// Multiply computes dst = dst * src of 4 or 8 bytes.
func (a *Asm) Multiply(size int, dst, src Reg) { a.rr(size, dst, src, false, 0x0f, 0xaf) }

// MultiplyImm computes dst = src * v.
func (a *Asm) MultiplyImm(size int, dst, src Reg, v int32) {
	a.rr(size, dst, src, false, 0x69)
	a.imm(size, v)
}

// Swap turns the bytes of a register of 4 or 8 bytes around.
func (a *Asm) Swap(size int, dst Reg) {
	a.prefix(size, NoReg, NoReg, dst, false)
	a.byte(0x0f, 0xc8|byte(dst&7))
}

// Prefetch asks for the line of an address, and any will do.
func (a *Asm) Prefetch(m Mem) { a.rm(4, 1, m, false, 0x0f, 0x18) }

// BitOf sets CF to the bit of a register of 8 bytes that the lowest six bits of another one number.
func (a *Asm) BitOf(r, n Reg) { a.rr(8, n, r, false, 0x0f, 0xa3) }

// Carry sets or clears CF.
func (a *Asm) Carry(set bool) {
	if set {
		a.byte(0xf9)
		return
	}
	a.byte(0xf8)
}

// Set writes 1 or 0 to the lowest byte of a register.
func (a *Asm) Set(c Cond, dst Reg) { a.rr(1, 0, dst, true, 0x0f, 0x90|byte(c)) }

// Cmov copies src if a condition holds. Four bytes clear the upper half of dst in any case.
func (a *Asm) Cmov(c Cond, size int, dst, src Reg) { a.rr(size, dst, src, false, 0x0f, 0x40|byte(c)) }

// CmovLoad is Cmov with a source in memory, of 4 or 8 bytes, which is read in any case.
func (a *Asm) CmovLoad(c Cond, size int, dst Reg, m Mem) {
	a.rm(size, dst, m, false, 0x0f, 0x40|byte(c))
}

// MaxLoad has dst be the larger of it and a number in memory, as signed numbers of 8 bytes.
func (a *Asm) MaxLoad(dst Reg, m Mem) {
	a.OpLoad(Cmp, 8, dst, m)
	a.CmovLoad(Less, 8, dst, m)
}

// Jcc jumps to a label if a condition holds.
func (a *Asm) Jcc(c Cond, l Label) {
	a.byte(0x0f, 0x80|byte(c))
	a.fixes = append(a.fixes, fix{a.n, l})
	a.long(0)
}

// Jmp jumps to a label.
func (a *Asm) Jmp(l Label) {
	a.byte(0xe9)
	a.fixes = append(a.fixes, fix{a.n, l})
	a.long(0)
}

// JmpTo jumps to a place in the room, counted from its beginning.
func (a *Asm) JmpTo(place int) {
	a.byte(0xe9)
	a.long(uint32(place - a.base - a.n - 4))
}

// CallTo calls the code at a place in the room, counted from its beginning.
func (a *Asm) CallTo(place int) {
	a.byte(0xe8)
	a.long(uint32(place - a.base - a.n - 4))
}

// JmpReg jumps to the address in a register.
func (a *Asm) JmpReg(r Reg) { a.rr(4, 4, r, false, 0xff) }

// JmpMem jumps to the address in memory.
func (a *Asm) JmpMem(m Mem) { a.rm(4, 4, m, false, 0xff) }

// Ret returns.
func (a *Asm) Ret() { a.byte(0xc3) }

package hostcode

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/internal/require"
)

// names are the registers of each size as the decoder calls them.
var names = map[int]func(Reg) x86asm.Reg{
	8: func(r Reg) x86asm.Reg { return x86asm.RAX + x86asm.Reg(r) },
	4: func(r Reg) x86asm.Reg { return x86asm.EAX + x86asm.Reg(r) },
	2: func(r Reg) x86asm.Reg { return x86asm.AX + x86asm.Reg(r) },
	1: func(r Reg) x86asm.Reg {
		if r >= RSP {
			return x86asm.SPB + x86asm.Reg(r-RSP)
		}
		return x86asm.AL + x86asm.Reg(r)
	},
}

// operand is a memory operand as the decoder has it.
func (m Mem) operand() x86asm.Mem {
	x := x86asm.Mem{Base: names[8](m.Base), Disp: int64(m.Disp)}
	if m.Index != NoReg {
		x.Index, x.Scale = names[8](m.Index), 1<<m.Shift
	}
	return x
}

// asmTest is an instruction as it is written and as the decoder reads it.
type asmTest struct {
	write func(a *Asm)
	op    x86asm.Op
	args  []x86asm.Arg
	bytes int // of an operand in memory
}

// newTest is a test of an instruction with so many bytes in memory, if any.
func newTest(bytes int, write func(a *Asm), op x86asm.Op, args []x86asm.Arg) asmTest {
	if !slices.ContainsFunc(args, func(a x86asm.Arg) bool { _, ok := a.(x86asm.Mem); return ok }) {
		bytes = 0
	}
	return asmTest{write, op, args, bytes}
}

// memories are operands of all kinds: with and without an index, and displacements of all sizes.
func memories() (all []Mem) {
	for base := RAX; base <= R15; base++ {
		for _, disp := range []int32{0, 1, -128, 127, 128, -129, 1 << 20} {
			all = append(all, At(base, disp), Mem{base, (base + 5) & 15, uint8(disp & 3), disp})
		}
	}
	for i := range all {
		if all[i].Index == RSP {
			all[i].Index = RBP
		}
	}
	return all
}

// tests are all instructions with all registers.
func tests() (all []asmTest) {
	bytes := 0
	add := func(write func(a *Asm), op x86asm.Op, args ...x86asm.Arg) {
		all = append(all, newTest(bytes, write, op, args))
	}
	alus := []x86asm.Op{x86asm.ADD, x86asm.OR, x86asm.ADC, x86asm.SBB, x86asm.AND, x86asm.SUB, x86asm.XOR, x86asm.CMP, x86asm.TEST}
	for _, size := range []int{1, 2, 4, 8} {
		bytes = size
		name := names[size]
		for x := RAX; x <= R15; x++ {
			y := (x*7 + 3) & 15
			for y := RAX; y <= R15; y++ {
				add(func(a *Asm) { a.Mov(size, x, y) }, x86asm.MOV, name(x), name(y))
			}
			for o, op := range alus {
				add(func(a *Asm) { a.Op(Alu(o), size, x, y) }, op, name(x), name(y))
				for _, v := range []int32{0, 1, 100, 127, 128, 0x1234, -2, -128, -129} {
					if (v < 0 || size == 1 && v >= 128) && size < 8 {
						continue // the decoder gives constants of fewer bytes as positive numbers
					}
					add(func(a *Asm) { a.OpImm(Alu(o), size, x, v) }, op, name(x), x86asm.Imm(v))
				}
			}
			for o, op := range map[Shift]x86asm.Op{Rol: x86asm.ROL, Ror: x86asm.ROR, Shl: x86asm.SHL, Shr: x86asm.SHR, Sar: x86asm.SAR} {
				add(func(a *Asm) { a.ShiftImm(o, size, x, 7) }, op, name(x), x86asm.Imm(7))
			}
			for o, op := range map[Shift]x86asm.Op{Rol: x86asm.ROL, Ror: x86asm.ROR, Shl: x86asm.SHL, Shr: x86asm.SHR, Sar: x86asm.SAR} {
				add(func(a *Asm) { a.ShiftCL(o, size, x) }, op, name(x), x86asm.CL)
			}
			add(func(a *Asm) { a.One(Not, size, x) }, x86asm.NOT, name(x))
			add(func(a *Asm) { a.One(Neg, size, x) }, x86asm.NEG, name(x))
			if size >= 4 {
				add(func(a *Asm) { a.Multiply(size, x, y) }, x86asm.IMUL, name(x), name(y))
				add(func(a *Asm) { a.MultiplyImm(size, x, y, 1000) }, x86asm.IMUL, name(x), name(y), x86asm.Imm(1000))
				add(func(a *Asm) { a.Cmov(LessOrEq, size, x, y) }, x86asm.CMOVLE, name(x), name(y))
				add(func(a *Asm) { a.Swap(size, x) }, x86asm.BSWAP, name(x))
				add(func(a *Asm) { a.ExtendSign(size, 1, x, y) }, x86asm.MOVSX, name(x), names[1](y))
				add(func(a *Asm) { a.ExtendSign(size, 2, x, y) }, x86asm.MOVSX, name(x), names[2](y))
			}
		}
		for i, m := range memories() {
			x := Reg(i & 15)
			load := map[int]x86asm.Op{1: x86asm.MOVZX, 2: x86asm.MOVZX, 4: x86asm.MOV, 8: x86asm.MOV}[size]
			add(func(a *Asm) { a.Load(size, x, m) }, load, names[max(size, 4)](x), m.operand())
			add(func(a *Asm) { a.Store(size, m, x) }, x86asm.MOV, m.operand(), name(x))
			for v := int32(5); v == 5 || v == 0x506 && size > 1; v += 0x501 {
				add(func(a *Asm) { a.StoreImm(size, m, v) }, x86asm.MOV, m.operand(), x86asm.Imm(v))
			}
			for o, op := range alus {
				load := []x86asm.Arg{name(x), m.operand()}
				if op == x86asm.TEST { // which has but one form
					slices.Reverse(load)
				}
				add(func(a *Asm) { a.OpLoad(Alu(o), size, x, m) }, op, load...)
				add(func(a *Asm) { a.OpStore(Alu(o), size, m, x) }, op, m.operand(), name(x))
				for _, v := range []int32{100, 127, 128, -128, -129} {
					if (size == 1 && v == 128 || v < 0) && size < 8 {
						continue // as of OpImm
					}
					add(func(a *Asm) { a.OpMemImm(Alu(o), size, m, v) }, op, m.operand(), x86asm.Imm(v))
				}
			}
			if size >= 4 {
				add(func(a *Asm) { a.CmovLoad(Less, size, x, m) }, x86asm.CMOVL, name(x), m.operand())
			}
			if size < 4 {
				add(func(a *Asm) { a.LoadPart(size, x, m) }, x86asm.MOV, name(x), m.operand())
			}
		}
	}
	return append(all, slices.Concat(addressed(), unsized())...)
}

// addressed are instructions with one size of what they have in memory.
func addressed() (all []asmTest) {
	bytes := 0
	add := func(write func(a *Asm), op x86asm.Op, args ...x86asm.Arg) {
		all = append(all, newTest(bytes, write, op, args))
	}
	for i, m := range memories() {
		x := Reg(i & 15)
		bytes = 0 // what is no access
		add(func(a *Asm) { a.Lea(8, x, m) }, x86asm.LEA, names[8](x), m.operand())
		add(func(a *Asm) { a.Lea(4, x, m) }, x86asm.LEA, names[4](x), m.operand())
		add(func(a *Asm) { a.Prefetch(m) }, x86asm.PREFETCHT0, m.operand())
		bytes = 1
		add(func(a *Asm) { a.LoadSigned(4, 1, x, m) }, x86asm.MOVSX, names[4](x), m.operand())
		bytes = 4
		add(func(a *Asm) { a.LoadSigned(8, 4, x, m) }, x86asm.MOVSXD, names[8](x), m.operand())
		bytes = 8
		add(func(a *Asm) { a.JmpMem(m) }, x86asm.JMP, m.operand())
	}
	return all
}

// unsized are the instructions of one size.
func unsized() (all []asmTest) {
	add := func(write func(a *Asm), op x86asm.Op, args ...x86asm.Arg) {
		all = append(all, newTest(0, write, op, args))
	}
	add(func(a *Asm) { a.Carry(true) }, x86asm.STC)
	add(func(a *Asm) { a.Carry(false) }, x86asm.CLC)
	add((*Asm).Ret, x86asm.RET)
	add(func(a *Asm) { a.JmpTo(0x100) }, x86asm.JMP, x86asm.Rel(0x100-5))
	add(func(a *Asm) { a.CallTo(0x100) }, x86asm.CALL, x86asm.Rel(0x100-5))
	for x := RAX; x <= R15; x++ {
		add(func(a *Asm) { a.Set(Equal, x) }, x86asm.SETE, names[1](x))
		add(func(a *Asm) { a.BitOf(x, x^9) }, x86asm.BT, names[8](x), names[8](x^9))
		add(func(a *Asm) { a.ExtendSign(8, 4, x, x^3) }, x86asm.MOVSXD, names[8](x), names[4](x^3))
		add(func(a *Asm) { a.JmpReg(x) }, x86asm.JMP, names[8](x))
		add(func(a *Asm) { a.ExtendZero(4, x, x^5) }, x86asm.MOV, names[4](x), names[4](x^5))
		add(func(a *Asm) { a.ExtendZero(1, x, x^5) }, x86asm.MOVZX, names[4](x), names[1](x^5))
		add(func(a *Asm) { a.ExtendZero(2, x, x^5) }, x86asm.MOVZX, names[4](x), names[2](x^5))
		add(func(a *Asm) { a.Const(x, 0x80000000) }, x86asm.MOV, names[4](x), x86asm.Imm(-0x80000000))
		add(func(a *Asm) { a.Const(x, 1<<63-2) }, x86asm.MOV, names[8](x), x86asm.Imm(1<<63-2))
		minusTwo := ^uint64(1)
		add(func(a *Asm) { a.Const(x, minusTwo) }, x86asm.MOV, names[8](x), x86asm.Imm(-2))
	}
	return all
}

// TestInstructions decodes what is written with another decoder.
func TestInstructions(t *testing.T) {
	for _, x := range tests() {
		var a Asm
		a.room = make([]byte, 32)
		x.write(&a)
		in, err := x86asm.Decode(a.room[:a.Len()], 64)
		want := fmt.Sprint(x.op, x.args)
		var args []x86asm.Arg
		for _, arg := range in.Args {
			if arg == nil {
				break
			}
			if m, ok := arg.(x86asm.Mem); ok { // the decoder does not extend every displacement
				m.Disp = int64(int32(m.Disp))
				if m.Index == 0 {
					m.Scale = 0
				}
				arg = m
			}
			args = append(args, arg)
		}
		got := fmt.Sprint(in.Op, args)
		require.That(t, err == nil && got == want && in.Len == a.Len() && in.MemBytes == x.bytes, "% x is %s of %d bytes, %d of them in memory, %v; want %s", a.room[:a.Len()], got, in.Len, in.MemBytes, err, want)
		// A REX without bits is there for a byte of RSP to RDI alone, but for what extends bytes.
		if i := bytes.IndexByte(a.room[:2], 0x40); in.Op != x86asm.MOVZX && (i == 0 || i == 1 && a.room[0] == 0x66) {
			other, err := x86asm.Decode(slices.Concat(a.room[:i], a.room[i+1:a.Len()]), 64)
			require.That(t, err != nil || other.Op != in.Op || other.Args != in.Args, "% x has a REX that says nothing", a.room[:a.Len()])
		}
	}
}

// TestShortest has no constant take more bytes than it needs: a sum and a comparison take one for what fits, in registers and in memory.
func TestShortest(t *testing.T) {
	for write, want := range map[string]map[int64]int{
		"const":    {0: 5, 1<<31 - 1: 5, 1<<32 - 1: 5, 1 << 32: 10, -1: 7, -1 << 31: 7, -1<<31 - 1: 10},
		"register": {-129: 7, -128: 4, 127: 4, 128: 7},
		"memory":   {-129: 7, -128: 4, 127: 4, 128: 7},
	} {
		for v, want := range want {
			a := Asm{room: make([]byte, 32)}
			switch write {
			case "const":
				a.Const(RCX, uint64(v))
			case "register":
				a.OpImm(Add, 8, RCX, int32(v))
			case "memory":
				a.OpMemImm(Add, 8, At(RCX, 0), int32(v))
			}
			require.Equal(t, a.Len(), want, "bytes of %s, %d", write, v)
		}
	}
}

// TestShortAddresses writes a SIB where an address has an index, or RSP or R12 as its base.
func TestShortAddresses(t *testing.T) {
	for _, m := range memories() {
		a := Asm{room: make([]byte, 32)}
		a.Load(8, RAX, m)
		in := require.Must(x86asm.Decode(a.room[:a.Len()], 64))(t)
		displacement := 4
		switch {
		case m.Disp == 0 && m.Base != RBP && m.Base != R13:
			displacement = 0
		case m.Disp == int32(int8(m.Disp)):
			displacement = 1
		}
		if m.Index != NoReg || m.Base == RSP || m.Base == R12 {
			displacement++
		}
		require.Equal(t, in.Len, 3+displacement, "bytes of a load from %v", in.Args[1])
	}
}

// TestCut forgets what was written from a place on, with its jumps.
func TestCut(t *testing.T) {
	a := Asm{room: make([]byte, 32)}
	l := a.NewLabel()
	a.Jmp(l)
	place := a.Len()
	for range 3 {
		a.Jmp(l)
	}
	a.Cut(place)
	for range 16 {
		a.Ret()
	}
	a.Bind(l)
	a.Finish()
	in := require.Must(x86asm.Decode(a.room, 64))(t)
	require.Equal(t, fmt.Sprint(in), "JMP .+16", "the jump that stays")
	require.That(t, bytes.Equal(a.room[place:a.Len()], bytes.Repeat([]byte{0xc3}, 16)), "behind it is % x", a.room[place:a.Len()])
}

// TestAlign fills up to the next multiple, and no further.
func TestAlign(t *testing.T) {
	for n := range 33 {
		a := Asm{room: make([]byte, 64)}
		a.byte(make([]byte, n)...)
		a.Align(16)
		require.Equal(t, a.Len(), (n+15)/16*16, "%d bytes", n)
		require.That(t, bytes.Count(a.room[n:a.Len()], []byte{0xcc}) == a.Len()-n, "behind %d bytes are % x", n, a.room[n:a.Len()])
	}
}

// TestFullRoom writes more than there is room for: nothing is written behind the end, and the writer says so.
func TestFullRoom(t *testing.T) {
	var a Asm
	all := make([]byte, 64)
	a.room = all[:20]
	l := a.NewLabel()
	for range 10 {
		a.Jcc(Equal, l)
		a.Const(RAX, 1<<60)
	}
	a.Bind(l)
	a.Finish()
	if !a.Full() || a.Len() > 20 {
		t.Errorf("%d bytes written, full %v", a.Len(), a.Full())
	}
	for i, b := range all[20:] {
		require.Need(t, b == 0, "byte %d behind the room is %#x", i, b)
	}
}

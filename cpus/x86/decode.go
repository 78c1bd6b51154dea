package x86

import (
	"bytes"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
)

// maxInsn is the longest instruction in bytes (SDM vol. 2, 2.3.11).
const maxInsn = 15

// Whole implements engine.Decoder.
func (c *CPU) Whole(code []byte) bool {
	_, whole := disassemble(code, c.mode())
	return whole
}

// mode is the width that x86asm calls the mode.
func (c *CPU) mode() int {
	switch {
	case c.long:
		return 64
	case c.short16:
		return 16
	}
	return 32
}

// decoded is a decoded instruction, and op what the engine times of it.
type (
	decoded = engine.Insn[CPU, inst]
	op      = engine.Op
)

// Decode implements engine.Decoder: what has no meaning becomes an instruction that raises #UD when
// it is executed. Decoding itself must not fault, because it may run ahead of execution.
func (c *CPU) Decode(code []byte, pc uint64) (decoded, op) {
	x, known := disassemble(code, c.mode())
	if !known {
		in, op := undefined(1)
		if tooLong(code, c.mode()) {
			in.Exec = longInstruction
		}
		return in, op
	}
	d := decoder{x: x, code: code, pc: pc, mode: c.mode()}
	r, ok := rows[x.Op]
	if !ok || !d.build(&r) {
		in, op := undefined(x.Len)
		switch {
		case d.meaningless:
			in.Exec = ud2
		case x.Opcode>>24&0xf8 == 0xd8:
			in.Exec = x87Missing
		}
		return in, op
	}
	d.in.len, d.op.Len = uint8(x.Len), uint8(x.Len)
	if d.mode != 16 {
		d.in.native = d.nativeForm()
	}
	d.op.Pair = d.pair()
	if d.indexed() {
		d.op.Flags |= engine.Indexed
		if d.in.shift != 0 || d.components() == 3 {
			d.op.Flags |= engine.Complex
		}
	}
	d.op.Class = d.priced(d.op.Class)
	return decoded{Exec: d.exec, Operands: d.in}, d.op
}

// undefined is an instruction of n bytes that raises #UD. It ends its block: nothing behind it can
// follow.
func undefined(n int) (decoded, op) {
	in := inst{len: uint8(n), base: rZero, index: rZero}
	return decoded{Exec: execUndefined, Operands: in}, op{
		Class: clUndefined, Flags: engine.Ends, Len: in.len, Base: rZero, Index: rZero,
		S1: rZero, S2: rZero, S3: rZero, O1: rSink, O2: rSink,
	}
}

// longInstruction is one of more than maxInsn bytes.
func longInstruction(c *CPU, _ *inst) { c.raiseCode(vecGP, 0) }

// disassemble wraps x86asm and adds what it does not know. The length is that of code with all its
// prefixes.
func disassemble(code []byte, mode int) (x86asm.Inst, bool) {
	plain, cut := plainPrefixes(code, mode)
	x, ok := disassemblePlain(plain, mode)
	if x.Len += cut; x.Len > maxInsn {
		return x, false
	}
	return x, ok
}

// disassemblePlain decodes code with prefixes in order. Some unknown encodings come back from x86asm
// with Op zero and no error.
func disassemblePlain(code []byte, mode int) (x86asm.Inst, bool) {
	x, err := x86asm.Decode(code, mode)
	if err == nil && x.Op != 0 {
		return x, true
	}
	return supplement(code, mode)
}

// supplement decodes what x86asm does not know: hints, which are no-ops with any operand, among them
// endbr64 and endbr32 (SDM vol. 2, NOP and appendix A), and second encodings of instructions.
func supplement(code []byte, mode int) (x86asm.Inst, bool) {
	i := 0
	for i < len(code) && isPrefix(code[i], mode) {
		i++
	}
	if mode == 32 && i < len(code) && code[i] == 0xd6 {
		return x86asm.Inst{Op: opSALC, Len: i + 1}, bytes.IndexByte(code[:i], 0xf0) < 0
	}
	if i+1 >= len(code) {
		return x86asm.Inst{}, false
	}
	if i+2 < len(code) && code[i] == 0x0f && code[i+1] == 0x01 && code[i+2]&^1 == 0xca {
		return x86asm.Inst{Op: opCLAC + x86asm.Op(code[i+2]&1), Len: i + 3}, !bytes.ContainsAny(code[:i], "\xf0\xf2\xf3\x66")
	}
	other := append([]byte{}, code...) // with the first encoding of the same instruction
	switch op, ext := code[i], code[i+1]>>3&7; {
	case op == 0x0f && (code[i+1] == 0x0d || code[i+1]&^7 == 0x18) && i+2 < len(code):
		other[i+1] = 0x1f
		other[i+2] &^= 7 << 3
		for j := range i { // a repeat prefix would choose another instruction, as REX.W and REX.R do in x86asm
			if other[j]&0xfe == 0xf2 {
				other[j] = 0x3e
			}
			if mode == 64 && other[j]&0xf0 == 0x40 {
				other[j] &^= 0xc
			}
		}
	case (op&^1 == 0xc0 || op&^3 == 0xd0) && ext == 6:
		other[i+1] &^= 2 << 3
	case op&^1 == 0xf6 && ext == 1:
		other[i+1] &^= 1 << 3
	case mode == 32 && op == 0x82:
		other[i] = 0x80
	default:
		return x86asm.Inst{}, false
	}
	x, err := x86asm.Decode(other, mode)
	return x, err == nil && x.Op != 0
}

// Operations of ours, which x86asm has no names for: clac and stac, and salc.
const (
	opCLAC x86asm.Op = 0x7ffd + iota
	opSTAC
	opSALC
)

// isPrefix reports a legacy prefix or, in 64-bit mode, REX.
func isPrefix(b byte, mode int) bool {
	switch b {
	case 0xf0, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0x66, 0x67:
		return true
	}
	return mode == 64 && b&0xf0 == 0x40
}

// decoder binds the operands of one instruction.
type decoder struct {
	x    x86asm.Inst
	code []byte
	pc   uint64
	mode int
	in   inst
	op   op
	exec exec
	lock bool   // it has the prefix
	mask uint64 // of the address, when it is shorter than the mode's; otherwise zero
	// meaningless says that the form which could not be bound does not exist.
	meaningless bool
}

// Sizes of operands as indices into the arrays of a row.
const (
	size8 = iota
	size16
	size32
	size64
)

func sizeIndex(bytes int) int {
	switch bytes {
	case 1:
		return size8
	case 2:
		return size16
	case 4:
		return size32
	case 8:
		return size64
	}
	return -1
}

// build fills d.in and d.op from a row; false means that the form is not modelled. Absent operands
// are rZero, which reads as zero and is always ready, and absent results rSink, which nothing waits
// for: the functions and the cost models need no case for them.
func (d *decoder) build(r *row) bool {
	d.in = inst{base: rZero, index: rZero, dst: rZero, src: rZero}
	d.op = op{Class: r.class, Flags: r.flags, S1: rZero, S2: rZero, S3: rZero, O1: rSink, O2: rSink}
	d.prefixes()
	if d.meaningless = d.strayPrefix() || d.noRegisters(); d.meaningless || !r.bind(d, r) || d.exec == nil {
		return false
	}
	if d.lock && !d.lockable(r) {
		d.meaningless = true
		return false
	}
	if d.mode == 32 && !d.guard() || d.mode == 16 && !d.bind16() {
		return false
	}
	switch _, far := d.x.Args[1].(x86asm.Reg); {
	case bitString[d.x.Op] && far && d.isMem(0) && (d.mask != 0 || d.in.seg != segFlat):
		d.exec = farBit(d.exec, d.size(), d.mask)
	case d.mask != 0:
		d.exec = shortAddress(d.exec, d.mask)
	}
	if r.ready != nil {
		run, ready := d.exec, r.ready
		d.exec = func(c *CPU, in *inst) {
			if ready(c) {
				run(c, in)
			}
		}
	}
	if d.lock || d.op.Class == clLocked {
		d.op.Flags |= engine.Locked
	}
	if plainEnd(d.op.Class) {
		d.op.Flags |= engine.Branches
	}
	d.op.Base, d.op.Index = d.in.base, d.in.index
	d.dependences(r)
	d.stackRegisters(r)
	if d.clears() {
		d.op.Flags |= engine.Clears
	}
	return true
}

// stackRegisters names the registers of the frame that an instruction uses without an operand for them.
// leave sets both pointers from the frame's.
func (d *decoder) stackRegisters(r *row) {
	switch {
	case r.io&ioFrame != 0:
		d.op.Base, d.op.O1, d.op.O2 = rbp, rbp, rsp
	case d.op.Flags&(engine.Pushes|engine.Pops) != 0 && d.op.Base == rZero:
		d.op.Base = rsp
	}
}

// clears reports an exclusive or, or a subtraction, of a whole register with itself.
func (d *decoder) clears() bool {
	reg, ok := d.x.Args[0].(x86asm.Reg)
	if !ok || reg < x86asm.EAX || d.x.Args[1] != d.x.Args[0] {
		return false
	}
	switch d.x.Op {
	case x86asm.XOR, x86asm.SUB, x86asm.PXOR, x86asm.XORPS, x86asm.XORPD:
		return true
	}
	return false
}

// plainEnd reports the branches: they end a block and change nothing but where it goes on.
func plainEnd(class uint8) bool {
	switch class {
	case clJcc, clJmp, clJmpIndirect, clCall, clCallIndirect, clRet, clLoop:
		return true
	}
	return false
}

// prefixes picks out the prefixes that x86asm leaves to its user. It marks prefixes of segments and of
// operand and address size in its own operands.
func (d *decoder) prefixes() {
	for _, p := range d.x.Prefix {
		if p == 0 {
			break
		}
		switch p & 0xff {
		case 0xf0:
			d.lock = true
		case 0xf3:
			d.in.rep |= fRep
		case 0xf2:
			d.in.rep |= fRepne
		}
	}
}

// strayPrefix reports one of 66, f2 and f3 where it would choose an instruction of which there is none: x86asm takes
// the one without.
func (d *decoder) strayPrefix() bool {
	switch d.x.Op {
	case x86asm.MOVNTI, x86asm.LFENCE, x86asm.MFENCE, x86asm.SFENCE, x86asm.LDMXCSR, x86asm.STMXCSR, x86asm.CLFLUSH,
		x86asm.FXSAVE, x86asm.FXSAVE64, x86asm.FXRSTOR, x86asm.FXRSTOR64,
		x86asm.XSAVE, x86asm.XSAVE64, x86asm.XSAVEOPT, x86asm.XSAVEOPT64, x86asm.XSAVEC, x86asm.XSAVEC64, x86asm.XRSTOR, x86asm.XRSTOR64,
		x86asm.XGETBV, x86asm.XSETBV:
		for _, p := range d.x.Prefix {
			if b := p & 0xff; b == 0x66 || b == 0xf2 || b == 0xf3 {
				return true
			}
		}
	}
	return false
}

// noRegisters reports a move of half a vector between registers, which only the forms of single precision have.
func (d *decoder) noRegisters() bool {
	return (d.x.Op == x86asm.MOVLPD || d.x.Op == x86asm.MOVHPD) && !d.isMem(0) && !d.isMem(1)
}

// lockable applies the rule that lock needs a memory destination and one of the listed operations,
// and prices a locked instruction.
func (d *decoder) lockable(r *row) bool {
	_, mem := d.x.Args[0].(x86asm.Mem)
	if r.io&ioLock == 0 || !mem {
		return false
	}
	if d.op.Class != clCmpxchgWide {
		d.op.Class = clLocked
	}
	return true
}

// Properties of a row beside its functions.
const (
	ioReadDst   = 1 << iota // the destination is a source too
	ioNoWrite               // the destination is not written (cmp, test, bt)
	ioReadFlag              // depends on the arithmetic flags
	ioSetCarry              // defines the carry
	ioReadA                 // implicit rax source
	ioSetA                  // implicit rax result
	ioSetD                  // implicit rdx result
	ioLock                  // may be locked
	ioSetSrc                // the source register is written too
	ioReadC                 // implicit cl source
	ioReadD                 // implicit rdx source
	ioFrame                 // takes a stack frame down
	ioReadBase              // computes with the base of its memory operand
	ioReadCarry             // depends on the carry alone
	ioSetPart               // defines all arithmetic flags but the carry
	ioSetC                  // implicit rcx result

	ioSetFlag = ioSetCarry | ioSetPart // defines all arithmetic flags
)

// dependences derives the ready times an instruction waits for and sets. The engine has room for
// three sources beside the address. Few instructions have more; what is added last
// is then left out, so the order below matters.
func (d *decoder) dependences(r *row) {
	in := &d.in
	srcs := [...]uint8{rZero, rZero, rZero, rZero}
	n := 0
	add := func(reg uint8) {
		if reg != rZero && n < len(srcs) {
			srcs[n] = ready(reg)
			n++
		}
	}
	if r.io&ioReadDst != 0 || narrow(d) {
		add(in.dst)
	}
	add(in.src)
	if r.io&ioReadBase != 0 {
		add(in.base)
	}
	for _, x := range impliedSources {
		if r.io&x.io != 0 {
			add(x.reg)
		}
	}
	d.op.S1, d.op.S2, d.op.S3 = srcs[0], srcs[1], srcs[2]
	d.results(r)
}

// results derives the ready times that an instruction sets: two of them apart, and those behind them together.
func (d *decoder) results(r *row) {
	in, n := &d.in, 0
	d.op.Also |= r.also
	add := func(reg uint8) {
		switch reg = ready(reg); n {
		case 0:
			d.op.O1 = reg
		case 1:
			d.op.O2 = reg
		default:
			d.op.Also |= 1 << reg
		}
		n++
	}
	if r.io&ioNoWrite == 0 && in.dst != rZero {
		add(in.dst)
	}
	for _, x := range impliedResults {
		if r.io&x.io != 0 {
			add(x.reg)
		}
	}
	if r.io&ioSetSrc != 0 && in.src != rZero {
		add(in.src)
	}
	if r.io&ioSetC != 0 {
		add(rcx)
	}
}

// implicit is a register that an instruction reads or writes without naming it, if its row says one of some things.
type implicit struct {
	io  uint16
	reg uint8
}

// The order decides what is left out where there are more than the engine has room for.
var (
	impliedSources = []implicit{
		{ioReadFlag | ioReadCarry, rFlags}, {ioReadA, rax}, {ioReadC, rcx}, {ioReadD, rdx}, {ioReadFlag, rPartial},
	}
	impliedResults = []implicit{{ioSetA, rax}, {ioSetD, rdx}, {ioSetCarry, rFlags}, {ioSetPart, rPartial}}
)

// narrow reports a write of less than 32 bits, which merges with the old register and so waits for
// it. x86asm numbers the registers by width: those from EAX on have 32 bits and more.
func narrow(d *decoder) bool {
	reg, ok := d.x.Args[0].(x86asm.Reg)
	return ok && (reg < x86asm.EAX)
}

// ready maps a register operand to its ready time. ah and its like have that of the whole register.
func ready(r uint8) uint8 {
	if r >= rAH && r <= rBH {
		return r - rAH
	}
	return r
}

// register converts an x86asm register; ok is false for those that are no general registers.
func register(r x86asm.Reg) (n uint8, bytes int, ok bool) {
	switch {
	case r >= x86asm.AL && r <= x86asm.BL:
		return uint8(r - x86asm.AL), 1, true
	case r >= x86asm.AH && r <= x86asm.BH:
		return uint8(r-x86asm.AH) + rAH, 1, true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return uint8(r-x86asm.SPB) + rsp, 1, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return uint8(r - x86asm.AX), 2, true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return uint8(r - x86asm.EAX), 4, true
	case r >= x86asm.RAX && r <= x86asm.R15:
		return uint8(r - x86asm.RAX), 8, true
	}
	return rZero, 0, false
}

// memory binds a memory operand (SDM vol. 1, 3.7.5). A sum of fewer bits than the mode's is cut off:
// see shortAddress. pop with the stack pointer as a base, of which it takes the new value, is not
// modelled then.
func (d *decoder) memory(m x86asm.Mem) bool {
	in := &d.in
	if d.x.AddrSize != d.mode || d.mode == 16 {
		d.mask = 1<<d.x.AddrSize - 1
		if d.x.Op == x86asm.POP && m.Base == x86asm.ESP {
			return false
		}
	}
	in.disp = int32(m.Disp)
	if m.Base == x86asm.RIP || m.Base == x86asm.EIP {
		in.base = rRIP
	} else if m.Base != 0 {
		n, _, ok := register(m.Base)
		if !ok {
			return false
		}
		in.base = n
	}
	if m.Index != 0 && m.Scale != 0 {
		n, _, ok := register(m.Index)
		if !ok {
			return false
		}
		in.index = n
		in.shift = [9]uint8{1: 0, 2: 1, 4: 2, 8: 3}[m.Scale]
	}
	in.seg = segmentOf(m.Segment)
	// the decoder does not sign-extend every 32-bit displacement
	return m.Disp == int64(in.disp) || m.Disp == int64(uint32(in.disp))
}

var segmentIndex = map[x86asm.Reg]uint8{
	x86asm.ES: segES, x86asm.CS: segCS, x86asm.SS: segSS, x86asm.DS: segDS, x86asm.FS: segFS, x86asm.GS: segGS,
}

// segmentOf gives the index into CPU.segBase. Without a prefix it is the flat one: DS and SS, which
// would be the default, have base zero in both modes.
func segmentOf(r x86asm.Reg) uint8 {
	if s, ok := segmentIndex[r]; ok {
		return s
	}
	return segFlat
}

// isMem reports whether operand i is in memory.
func (d *decoder) isMem(i int) bool {
	_, ok := d.x.Args[i].(x86asm.Mem)
	return ok
}

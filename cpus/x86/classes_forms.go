package x86

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
)

// priceForm is a form of the instructions of a class that some processors price apart. A description that does not price
// it gives it the price of another class.
type priceForm struct {
	of   uint8  // the class
	name string // in machine descriptions
	as   string // the class whose price it has by default; "" means that of the class
	is   func(*decoder) bool
}

// priceForms are tried in order: an instruction has the first one of its class that it is. They are numbered behind the classes.
// What tells them apart is the encoding alone (uops.info and A. Fog's tables have such rows).
var priceForms = []priceForm{
	{clMov, "mov_high", "", (*decoder).namesHigh},
	{clMov, "mov_narrow", "", (*decoder).isNarrow}, // 8 and 16 bits: the rest of the register stays
	{clMov, "mov_imm64", "mov_imm", (*decoder).hasLongImm},
	{clMov, "mov_imm", "", (*decoder).hasImm},
	{clMov, "mov_same", "", (*decoder).isSame},
	{clLoad, "load_narrow", "", (*decoder).movesNarrow},
	{clLoad, "load_sign", "", ops(x86asm.MOVSX, x86asm.MOVSXD)},
	{clStore, "store_high", "", (*decoder).namesHigh},
	{clStore, "store_imm", "", (*decoder).hasImm},
	{clExtend, "extend_high", "", (*decoder).namesHigh},
	{clExtend, "extend_sign", "", (*decoder).extendsSign},
	{clExtend, "extend_same", "extend_byte", func(d *decoder) bool { return d.extendsByte() && !d.extendsSign() && d.isSame() }},
	{clExtend, "extend_byte", "", (*decoder).extendsByte}, // movzx of 8 bits
	{clExtend, "extend_narrow", "", (*decoder).isNarrow},
	{clALU, "zero_idiom", "", (*decoder).clears}, // xor and sub of a register with itself
	{clALU, "sign_spread", "", ops(x86asm.CWD, x86asm.CDQ, x86asm.CQO)},
	{clALU, "alu_high", "", (*decoder).namesHigh},
	{clALU, "compare_load", "alu_load", func(d *decoder) bool { return d.loads() && d.compares() }},
	{clALU, "alu_load", "", (*decoder).loads},
	{clALU, "alu_unary_long", "alu_unary", func(d *decoder) bool { return d.size() == size64 && d.counts() }},
	{clALU, "alu_unary", "", ops(x86asm.INC, x86asm.DEC, x86asm.NEG, x86asm.NOT)},
	{clALU, "alu_imm_small", "alu_imm", (*decoder).addsSmall},
	{clALU, "alu_imm", "", (*decoder).hasImm},
	{clALUMem, "alu_mem_unary", "", ops(x86asm.INC, x86asm.DEC, x86asm.NEG, x86asm.NOT)},
	{clALUMem, "alu_mem_imm", "", (*decoder).hasImm},
	{clCarry, "carry_load", "", (*decoder).loads},
	{clCarry, "carry_imm", "", (*decoder).hasImm},
	{clCarryMem, "carry_mem_imm", "", (*decoder).hasImm},
	{clLea, "lea_rip", "", func(d *decoder) bool { return d.in.base == rRIP }},
	{clLea, "lea_narrow", "", (*decoder).isNarrow},
	{clLea, "lea_three_scaled", "lea_three", func(d *decoder) bool { return d.components() == 3 && d.in.shift != 0 }},
	{clLea, "lea_three", "", func(d *decoder) bool { return d.components() == 3 }}, // base, index and displacement
	{clLea, "lea_scaled", "", func(d *decoder) bool { return d.in.shift != 0 }},
	{clLea, "lea_small", "lea_two", (*decoder).addressesNear},
	{clLea, "lea_two", "", func(d *decoder) bool { return d.components() == 2 }},
	{clCmov, "cmov_two", "", (*decoder).twoFlags}, // of the carry and of others: be, a
	{clSetcc, "setcc_mem_two", "setcc_mem", func(d *decoder) bool { return d.isMem(0) && d.twoFlags() }},
	{clSetcc, "setcc_mem", "", func(d *decoder) bool { return d.isMem(0) }},
	{clSetcc, "setcc_two", "", (*decoder).twoFlags},
	{clSetcc, "setcc_high", "", (*decoder).namesHigh},
	{clShift, "rotate_cl", "shift_cl", func(d *decoder) bool { return d.rotates() && d.byCL() }},
	{clShift, "rotate_one", "rotate", func(d *decoder) bool { return d.rotates() && d.byOne() }},
	{clShift, "rotate", "", (*decoder).rotates},
	{clShift, "shift_cl", "", (*decoder).byCL},
	{clShift, "shift_one", "", (*decoder).byOne}, // the opcodes d0 and d1
	{clShiftMem, "rotate_cl_mem", "shift_cl_mem", func(d *decoder) bool { return d.rotates() && d.byCL() }},
	{clShiftMem, "rotate_mem", "", (*decoder).rotates},
	{clShiftMem, "shift_cl_mem", "", (*decoder).byCL},
	{clRotateCarry, "rotate_carry_mem", "", func(d *decoder) bool { return d.isMem(0) }},
	{clRotateCarry, "rotate_carry_cl", "", (*decoder).byCL},
	{clRotateCarry, "rotate_carry_one", "", (*decoder).byOne},
	{clShiftDouble, "shift_double_mem", "", func(d *decoder) bool { return d.isMem(0) }},
	{clShiftDouble, "shift_double_cl", "", (*decoder).byCL},
	{clImul, "imul16", "", func(d *decoder) bool { return d.size() == size16 }},
	{clImul, "imul_imm", "", (*decoder).multipliesImm},
	{clImul64, "imul64_imm", "", (*decoder).multipliesImm},
	{clMul, "mul8", "", func(d *decoder) bool { return d.size() == size8 }},
	{clMul, "mul16", "", func(d *decoder) bool { return d.size() == size16 }},
	{clDiv32, "div8", "", func(d *decoder) bool { return d.size() == size8 }},
	{clDiv32, "div16", "", func(d *decoder) bool { return d.size() == size16 }},
	{clDiv32, "idiv32", "", ops(x86asm.IDIV)},
	{clDiv64, "idiv64", "", ops(x86asm.IDIV)},
	{clBitScan, "bit_scan_reverse", "", ops(x86asm.BSR, x86asm.LZCNT)},
	{clBswap, "bswap64", "", func(d *decoder) bool { return d.size() == size64 }},
	{clBitTest, "bit_change", "", ops(x86asm.BTS, x86asm.BTR, x86asm.BTC)},
	{clBitString, "bit_test_mem", "", func(d *decoder) bool { return d.hasImm() && d.x.Op == x86asm.BT }},
	{clBitString, "bit_change_mem", "", (*decoder).hasImm},
	{clBitString, "bit_change_string", "", ops(x86asm.BTS, x86asm.BTR, x86asm.BTC)},
	{clXchg, "xchg_narrow", "", (*decoder).isNarrow},
	{clLocked, "xchg_mem", "", ops(x86asm.XCHG)},
	{clLocked, "locked_cmpxchg", "", ops(x86asm.CMPXCHG)},
	{clLocked, "locked_xadd", "", ops(x86asm.XADD)},
	{clCmpxchg, "cmpxchg_mem", "", (*decoder).loads},
	{clCmpxchgWide, "cmpxchg16b", "", ops(x86asm.CMPXCHG16B)},
	{clXadd, "xadd_mem", "", (*decoder).loads},
	{clPush, "push_imm", "", (*decoder).hasImm},
	{clEnter, "push_all", "", ops(x86asm.PUSHA, x86asm.PUSHAD)},
	{clEnter, "pop_all", "", ops(x86asm.POPA, x86asm.POPAD)},
	{clJmpIndirect, "jmp_mem", "", (*decoder).loads},
	{clCallIndirect, "call_mem", "", (*decoder).loads},
	{clRet, "ret_imm", "", (*decoder).hasImm},
	{clLoop, "jump_count", "", ops(x86asm.JCXZ, x86asm.JECXZ, x86asm.JRCXZ)},
	{clFlag, "flag_ah", "", ops(x86asm.LAHF, x86asm.SAHF)},
	{clString, "lods", "", ops(x86asm.LODSB, x86asm.LODSW, x86asm.LODSD, x86asm.LODSQ)},
	{clString, "stos", "", ops(x86asm.STOSB, x86asm.STOSW, x86asm.STOSD, x86asm.STOSQ)},
	{clString, "movs", "", ops(x86asm.MOVSB, x86asm.MOVSW, x86asm.MOVSD, x86asm.MOVSQ)},
	{clCompareString, "scas", "", ops(x86asm.SCASB, x86asm.SCASW, x86asm.SCASD, x86asm.SCASQ)},
	{clCompareString, "cmps", "", ops(x86asm.CMPSB, x86asm.CMPSW, x86asm.CMPSD, x86asm.CMPSQ)},
	{clRepStart, "rep_stos", "", ops(x86asm.STOSB, x86asm.STOSW, x86asm.STOSD, x86asm.STOSQ)},
	{clRepStart, "rep_movs", "", ops(x86asm.MOVSB, x86asm.MOVSW, x86asm.MOVSD, x86asm.MOVSQ)},
	{clRepStart, "rep_compare", "", ops(x86asm.SCASB, x86asm.SCASW, x86asm.SCASD, x86asm.SCASQ, x86asm.CMPSB, x86asm.CMPSW, x86asm.CMPSD, x86asm.CMPSQ)},
	{clVector, "float_multiply", "float_add", ops(x86asm.MULPS, x86asm.MULSS, x86asm.MULPD, x86asm.MULSD)},
	{clVector, "float_divide_double", "float_divide", ops(x86asm.DIVPD, x86asm.DIVSD)},
	{clVector, "float_divide", "float_add", ops(x86asm.DIVPS, x86asm.DIVSS)},
	{clVector, "float_root_double", "float_divide_double", ops(x86asm.SQRTPD, x86asm.SQRTSD)},
	{clVector, "float_root", "float_divide", ops(x86asm.SQRTPS, x86asm.SQRTSS)},
	{clVector, "float_estimate", "float_add", ops(x86asm.RCPPS, x86asm.RCPSS, x86asm.RSQRTPS, x86asm.RSQRTSS)},
	{clVector, "float_compare", "float_add", ops(x86asm.COMISS, x86asm.COMISD, x86asm.UCOMISS, x86asm.UCOMISD)},
	{clVector, "float_from_integer", "float_convert", ops(x86asm.CVTSI2SS, x86asm.CVTSI2SD)},
	{clVector, "float_to_integer", "float_convert", ops(x86asm.CVTSS2SI, x86asm.CVTSD2SI, x86asm.CVTTSS2SI, x86asm.CVTTSD2SI)},
	{clVector, "float_convert", "float_add", (*decoder).converts},
	{clVector, "float_add", "", (*decoder).computes}, // differences, minima and comparisons to a mask too
	{clCarry, "carry_same", "", (*decoder).spreadsCarry},
	// The price is a prior: microcode of a hundred operations and more.
	{clX87Control, "x87_function", "fx_state", ops(x86asm.FSIN, x86asm.FCOS, x86asm.FSINCOS, x86asm.FPTAN, x86asm.FPATAN, x86asm.F2XM1, x86asm.FYL2X, x86asm.FYL2XP1)},
}

// classesOfForms are the numbers of the forms of each class.
var classesOfForms = func() (of [classes][]uint8) {
	for i := range priceForms {
		f := &priceForms[i]
		of[f.of] = append(of[f.of], uint8(classes+i))
	}
	return of
}()

// priced returns the class of an instruction with the form that it is in.
func (d *decoder) priced(class uint8) uint8 {
	for _, n := range classesOfForms[class] {
		if priceForms[n-classes].is(d) {
			return n
		}
	}
	return class
}

// startsRepeat are the classes of repeated string instructions, which overlap nothing.
func startsRepeat() []uint8 {
	return append([]uint8{clRepStart, clRepMovsShort, clRepStosShort}, classesOfForms[clRepStart]...)
}

// formNamed is the number of a form.
func formNamed(name string) uint8 {
	return uint8(classes + slices.IndexFunc(priceForms, func(f priceForm) bool { return f.name == name }))
}

// allClasses are the names of classes and forms by number, and inherited the class that each form takes its price
// from.
func allClasses() (names []string, inherited map[string]string) {
	names, inherited = append(names, classNames[:]...), maps.Clone(inherits)
	for i := range priceForms {
		f := &priceForms[i]
		names = append(names, f.name)
		if inherited[f.name] = f.as; f.as == "" {
			inherited[f.name] = classNames[f.of]
		}
	}
	return names, inherited
}

// ops is a predicate for some operations.
func ops(all ...x86asm.Op) func(*decoder) bool {
	return func(d *decoder) bool {
		for _, op := range all {
			if d.x.Op == op {
				return true
			}
		}
		return false
	}
}

// computes reports an instruction of SSE that computes with floating point, and converts one that changes the format.
func (d *decoder) computes() bool {
	_, ok := floats[d.x.Op]
	return ok
}

func (d *decoder) converts() bool { return d.computes() && strings.HasPrefix(d.x.Op.String(), "CVT") }

// spreadsCarry reports sbb of a register of 32 or 64 bits with itself, whose result the carry alone decides.
func (d *decoder) spreadsCarry() bool {
	reg, ok := d.x.Args[0].(x86asm.Reg)
	return ok && reg >= x86asm.EAX && d.x.Op == x86asm.SBB && d.x.Args[1] == d.x.Args[0]
}

// namesHigh reports an operand in ah, ch, dh or bh.
func (d *decoder) namesHigh() bool {
	for _, a := range d.x.Args {
		if r, ok := a.(x86asm.Reg); ok && r >= x86asm.AH && r <= x86asm.BH {
			return true
		}
	}
	return false
}

// isNarrow reports a destination of 8 or 16 bits in a register, which keeps the rest of it.
func (d *decoder) isNarrow() bool { return narrow(d) }

// movesNarrow reports such a mov.
func (d *decoder) movesNarrow() bool { return d.x.Op == x86asm.MOV && narrow(d) }

// hasImm reports an immediate operand.
func (d *decoder) hasImm() bool {
	for _, a := range d.x.Args {
		if _, ok := a.(x86asm.Imm); ok {
			return true
		}
	}
	return false
}

// compares reports what sets flags and nothing else.
func (d *decoder) compares() bool { return d.x.Op == x86asm.CMP || d.x.Op == x86asm.TEST }

// counts reports inc and dec.
func (d *decoder) counts() bool { return d.x.Op == x86asm.INC || d.x.Op == x86asm.DEC }

// smallImm bounds what some processors add while they rename: from its negative to one below it (measured on Golden Cove).
const smallImm = 1 << 10

// addsSmall reports add and sub of such an immediate and 64 bits.
func (d *decoder) addsSmall() bool {
	imm, ok := d.x.Args[1].(x86asm.Imm)
	return ok && d.size() == size64 && (d.x.Op == x86asm.ADD || d.x.Op == x86asm.SUB) && isSmall(int64(imm))
}

// addressesNear reports lea of a register and such a displacement, in 64 bits.
func (d *decoder) addressesNear() bool {
	return d.size() == size64 && d.in.index == rZero && d.in.base != rZero && isSmall(int64(d.in.disp))
}

func isSmall(v int64) bool { return -smallImm <= v && v < smallImm }

// hasLongImm reports one of eight bytes, which makes the instruction ten long.
func (d *decoder) hasLongImm() bool { return d.hasImm() && d.x.DataSize == 64 && d.x.Len >= 10 }

// multipliesImm reports imul with three operands, by the opcodes 69 and 6b.
func (d *decoder) multipliesImm() bool { return d.x.Opcode>>24&^2 == 0x69 }

// isSame reports a move of a register to itself, which no processor eliminates.
func (d *decoder) isSame() bool { return d.in.dst != rZero && d.in.dst == d.in.src }

// loads reports a form that reads memory.
func (d *decoder) loads() bool { return d.op.Flags&engine.Loads != 0 }

// extendsSign reports movsx and its like.
func (d *decoder) extendsSign() bool { return d.x.Op != x86asm.MOVZX }

// extendsByte reports a source of 8 bits.
func (d *decoder) extendsByte() bool {
	r, ok := d.x.Args[1].(x86asm.Reg)
	return ok && r < x86asm.AX && !narrow(d)
}

// components are the parts of an address: base, index and displacement.
func (d *decoder) components() (n int) {
	for _, has := range []bool{d.in.base != rZero, d.in.index != rZero, d.in.disp != 0} {
		if has {
			n++
		}
	}
	return n
}

// twoFlags reports the conditions be and a, of the carry and the zero flag, which processors keep apart.
func (d *decoder) twoFlags() bool { return d.in.aux == condBE || d.in.aux == condA }

func (d *decoder) rotates() bool { return d.x.Op == x86asm.ROL || d.x.Op == x86asm.ROR }

// byCL reports a count in cl.
func (d *decoder) byCL() bool { return d.x.Args[1] == x86asm.CL || d.x.Args[2] == x86asm.CL }

// byOne reports a shift by one that is not in the instruction as an immediate.
func (d *decoder) byOne() bool { return d.x.Opcode>>24&^1 == 0xd0 }

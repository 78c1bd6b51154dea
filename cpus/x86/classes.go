package x86

import "kprobesim/cpus"

// Cost classes: what a machine description gives prices for, by the name in classNames. Processors
// of the eras in question price a class alike, so the classes follow the tables that were
// measured on them rather than the manual: operations on registers apart from those that read and
// write memory, widths apart where the unit takes longer, privileged instructions one by one, since
// microcode does each in its own way. A form with a memory operand that has no class of its own
// pays the class's price and the access. A new class needs a name below and a price in every
// machine description.
const (
	clNop = iota
	clALU
	clALUMem // read, modify, write
	clCarry  // adc, sbb
	clCarryMem
	clMov
	clLoad
	clStore
	clExtend // movzx, movsx
	clLea
	clCmov
	clSetcc
	clShift
	clShiftMem
	clRotateCarry
	clShiftDouble
	clImul   // two and three operands, up to 32 bits
	clImul64 // the same, 64 bits
	clMul    // one operand, up to 32 bits
	clMul64  // one operand, 64 bits
	clDiv32  // up to 32 bits
	clDiv64
	clBitScan
	clBswap
	clBitTest
	clBitString // bt family on memory by register
	clXchg      // between registers
	clLocked    // any locked read-modify-write, xchg with memory
	clCmpxchg
	clCmpxchgWide // cmpxchg8b, cmpxchg16b
	clXadd
	clPush
	clPushMem
	clPop
	clPopMem
	clPushf
	clPopf
	clCall
	clCallIndirect
	clRet
	clJmp
	clJmpIndirect
	clJcc
	clLoop
	clLeave
	clEnter
	clFlag      // clc, stc, cmc, lahf, sahf
	clDirection // cld, std
	clCli
	clSti
	clString        // lods, stos, movs without rep
	clCompareString // scas, cmps without rep
	clRepStart
	clRepElement // issue and latency of one repetition
	clXlat
	clInt // the instruction; its delivery is an event
	clIret
	clFar // far call, jump, return
	clSyscall
	clSysret
	clHlt
	clPause
	clCpuid
	clRdtsc
	clRdmsr
	clWrmsr
	clFromCR
	clToCR
	clFromDR
	clToDR
	clFromSeg
	clToSeg
	clDescriptor // lgdt, lidt, sgdt, sidt, str, sldt, smsw, lmsw
	clLtr
	clInvlpg
	clWbinvd
	clSwapgs
	clFence
	clLfence
	clSfence
	clIn
	clOut
	clVector // 128 bits between registers: logic, integers, shuffles, moves
	clVectorLoad
	clVectorStore
	clFXState    // fxsave, fxrstor
	clX87Control // fninit, fldcw, fnstsw, ldmxcsr and the like
	clFlushLine
	clUndefined // the instruction; its exception is an event
	clClts
	clToCR3
	clToCR8
	clVerw
	clSysenter
	clSysexit
	clIretOuter     // to an outer level
	clRdmsrBase     // FS, GS and kernel GS base
	clRdmsrDebugCtl // 1d9
	clRdmsrSpecCtrl
	clWrmsrBase
	clWrmsrDebugCtl
	clWrmsrSpecCtrl // 48: indirect branches and store bypass are restricted, or not
	clWrmsrPredCmd  // 49: a barrier for indirect branches
	clInvpcid
	clStac  // and clac
	clXsave // and xsaveopt, xsavec
	clXrstor
	clXgetbv
	clXsetbv
	clRepMovsShort // rep movsb of few bytes, rep stosb likewise
	clRepStosShort
	clRepMovsLine // 64 bytes of a fast string, beside its start
	clRepStosLine
	classes
)

// classNames has the names of classes in machine descriptions.
var classNames = [classes]string{
	clNop: "nop", clALU: "alu", clALUMem: "alu_mem", clCarry: "carry", clCarryMem: "carry_mem",
	clMov: "mov", clLoad: "load", clStore: "store", clExtend: "extend", clLea: "lea", clCmov: "cmov",
	clSetcc: "setcc", clShift: "shift", clShiftMem: "shift_mem", clRotateCarry: "rotate_carry",
	clShiftDouble: "shift_double", clImul: "imul", clImul64: "imul64", clMul: "mul", clMul64: "mul64",
	clDiv32: "div32", clDiv64: "div64", clBitScan: "bit_scan", clBswap: "bswap", clBitTest: "bit_test",
	clBitString: "bit_string", clXchg: "xchg", clLocked: "locked", clCmpxchg: "cmpxchg",
	clCmpxchgWide: "cmpxchg_wide", clXadd: "xadd", clPush: "push", clPushMem: "push_mem", clPop: "pop",
	clPopMem: "pop_mem", clPushf: "pushf", clPopf: "popf", clCall: "call", clCallIndirect: "call_indirect",
	clRet: "ret", clJmp: "jmp", clJmpIndirect: "jmp_indirect", clJcc: "jcc", clLoop: "loop",
	clLeave: "leave", clEnter: "enter", clFlag: "flag", clDirection: "direction", clCli: "cli",
	clSti: "sti", clString: "string", clCompareString: "compare_string", clRepStart: "rep_start",
	clRepElement: "rep_element", clXlat: "xlat", clInt: "int", clIret: "iret", clFar: "far",
	clSyscall: "syscall", clSysret: "sysret", clHlt: "hlt", clPause: "pause", clCpuid: "cpuid",
	clRdtsc: "rdtsc", clRdmsr: "rdmsr", clWrmsr: "wrmsr", clFromCR: "mov_from_cr", clToCR: "mov_to_cr",
	clFromDR: "mov_from_dr", clToDR: "mov_to_dr", clFromSeg: "mov_from_seg", clToSeg: "mov_to_seg",
	clDescriptor: "descriptor", clLtr: "ltr", clInvlpg: "invlpg", clWbinvd: "wbinvd", clSwapgs: "swapgs",
	clFence: "fence", clLfence: "lfence", clSfence: "sfence", clIn: "in", clOut: "out", clVector: "vector",
	clVectorLoad: "vector_load", clVectorStore: "vector_store", clFXState: "fx_state",
	clX87Control: "x87_control", clFlushLine: "flush_line", clUndefined: "undefined", clClts: "clts",
	clToCR3: "mov_to_cr3", clToCR8: "mov_to_cr8", clVerw: "verw", clSysenter: "sysenter",
	clSysexit: "sysexit", clIretOuter: "iret_outer", clRdmsrBase: "rdmsr_base",
	clRdmsrDebugCtl: "rdmsr_debugctl", clRdmsrSpecCtrl: "rdmsr_spec_ctrl", clWrmsrBase: "wrmsr_base",
	clWrmsrDebugCtl: "wrmsr_debugctl", clWrmsrSpecCtrl: "wrmsr_spec_ctrl", clWrmsrPredCmd: "wrmsr_pred_cmd",
	clInvpcid: "invpcid", clStac: "stac", clXsave: "xsave", clXrstor: "xrstor", clXgetbv: "xgetbv",
	clXsetbv: "xsetbv", clRepMovsShort: "rep_movs_short", clRepStosShort: "rep_stos_short",
	clRepMovsLine: "rep_movs_line", clRepStosLine: "rep_stos_line",
}

// inherits names classes that a description may leave out, and whose price they then have. A processor whose lines have no
// price has no fast strings.
var inherits = map[string]string{
	"clts": "mov_to_cr", "mov_to_cr3": "mov_to_cr", "mov_to_cr8": "mov_to_cr", "verw": "mov_to_seg",
	"sysenter": "syscall", "sysexit": "sysret", "iret_outer": "iret",
	"rdmsr_base": "rdmsr", "rdmsr_debugctl": "rdmsr", "rdmsr_spec_ctrl": "rdmsr",
	"wrmsr_base": "wrmsr", "wrmsr_debugctl": "wrmsr", "wrmsr_spec_ctrl": "wrmsr", "wrmsr_pred_cmd": "wrmsr",
	"invpcid": "mov_to_cr", "stac": "sti", "xsave": "fx_state", "xrstor": "fx_state", "xgetbv": "rdtsc", "xsetbv": "mov_to_cr",
	"rep_movs_short": "rep_movs", "rep_stos_short": "rep_stos", "rep_movs_line": "rep_element", "rep_stos_line": "rep_element",
}

// Events of this architecture that cost time beside instructions; the engine's come before
// them. A delivery is priced by what it is, because breakpoints and single steps are
// measured here: their price is fitted by itself.
const (
	evFault = iota
	evBreakpoint
	evDebug
	evInterrupt
	evIPI
	events
)

// eventNames has the names of events in machine descriptions.
var eventNames = [events]string{
	evFault:      "exception_fault",
	evBreakpoint: "exception_breakpoint", // delivery of #BP
	evDebug:      "exception_debug",      // delivery of #DB
	evInterrupt:  "interrupt",
	evIPI:        cpus.EventIPI,
}

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
	clALUMem
	clCarry
	clCarryMem
	clMov
	clLoad
	clStore
	clExtend
	clLea
	clCmov
	clSetcc
	clShift
	clShiftMem
	clRotateCarry
	clShiftDouble
	clImul
	clImul64
	clMul
	clMul64
	clDiv32
	clDiv64
	clBitScan
	clBswap
	clBitTest
	clBitString
	clXchg
	clLocked
	clCmpxchg
	clCmpxchgWide
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
	clFlag
	clDirection
	clCli
	clSti
	clString
	clCompareString
	clRepStart
	clRepElement
	clXlat
	clInt
	clIret
	clFar
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
	clDescriptor
	clLtr
	clInvlpg
	clWbinvd
	clSwapgs
	clFence
	clLfence
	clSfence
	clIn
	clOut
	clVector
	clVectorLoad
	clVectorStore
	clFXState
	clX87Control
	clFlushLine
	clUndefined
	clClts
	clToCR3
	clToCR8
	clVerw
	clSysenter
	clSysexit
	clIretOuter
	clRdmsrBase
	clRdmsrDebugCtl
	clRdmsrSpecCtrl
	clWrmsrBase
	clWrmsrDebugCtl
	clWrmsrSpecCtrl
	clWrmsrPredCmd
	clInvpcid
	clStac
	clXsave
	clXrstor
	clXgetbv
	clXsetbv
	classes
)

// classNames has the names of classes in machine descriptions.
var classNames = [classes]string{
	clNop:           "nop",
	clALU:           "alu",
	clALUMem:        "alu_mem", // read, modify, write
	clCarry:         "carry",   // adc, sbb
	clCarryMem:      "carry_mem",
	clMov:           "mov",
	clLoad:          "load",
	clStore:         "store",
	clExtend:        "extend", // movzx, movsx
	clLea:           "lea",
	clCmov:          "cmov",
	clSetcc:         "setcc",
	clShift:         "shift",
	clShiftMem:      "shift_mem",
	clRotateCarry:   "rotate_carry",
	clShiftDouble:   "shift_double",
	clImul:          "imul",   // two and three operands, up to 32 bits
	clImul64:        "imul64", // the same, 64 bits
	clMul:           "mul",    // one operand, up to 32 bits
	clMul64:         "mul64",  // one operand, 64 bits
	clDiv32:         "div32",  // up to 32 bits
	clDiv64:         "div64",
	clBitScan:       "bit_scan",
	clBswap:         "bswap",
	clBitTest:       "bit_test",
	clBitString:     "bit_string", // bt family on memory by register
	clXchg:          "xchg",       // between registers
	clLocked:        "locked",     // any locked read-modify-write, xchg with memory
	clCmpxchg:       "cmpxchg",
	clCmpxchgWide:   "cmpxchg_wide", // cmpxchg8b, cmpxchg16b
	clXadd:          "xadd",
	clPush:          "push",
	clPushMem:       "push_mem",
	clPop:           "pop",
	clPopMem:        "pop_mem",
	clPushf:         "pushf",
	clPopf:          "popf",
	clCall:          "call",
	clCallIndirect:  "call_indirect",
	clRet:           "ret",
	clJmp:           "jmp",
	clJmpIndirect:   "jmp_indirect",
	clJcc:           "jcc",
	clLoop:          "loop",
	clLeave:         "leave",
	clEnter:         "enter",
	clFlag:          "flag",      // clc, stc, cmc, lahf, sahf
	clDirection:     "direction", // cld, std
	clCli:           "cli",
	clSti:           "sti",
	clString:        "string",         // lods, stos, movs without rep
	clCompareString: "compare_string", // scas, cmps without rep
	clRepStart:      "rep_start",
	clRepElement:    "rep_element", // issue and latency of one repetition
	clXlat:          "xlat",
	clInt:           "int", // the instruction; its delivery is an event
	clIret:          "iret",
	clFar:           "far", // far call, jump, return
	clSyscall:       "syscall",
	clSysret:        "sysret",
	clHlt:           "hlt",
	clPause:         "pause",
	clCpuid:         "cpuid",
	clRdtsc:         "rdtsc",
	clRdmsr:         "rdmsr",
	clWrmsr:         "wrmsr",
	clFromCR:        "mov_from_cr",
	clToCR:          "mov_to_cr",
	clFromDR:        "mov_from_dr",
	clToDR:          "mov_to_dr",
	clFromSeg:       "mov_from_seg",
	clToSeg:         "mov_to_seg",
	clDescriptor:    "descriptor", // lgdt, lidt, sgdt, sidt, str, sldt, smsw, lmsw
	clLtr:           "ltr",
	clInvlpg:        "invlpg",
	clWbinvd:        "wbinvd",
	clSwapgs:        "swapgs",
	clFence:         "fence",
	clLfence:        "lfence",
	clSfence:        "sfence",
	clIn:            "in",
	clOut:           "out",
	clVector:        "vector", // 128 bits between registers: logic, integers, shuffles, moves
	clVectorLoad:    "vector_load",
	clVectorStore:   "vector_store",
	clFXState:       "fx_state",    // fxsave, fxrstor
	clX87Control:    "x87_control", // fninit, fldcw, fnstsw, ldmxcsr and the like
	clFlushLine:     "flush_line",
	clUndefined:     "undefined", // the instruction; its exception is an event
	clClts:          "clts",
	clToCR3:         "mov_to_cr3",
	clToCR8:         "mov_to_cr8",
	clVerw:          "verw",
	clSysenter:      "sysenter",
	clSysexit:       "sysexit",
	clIretOuter:     "iret_outer",     // to an outer level
	clRdmsrBase:     "rdmsr_base",     // FS, GS and kernel GS base
	clRdmsrDebugCtl: "rdmsr_debugctl", // 1d9
	clRdmsrSpecCtrl: "rdmsr_spec_ctrl",
	clWrmsrBase:     "wrmsr_base",
	clWrmsrDebugCtl: "wrmsr_debugctl",
	clWrmsrSpecCtrl: "wrmsr_spec_ctrl", // 48: indirect branches and store bypass are restricted, or not
	clWrmsrPredCmd:  "wrmsr_pred_cmd",  // 49: a barrier for indirect branches
	clInvpcid:       "invpcid",
	clStac:          "stac",  // and clac
	clXsave:         "xsave", // and xsaveopt, xsavec
	clXrstor:        "xrstor",
	clXgetbv:        "xgetbv",
	clXsetbv:        "xsetbv",
}

// inherits names classes that a description may leave out, and whose price they then have.
var inherits = map[string]string{
	"clts": "mov_to_cr", "mov_to_cr3": "mov_to_cr", "mov_to_cr8": "mov_to_cr", "verw": "mov_to_seg",
	"sysenter": "syscall", "sysexit": "sysret", "iret_outer": "iret",
	"rdmsr_base": "rdmsr", "rdmsr_debugctl": "rdmsr", "rdmsr_spec_ctrl": "rdmsr",
	"wrmsr_base": "wrmsr", "wrmsr_debugctl": "wrmsr", "wrmsr_spec_ctrl": "wrmsr", "wrmsr_pred_cmd": "wrmsr",
	"invpcid": "mov_to_cr", "stac": "sti", "xsave": "fx_state", "xrstor": "fx_state", "xgetbv": "rdtsc", "xsetbv": "mov_to_cr",
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

package arm

import "kprobesim/cpus"

// Cost classes: what a machine description gives prices for, by the name in classNames. They follow the
// types of instructions that GCC's descriptions of Cortex-A7 and Cortex-A15 tell apart. Loads and stores of
// several registers are classes by the number of words, up to the given one. System instructions are
// classes one by one.
const (
	clNop = iota
	clALU
	clALUConstant // with a constant, and moves
	clALUShift    // an operand is shifted by a constant
	clALUShiftReg // by a register
	clExtend
	clExtendAdd
	clBits // clz, rbit, rev, bfi, ubfx and their like
	clSaturate
	clParallel
	clMul
	clMulAdd
	clMulLong
	clMulHalf
	clSdiv
	clUdiv
	clLoad
	clLoadShift  // the index is shifted
	clLoadUpdate // the base is written
	clLoad2
	clLoad4
	clLoad8
	clLoad16
	clStore
	clStoreShift
	clStoreUpdate
	clStore2
	clStore4
	clStore8
	clStore16
	clLdrex
	clStrex
	clSwap
	clTouch // pld, pli: nothing is fetched ahead
	clBranch
	clBranchCond
	clBranchReturn
	clBranchRegister
	clSupervisorCall
	clPermanent // its exception is an event
	clUndefined
	clMrs
	clMsrFlags
	clMsr
	clCps
	clSrs
	clRfe // any return from an exception
	clWfi
	clDmb
	clDsb
	clIsb
	clCoprocRead
	clCoprocWrite
	clCacheOp
	clTLBOp
	clCounter // a read of the counter or a timer
	classes
)

// classNames has the names of classes in machine descriptions.
var classNames = [classes]string{
	clNop: "nop", clALU: "alu", clALUConstant: "alu_constant", clALUShift: "alu_shift",
	clALUShiftReg: "alu_shift_reg", clExtend: "extend", clExtendAdd: "extend_add", clBits: "bits",
	clSaturate: "saturate", clParallel: "parallel", clMul: "mul", clMulAdd: "mul_add",
	clMulLong: "mul_long", clMulHalf: "mul_half", clSdiv: "sdiv", clUdiv: "udiv", clLoad: "load",
	clLoadShift: "load_shift", clLoadUpdate: "load_update", clLoad2: "load_2", clLoad4: "load_4",
	clLoad8: "load_8", clLoad16: "load_16", clStore: "store", clStoreShift: "store_shift",
	clStoreUpdate: "store_update", clStore2: "store_2", clStore4: "store_4", clStore8: "store_8",
	clStore16: "store_16", clLdrex: "ldrex", clStrex: "strex", clSwap: "swp", clTouch: "touch",
	clBranch: "branch", clBranchCond: "branch_conditional", clBranchReturn: "branch_return",
	clBranchRegister: "branch_register", clSupervisorCall: "svc", clPermanent: "udf",
	clUndefined: "undefined", clMrs: "mrs", clMsrFlags: "msr_flags", clMsr: "msr", clCps: "cps",
	clSrs: "srs", clRfe: "rfe", clWfi: "wfi", clDmb: "dmb", clDsb: "dsb", clIsb: "isb",
	clCoprocRead: "cp15_read", clCoprocWrite: "cp15_write", clCacheOp: "cp15_cache", clTLBOp: "cp15_tlb",
	clCounter: "counter",
}

// Events of this architecture that cost time beside instructions; the engine's come before them.
const (
	evUndefined = iota
	evFault
	evInterrupt
	evIPI
	events
)

// eventNames has the names of events in machine descriptions.
var eventNames = [events]string{
	evUndefined: "exception_undefined",
	evFault:     "exception_fault", // delivery of any other exception by an instruction
	evInterrupt: "interrupt",
	evIPI:       cpus.EventIPI,
}

package ppc64

import "kprobesim/cpus"

// Cost classes: what a machine description gives prices for, by the name in classNames. They follow the
// groups in which POWER4 and POWER5 dispatch instructions: one operation, two ("cracked"), or a group of
// their own ("microcoded"). What needs another unit or has another latency is a class too. Privileged
// instructions are classes one by one.
const (
	clNop = iota
	clInt
	clRecord  // sets CR0 too: cracked
	clInsert  // rlwimi, rldimi: cracked
	clCompare // to a field of the condition register
	clCount   // cntlzw, cntlzd, popcntb
	clOverflow
	clMulImm
	clMulWord
	clMulDouble
	clDivWord
	clDivDouble
	clCR        // logic on condition bits whose result is one of the sources
	clCRDelayed // any other: cracked
	clMfcr
	clMfocrf
	clMtcrf  // several fields: microcoded
	clMtocrf // one field
	clMcrxr
	clMfxer
	clMtxer
	clMflr // mflr, mfctr
	clMtlr // mtlr, mtctr
	clMfspr
	clMtspr
	clMftb
	clLoad
	clLoadAlgebraic // lha, lwa: cracked
	clLoadUpdate    // cracked
	clLoadUpdateIndexed
	clStore
	clStoreUpdate
	clStoreUpdateIndexed
	clLoadMultiple
	clStoreMultiple
	clLoadString
	clStoreString
	clLarx
	clStcx
	clBranch
	clBranchCond
	clBranchLR
	clBranchCTR
	clTrap // the comparison; its interrupt is an event
	clSyscall
	clSync // sync, ptesync
	clLwsync
	clEieio
	clIsync
	clTouch      // dcbt, dcbtst: nothing is fetched ahead
	clCacheBlock // dcbf, dcbst
	clDcbz
	clIcbi
	clMfmsr
	clMtmsrd
	clMtmsrdEE // L = 1: EE and RI alone
	clRfid
	clSLB
	clSlbia
	clTlbie
	clTlbsync
	clUndefined
	classes
)

// classNames has the names of classes in machine descriptions.
var classNames = [classes]string{
	clNop: "nop", clInt: "int", clRecord: "record", clInsert: "insert", clCompare: "compare",
	clCount: "count", clOverflow: "overflow", clMulImm: "mul_imm", clMulWord: "mul_word",
	clMulDouble: "mul_double", clDivWord: "div_word", clDivDouble: "div_double", clCR: "cr",
	clCRDelayed: "cr_delayed", clMfcr: "mfcr", clMfocrf: "mfocrf", clMtcrf: "mtcrf", clMtocrf: "mtocrf",
	clMcrxr: "mcrxr", clMfxer: "mfxer", clMtxer: "mtxer", clMflr: "mflr", clMtlr: "mtlr", clMfspr: "mfspr",
	clMtspr: "mtspr", clMftb: "mftb", clLoad: "load", clLoadAlgebraic: "load_algebraic",
	clLoadUpdate: "load_update", clLoadUpdateIndexed: "load_update_indexed", clStore: "store",
	clStoreUpdate: "store_update", clStoreUpdateIndexed: "store_update_indexed",
	clLoadMultiple: "load_multiple", clStoreMultiple: "store_multiple", clLoadString: "load_string",
	clStoreString: "store_string", clLarx: "larx", clStcx: "stcx", clBranch: "branch",
	clBranchCond: "branch_conditional", clBranchLR: "branch_lr", clBranchCTR: "branch_ctr", clTrap: "trap",
	clSyscall: "syscall", clSync: "sync", clLwsync: "lwsync", clEieio: "eieio", clIsync: "isync",
	clTouch: "touch", clCacheBlock: "cache_block", clDcbz: "dcbz", clIcbi: "icbi", clMfmsr: "mfmsr",
	clMtmsrd: "mtmsrd", clMtmsrdEE: "mtmsrd_ee", clRfid: "rfid", clSLB: "slb", clSlbia: "slbia",
	clTlbie: "tlbie", clTlbsync: "tlbsync", clUndefined: "undefined",
}

// Events of this architecture that cost time beside instructions; the engine's come before them.
const (
	evFault = iota
	evTrap
	evTrace
	evInterrupt
	evHypercall
	evIPI
	events
)

// eventNames has the names of events in machine descriptions.
var eventNames = [events]string{
	evFault:     "exception_fault",
	evTrap:      "exception_trap",  // delivery of a program interrupt by a trap instruction
	evTrace:     "exception_trace", // delivery of a trace interrupt
	evInterrupt: "interrupt",
	evHypercall: "hypercall", // sc with LEV 1, from the partition to the hypervisor and back, with what it does
	evIPI:       cpus.EventIPI,
}

// Package ppc64 models the 64-bit PowerPC architecture of server processors, big-endian, as POWER5
// implements it: the integer instructions that GCC emits with -mcpu=power5 -msoft-float -mno-altivec, and
// the supervisor's state, interrupts and storage control that a kernel uses in a partition (MSR.HV = 0).
//
// The manuals are the PowerPC User Instruction Set Architecture, the PowerPC Virtual Environment
// Architecture and the PowerPC Operating Environment Architecture, version 2.02 (January 2005), cited as
// Book I, II and III with the name of the section. Later editions join the three as the Power ISA and
// keep these names. Bits have their place values here; the manuals number them from the most significant
// one.
//
// One instruction is one row of a table (table.go, table_*.go) and one small function (ops_*.go). Words
// are decoded by golang.org/x/arch/ppc64/ppc64asm and a small supplement (decode.go), and their fields are
// bound to a function by instruction form (forms.go). What executes, times and keeps decoded instructions
// is package engine.
//
// Registers stand in Core.R with the fields of the condition register, the link and count registers and
// the carry among them, because each of these has a ready time of its own. Effective addresses are
// translated by the segment look-aside buffer and the hashed page table (slb.go, hash.go), or not at all in
// real mode.
//
// # Choices where the architecture leaves one
//
// The upper halves of mulhw, mulhwu, divw and divwu are zero. A division that has no quotient gives its dividend.
// Where manuals say "undefined", the comments of the functions say what happens here.
//
// A reservation is lost when another CPU writes the line of the caches, when the line leaves the
// caches of the CPU that holds it, and with the next stwcx. or stdcx., which must name the same address and
// size.
//
// The machine description says whether instruction caches are coherent. If so, a store is seen by the next
// instruction of every CPU. If not, it is seen behind dcbst, icbi and a context synchronizing instruction,
// which is isync, rfid or an interrupt (Book II, Instruction Storage). sync is not needed for it, as
// accesses happen in the order of the program but in searches for races (mmu.Past).
//
// # Left out
//
// Floating point, which raises the floating-point unavailable interrupt, or counts as unmodelled
// when MSR.FP is set. AltiVec. Little-endian mode. The hypervisor's own state: hrfid, its registers. A board may answer its calls (hypervisor.go).
// Machine checks, performance monitor, external access instructions, segment registers of the 64-bit
// bridge, effective-to-real caches apart from the TLB, multithreading priorities.
//
// What is left out raises an illegal-instruction program interrupt. Instructions that the architecture
// has and this model lacks are counted (cpus.Counters.Unmodelled), so that a guest which met one does not
// look like a faulty guest.
package ppc64

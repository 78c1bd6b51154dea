// Package x86 models the Intel 64 and IA-32 architectures in 64-bit mode, in compatibility mode and in
// 32-bit protected mode with and without paging, which share every operation: registers, decoding,
// semantics, exceptions and page tables, for the integer instructions, x87, SSE, SSE2 and the system
// instructions that a kernel uses. Real mode suffices to start further processors (real.go).
//
// The manual is the Intel 64 and IA-32 Architectures Software Developer's Manual ("SDM"), volumes 1
// to 4. Sections are cited by the numbers that they had from 2016 to 2021: multiple processors are
// chapter 8 of volume 3, debugging is chapter 17. Later editions have the same sections one chapter
// further.
//
// One instruction is one row of a table (table.go, table_*.go) and one small function (ops_*.go).
// Functions are generic over operand width, so that 32-bit and 64-bit mode share them. Bytes are
// decoded once by golang.org/x/arch/x86/x86asm and a small supplement (decode.go), and bound to a
// function and its operands (bind.go, bind_sys.go). What executes, times and keeps decoded
// instructions is package engine.
//
// The modes differ in the width of addresses and stack words (CPU.AddrMask, CPU.word), in page tables
// (pagetables.go), in the frames of exceptions (gates.go, iret.go) and in segments: 64-bit mode has a
// base in FS and GS only, code of 32 bits has flat segments beside FS and GS with base, limit and
// rights (protected.go). Where processors of the two vendors differ, it is as on Intel's.
//
// # Left out
//
// Whole parts: x87's pointers to the last instruction and operand;
// every vector extension after SSSE3; virtual-8086
// mode, and most of real mode; task switches by TSS and task gates; call gates; virtualization;
// transactional memory; performance counters; monitor and mwait. An alignment check does not find an operand that lies in two pages.
// The second halves of 16 bytes and what clflush does to a cache are not timed apart.
//
// In code of 32 bits: 16-bit code and stacks; near calls, returns and indirect branches with a 16-bit
// operand; any of CS, SS, DS and ES that is neither flat nor, DS and ES, null.
//
// What is left out raises #UD, or #GP where it is a segment, a gate, a return or a value of a
// system register. Instructions, segments, gates and returns that the architecture has and this
// model lacks are counted (cpus.Counters.Unmodelled), so that a guest which met one does not look
// like a faulty guest.
package x86

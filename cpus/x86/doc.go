// Package x86 models the Intel 64 and IA-32 architectures in 64-bit mode and in 32-bit protected mode
// with paging, which share every operation: registers, decoding, semantics, exceptions and their timing,
// for the integer instructions and the system instructions that a kernel uses (Intel SDM, volumes 2
// and 3).
//
// One instruction is one row of a table (table.go) and one small function; functions are generic
// over operand width, so that 32-bit and 64-bit mode share them. Instructions are decoded once by
// golang.org/x/arch/x86/x86asm and a small supplement, and kept as straight-line runs ("blocks") that
// never leave a 64-byte line, keyed by physical address and dropped when that line is written, by
// whichever CPU. CPUs of one machine share what they have decoded and a directory of what their caches
// hold.
//
// Left out: x87, MMX, SSE and later vector extensions, real, compatibility and virtual-8086 mode, task
// switches by TSS and task gates, 16-bit addresses, code and stacks, virtualization, and transactional
// memory. In 32-bit mode the segments in CS, SS, DS and ES are flat: others are refused when they are
// loaded. FS and GS have base, limit and rights, checked on each access; string instructions and bit
// strings do not go through them. What is not modelled raises #UD, or #GP where it is a
// segment, a gate or a return, and is counted.
package x86

// Package x86 models the Intel 64 and IA-32 architectures: registers, decoding, semantics,
// exceptions and their timing, for the integer instructions and the system instructions that a
// kernel uses (Intel SDM, volumes 2 and 3).
//
// One instruction is one row of a table (table.go) and one small function; functions are generic
// over operand width, so that 32-bit and 64-bit mode share them. Instructions are decoded once by
// golang.org/x/arch/x86/x86asm and a small supplement, and kept as straight-line runs ("blocks") that
// never leave a 64-byte line, keyed by physical address and dropped when that line is written.
//
// Left out: x87, MMX, SSE and later vector extensions, virtual-8086 mode, task switches by TSS,
// virtualization, and transactional memory. What is not modelled raises #UD and is counted.
package x86

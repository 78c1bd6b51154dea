// Package object reads object files as compilers write them, lays their sections out and relocates them for an
// address, as a kernel does when it loads a module. It follows the System V ABI, edition 4.1 (chapter 4, Sections and
// Relocation), and the supplements of the instruction sets: Intel386 (1997, table 4-9), AMD64 (version 1.0, table
// 4.9), 64-bit PowerPC ELF (version 1.9, section 4.5) and ELF for the Arm Architecture (IHI 0044, section 4.6).
//
// It leaves out what a kernel refuses in a module: global offset tables, thread-local storage, Thumb code. Each of them
// is an error that names the relocation, its place and its symbol. Files of any origin may be given to it: damage is an
// error, never a panic, and no file makes it take more memory than its own size and the limit for a module.
package object

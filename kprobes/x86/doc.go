// Package x86 teaches Kprobes x86 processors, in 64-bit and in 32-bit mode: the breakpoint,
// where instructions begin, how one is moved to a slot, which may be boosted, which may be replaced by
// a jump, and how a detour buffer is built. It works on bytes alone, never on a machine.
//
// The rules come from Linux 2.6.33 and 2.6.34 (arch/x86/kernel/kprobes.c), which look at opcode
// bytes and not at what an instruction does. The encodings follow the Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 2.
package x86

// Package ppc64 teaches Kprobes 64-bit Power processors: the breakpoint, which instructions may be
// probed, which may be replaced by a jump, and how a detour buffer is built. It works on bytes alone, never on
// a machine.
//
// The rules come from Linux 2.6.13 to 2.6.36 (arch/ppc64 and arch/powerpc, kprobes.c), and for jumps
// from 4.11 (optprobes.c), as facts about them say. Which instructions a kernel emulates at a hit, instead of
// stepping a copy, is the guest's own emulator to say. The encodings follow the Power ISA, version 2.03,
// book I and book III-S.
//
// Left out: the return value 1, in the place of an error number, that 2.6.12 has for instructions that cannot
// be probed.
package ppc64

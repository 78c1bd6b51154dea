// Package arm teaches Kprobes ARM processors in A32 state: the breakpoint, which instructions may be
// probed and what a hit does in their place, which may be replaced by a branch, and how a detour buffer is built.
// It works on bytes alone, never on a machine.
//
// The processor has no step. A hit calls a copy of the instruction whose registers are renumbered, or has a function
// of the guest do what the instruction does. The tables here decide which, for every encoding. Encodings follow
// the ARM Architecture Reference Manual, ARMv7-A and ARMv7-R edition (DDI 0406C), cited as ARM ARM.
//
// The rules come from Linux 2.6.33 (arch/arm/kernel/kprobes.c, kprobes-decode.c) and, for the condition in the
// breakpoint, the stack and branches, of 3.18 with the patches for optimized probes (arch/arm/probes), as facts
// about them say. Three things are priors from memory: loads and stores exclusive, barriers and everything of
// coprocessors are refused.
//
// Left out: Thumb code, and kernels that probe it.
package arm

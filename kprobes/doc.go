// Package kprobes models Linux Kprobes as Documentation/kprobes.txt describes them and as the
// kernels of the era implement them: registration with its error numbers, several probes at one
// address, jprobes, return probes, boosting, and jump optimization by a background task.
//
// What a probe hit executes is guest code (workloads/kernel) and is timed by the simulated CPU.
// This package is what happens around a hit: it reads and writes struct kprobe and its kin in
// guest memory, decides what may be probed, boosted and optimized, builds out-of-line copies and
// detour buffers, and has the guest store breakpoints and jumps into its own text. The few
// cycles charged for that work (see Costs) lie outside of the hit path.
//
// What one instruction set knows about probes is a value of type Arch; nothing else in the
// package depends on the instruction set.
//
// Left out: probes in user space, and ftrace-based probes.
package kprobes

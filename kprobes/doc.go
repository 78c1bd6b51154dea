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
// Changing text. A single byte, a breakpoint or what stood in its place, is a plain store. The five
// bytes of a jump are changed by one of two protocols, chosen in Options.Patching: while a stopped
// machine spins with interrupts off, a batch of up to 256 sites in one stop; or site by site behind a
// breakpoint, with every CPU synchronizing after each of the three steps, where a CPU that runs into
// the breakpoint meanwhile is sent to the detour buffer. All stores are the guest's own, one a byte,
// so that other CPUs can execute what is there in between. Every step is an event of the machine
// (kinds patch and sync), and so is what becomes of a probe (kinds probe, slot and detour).
//
// The optimizer is a delayed work. A pass undoes jumps that are not wanted any more, waits until no
// task can be in the middle of what the next jumps replace, writes these, frees what the pass before
// the wait took out of use, and asks for another pass if something is left. It waits for RCU-sched or,
// by Options.Quiesce, for all tasks, without which a preemptible kernel optimizes nothing. Hits of a
// probe whose jump is pending step nothing: they go through the copy in the detour buffer.
//
// Where this package is more careful than the kernels of its era, because they were not safe: a
// breakpoint that is gone when nobody knows it is executed anew; an aggregate forgets its break
// handler a grace period after its jprobe has left, gets one a grace period after its jump has gone,
// and forgets its post handler while the machine stands still; a detour buffer in which a task may be
// preempted is freed by the optimizer, never sooner.
//
// What one instruction set knows about probes is a value of type Arch; nothing else in the
// package depends on the instruction set.
//
// Left out: probes in user space, and ftrace-based probes.
package kprobes

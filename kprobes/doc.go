// Package kprobes models Linux Kprobes as Documentation/kprobes.txt describes them and as the
// kernels of the era implement them: registration with its error numbers, several probes at one
// address, jprobes, return probes, boosting, and jump optimization by a background task.
//
// What a probe hit executes is guest code (workloads/kernel) and is timed by the simulated CPU.
// This package does what happens around a hit: it reads and writes struct kprobe and its kin in
// guest memory, decides what may be probed, boosted and optimized, builds out-of-line copies and
// detour buffers, and has the guest store breakpoints and jumps into its own text. The few
// cycles charged for that work (see Costs) lie outside of the hit path.
//
// How data flows. A call comes from Go, from the guest (bind.go) or through a file (files.go). Register takes a struct
// kprobe in guest memory through five steps (register.go). Check finds the address. Prepare asks the Arch what stands
// for the instruction, and keeps it in a site, of which each probed address has one (site.go). Insert links the structure
// to where the guest looks for it (list.go). Arm has the guest store the breakpoint (arm.go, patch.go). Queue makes the
// detour buffer (optimize.go) and hands the site to the optimizer, whose passes make jumps of breakpoints (optimizer.go).
// Unregister undoes the steps from the last to the first, waits for a grace period, and frees what the probe had
// (unregister.go). A hit calls nothing of this: the guest finds all it needs in its own memory, and a Tally only looks on
// (tally.go).
//
// Changing text. A breakpoint, or what stood in its place, is a store, behind which every CPU
// synchronizes where Arch.SyncsBreakpoints. The bytes of a jump are
// changed by a protocol of the architecture, chosen in Options.Patching: while a stopped machine spins
// with interrupts off, a batch of up to 256 sites in one stop; or behind a breakpoint, site by site or a
// batch at once, with every CPU synchronizing after each of the three steps; or by one store, where a jump is one
// aligned word like every instruction. A CPU that hits the
// breakpoint meanwhile is sent to the detour buffer by a notifier of the protocol: Kprobes alone may not
// know the breakpoint (MutantNoNotifier). All stores are the guest's own, so that other CPUs can execute
// what is there in between, and instruction caches are the guest's care. Every step is an event of the machine
// (kinds patch and sync), and so is the life of a probe (kinds probe, slot and detour).
//
// The optimizer is a delayed work. A pass undoes jumps that are not wanted any more, waits until no
// task can be in the middle of what the next jumps replace, writes these, frees what the pass before
// the wait took out of use, and asks for another pass if something is left. It waits for RCU-sched or,
// by Options.Quiesce, for all tasks, without which a preemptible kernel optimizes nothing. Hits of a
// probe whose jump is pending step nothing where the detour buffer has a copy of the instruction: they go there.
//
// Where this package is more careful than the kernels of its era, because they were not safe: a
// breakpoint that is gone when nobody knows it is executed anew; an aggregate forgets its break
// handler a grace period after its jprobe has left, gets one a grace period after its jump has gone,
// and forgets its post handler while the machine stands still; a detour buffer in which a task may be
// preempted is freed by the optimizer, never sooner.
//
// What one instruction set knows about probes is a value of type Arch, which is passed to New; packages
// below this one have the values. It holds the breakpoint and its alignment, the copy or emulation of an
// instruction, the rules of jumps where there are any, and what the architecture's kernels of a year
// have. Three more things differ between instruction sets without being in it: the path of a hit, which
// is the guest's code; the byte order and the structures, which the image describes; and what a C
// function pointer holds, which the image knows too. The layouts of lists and hash tables, the flags of
// struct kprobe, and the hash function are Linux's everywhere.
//
// Probes at a nop for the function tracer, by which functions of some kernels begin, are calls: see entry.go.
package kprobes

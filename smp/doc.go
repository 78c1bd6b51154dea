// Package smp is what a kernel has besides probes: tasks and the decision which one runs, sleeping
// and waking, time in jiffies, delayed work, grace periods of RCU-sched, and stop_machine.
//
// The decisions are Go; what executes is guest code: schedule() and its context switch, the
// interrupt entry, the loop of a kernel thread. Every task is a task_struct in guest memory, found
// by the names of its debug information. A kernel thread written in Go is such a task too: its
// guest loop calls a native slot in which the Go function runs, and it sleeps by invoking the
// guest's schedule(). So the thread's Go stack and its guest stack belong together, and the
// machine resumes the one when the guest switches back to the other.
//
// Modelled so far is one CPU without preemption of kernel code: one queue in order of arrival, the
// idle task when it is empty. Nothing in the interfaces says so: state that belongs to a CPU is
// kept per CPU, and grace periods ask every one of them.
package smp

// Package smp holds the services of a kernel besides probes: tasks on one to 256 CPUs and the decision which
// one runs where, sleeping and waking, time in jiffies, delayed work, grace periods, and stopping
// the machine.
//
// The decisions are Go; what executes is guest code: schedule() and its context switch, the entry
// of interrupts, the commands to the interrupt controllers, the idle loop, the loops in which CPUs
// wait for each other. A decision takes no simulated time. Every task is a task_struct in guest
// memory, found by the names of its debug information. A kernel thread written in Go is such a task
// too: its guest loop calls a native slot in which the Go function runs, and it sleeps by invoking
// the guest's schedule(). So the thread's Go stack and its guest stack belong together, and the
// machine resumes the one when the guest switches back to the other, on whichever CPU.
//
// How data flows. The guest asks and Go answers, in the native slots that Bind connects (kernel.go): schedule() asks which
// task is next, the timer's interrupt tells of a tick (sched.go), and the answers go into members of task_struct and
// per-CPU variables. Go that has to wait puts its task into a Queue and invokes schedule() (wait.go). What makes
// its condition true wakes it, which puts the task into the queue of a CPU and may send that an interrupt.
//
// # Tasks
//
// Every CPU has a queue of runnable tasks, the most urgent first, in order of arrival among equals.
// A task that wakes goes to the CPU it ran on if that is idle, else to another idle one, else to the
// shortest queue; a CPU with an empty queue takes a task from the longest. A task that is being
// switched out is still in the registers of its CPU, and may only run there. With ticks a task of
// the same priority takes over when a time slice is used up; a more urgent one does at once. At once
// means when the running task calls schedule() or cond_resched(), and on a kernel with preemption
// also when an interrupt ends or preemption is enabled again.
//
// A user task runs in user mode, on a stack there, and comes into the kernel by interrupts and system
// calls. It reschedules on its way back, also on a kernel without preemption.
//
// # Grace periods
//
// Grace periods of RCU-sched end when every CPU has switched tasks, has been in the idle loop outside of
// interrupts, or has had a tick in user mode. Grace periods of the tasks end when every task that could run has
// called schedule() or cond_resched() itself, or has been interrupted in user mode by a tick. The passing
// itself is the event that ends them: nobody polls, and on idle CPUs they are over at once. CPUs that
// hold one of RCU-sched up are asked to reschedule after some jiffies, as rcutree does.
//
// # Stopping the machine
//
// A stopper task on each CPU, more urgent than all others, goes through the states prepare, disable
// interrupts, run, exit; guest code counts who has entered a state, and one CPU does the work. With
// one CPU all that is left of it is that interrupts are off.
//
// # Left out
//
// CPUs are not taken offline. Run queues have no locks, whose cost would be seen with many wake-ups.
// Priorities are strict: the fair share of CFS, nice levels, and balancing but for idle CPUs are not
// modelled. A sleeper wakes in a jiffy, there are no high-resolution timers. Soft interrupts do not
// exist: what they would do, native threads do.
package smp

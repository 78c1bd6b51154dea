package smp

import (
	"fmt"
	"slices"
)

// Pick answers the guest's sched_pick: which task runs next on this CPU. The CPU is between two
// tasks, which is a quiescent state.
func (k *Kernel) Pick(c Caller, prev uint64) uint64 {
	k.cpus[c.CPU()].passes++
	k.expire()
	idle := k.idle(c)
	if prev != idle && k.state(prev) == taskRunning {
		k.enqueue(prev)
	}
	if len(k.queue) == 0 {
		k.armTimer(c)
		return idle
	}
	next := k.queue[0]
	k.queue = k.queue[1:]
	return next
}

// Tick answers the guest's sched_tick: a timer interrupt.
func (k *Kernel) Tick(c Caller) {
	k.expire()
	cur := k.Current(c)
	switch {
	case len(k.queue) > 0:
		info := k.load(cur, k.l.stack)
		k.store(info, k.l.threadFlags, k.load(info, k.l.threadFlags)|tifNeedResched)
	case cur == k.idle(c):
		k.armTimer(c)
	}
}

// Current is the task that runs on the caller's CPU.
func (k *Kernel) Current(c Caller) uint64 {
	return k.load(k.cpus[c.CPU()].current, field{0, k.l.stack.size})
}

// idle is the task of the caller's CPU that runs when no other can.
func (k *Kernel) idle(c Caller) uint64 { return k.cpus[c.CPU()].idle }

func (k *Kernel) enqueue(task uint64) {
	if !slices.Contains(k.queue, task) {
		k.queue = append(k.queue, task)
	}
}

// wake makes a sleeping task runnable.
func (k *Kernel) wake(task uint64) {
	if s := k.state(task); s == taskRunning || s == taskDead {
		return
	}
	k.store(task, k.l.state, taskRunning)
	k.enqueue(task)
}

func (k *Kernel) state(task uint64) uint64 { return k.load(task, k.l.state) }

func (k *Kernel) load(base uint64, f field) uint64 {
	v, err := k.g.Load(base+f.off, f.size)
	if err != nil {
		k.fail(fmt.Errorf("task structure at %#x: %w", base, err))
	}
	return v
}

func (k *Kernel) store(base uint64, f field, v uint64) {
	if err := k.g.Store(base+f.off, f.size, v); err != nil {
		k.fail(fmt.Errorf("task structure at %#x: %w", base, err))
	}
}

// Go starts a kernel thread written in Go and returns its task_struct. The thread is finished when
// body returns; an error of it is kept for Err.
func (k *Kernel) Go(c Caller, name string, body func(Caller) error) (uint64, error) {
	task, err := k.g.Alloc(k.l.size, 64)
	if err != nil {
		return 0, fmt.Errorf("kernel thread %s: %w", name, err)
	}
	stack, err := k.g.Alloc(threadSize, threadSize)
	if err != nil {
		return 0, fmt.Errorf("kernel thread %s: %w", name, err)
	}
	if err := k.g.WriteBytes(task, make([]byte, k.l.size)); err != nil {
		return 0, fmt.Errorf("kernel thread %s: %w", name, err)
	}
	id := uint64(len(k.threads))
	k.threads = append(k.threads, body)
	if _, err := c.InvokeSym("kthread_setup", task, stack, k.l.kthreadLoop, id); err != nil {
		return 0, fmt.Errorf("kernel thread %s: %w", name, err)
	}
	k.store(task, k.l.state, taskRunning)
	k.store(task, k.l.pid, id+2)
	k.store(task, k.l.nativeID, id)
	comm := make([]byte, k.l.comm.size)
	copy(comm[:len(comm)-1], name)
	if err := k.g.WriteBytes(task+k.l.comm.off, comm); err != nil {
		return 0, fmt.Errorf("kernel thread %s: %w", name, err)
	}
	k.enqueue(task)
	return task, k.err
}

// threadFinished is what the native slot of a kernel thread returns to end the guest's loop.
const threadFinished = 2

// Thread answers the guest's native_thread: it runs the body to its end.
func (k *Kernel) Thread(c Caller, id uint64) uint64 {
	if id >= uint64(len(k.threads)) {
		k.fail(fmt.Errorf("the guest runs native thread %d, but only %d exist", id, len(k.threads)))
		return threadFinished
	}
	if err := k.threads[id](c); err != nil {
		k.fail(err)
	}
	return threadFinished
}

package smp

import (
	"fmt"

	"kprobesim/image"
	"kprobesim/internal/clock"
)

// Guest connects the services with the machine. Addresses are kernel virtual addresses. The
// machine implements it. None of it takes simulated time.
type Guest interface {
	image.Memory
	WriteBytes(va uint64, b []byte) error
	Alloc(size, align uint64) (uint64, error)
	Now() clock.Ticks
	PerCPU(cpu int, symbol string) (uint64, error)
}

// Caller is the guest context in which a Go function runs: a native call. Functions that take a
// Caller may let other tasks run before they return, and the caller may have moved to another CPU.
// A function that takes one may let time pass; without one only decisions are possible.
type Caller interface {
	CPU() int
	Charge(cycles int64) // lets simulated time pass
	InvokeSym(name string, args ...uint64) (uint64, error)
}

// taskLayout is where things are in struct task_struct and struct thread_info.
type taskLayout struct {
	constants
	size                               uint64
	state, stack, onCPU, pid, mm, comm image.Field
	holdout                            image.Field
	threadFlags, preemptCount          image.Field // in struct thread_info, at the bottom of the stack
	kthreadLoop                        uint64      // address of the guest's loop around native_thread
	symbol                             func(name string) (addr uint64, ok bool)
}

// constants are the numbers of the guest's headers, by the names of its enumerators.
type constants struct {
	running, uninterruptible, dead uint64 // states of tasks
	threadSize                     uint64 // bytes of a kernel stack, and what it is aligned to
	needResched                    uint64 // mask of the flag in thread_info.flags
	hardirqMask, preemptActive     uint64 // of preempt_count
}

// newConstants fails on the first enumerator that the debug information lacks, before the guest
// runs.
func newConstants(im *image.Image) (c constants, err error) {
	var bit uint64
	for _, e := range []struct {
		name string
		to   *uint64
	}{
		{"TASK_RUNNING", &c.running},
		{"TASK_UNINTERRUPTIBLE", &c.uninterruptible},
		{"TASK_DEAD", &c.dead},
		{"THREAD_SIZE", &c.threadSize},
		{"TIF_NEED_RESCHED", &bit},
		{"HARDIRQ_MASK", &c.hardirqMask},
		{"PREEMPT_ACTIVE", &c.preemptActive},
	} {
		v, err := im.Enum(e.name)
		if err != nil {
			return c, err
		}
		*e.to = uint64(v)
	}
	c.needResched = 1 << bit
	return c, nil
}

// newTaskLayout asks for members by their names in Linux.
func newTaskLayout(im *image.Image) (l taskLayout, err error) {
	if l.constants, err = newConstants(im); err != nil {
		return l, err
	}
	l.size, err = im.Layout("task_struct", image.Parts{
		"state": &l.state, "stack": &l.stack, "on_cpu": &l.onCPU, "pid": &l.pid, "mm": &l.mm,
		"comm": &l.comm, "rcu_tasks_holdout": &l.holdout,
	})
	if err != nil {
		return l, err
	}
	if _, err = im.Layout("thread_info", image.Parts{
		"flags": &l.threadFlags, "preempt_count": &l.preemptCount,
	}); err != nil {
		return l, err
	}
	l.symbol = func(name string) (uint64, bool) {
		f, ok := im.Func(name)
		return f.Pointer, ok
	}
	loop, ok := l.symbol("native_thread_loop")
	if !ok {
		return l, fmt.Errorf("image %s has no function native_thread_loop for kernel threads", im.Name)
	}
	l.kthreadLoop = loop
	return l, nil
}

// info is the address of a task's struct thread_info, which lies at the bottom of its stack.
func (k *Kernel) info(t *task) uint64 {
	if t.stack == 0 {
		t.stack = k.mem.Load(t.addr, k.l.stack)
	}
	return t.stack
}

// state is read from the guest each time, because guest code stores it as well.
func (k *Kernel) state(t *task) uint64 { return k.mem.Load(t.addr, k.l.state) }

// count is the preempt_count of a task; with 0 it may be preempted. As in Linux it counts nested
// disables and interrupts, and marks a preemption under way.
func (k *Kernel) count(t *task) uint64 { return k.mem.Load(k.info(t), k.l.preemptCount) }

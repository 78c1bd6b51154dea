package smp

import (
	"fmt"

	"kprobesim/image"
	"kprobesim/internal/clock"
)

// Guest is what the services need of the machine. Addresses are kernel virtual addresses.
type Guest interface {
	Load(va uint64, size int) (uint64, error)
	Store(va uint64, size int, v uint64) error
	WriteBytes(va uint64, b []byte) error
	Alloc(size, align uint64) (uint64, error)
	Now() clock.Ticks
	PerCPU(cpu int, symbol string) (uint64, error)
}

// Caller is the guest context in which a Go function runs: a native call. Functions that take a
// Caller may let other tasks run before they return, and the caller may have moved to another CPU.
type Caller interface {
	CPU() int
	Charge(cycles int64) // lets simulated time pass
	InvokeSym(name string, args ...uint64) (uint64, error)
}

// field is a member of a structure in guest memory.
type field struct {
	off  uint64
	size int
}

// fields looks up members by name, in order.
func fields(im *image.Image, name string, paths []string, into []*field) (size uint64, err error) {
	st, err := im.Struct(name)
	if err != nil {
		return 0, err
	}
	for i, p := range paths {
		f, err := st.Field(p)
		if err != nil {
			return 0, err
		}
		*into[i] = field{uint64(f.Offset), int(f.Size)}
	}
	return uint64(st.Size), nil
}

// taskLayout is where things are in struct task_struct and struct thread_info.
type taskLayout struct {
	size                                     uint64
	state, stack, onCPU, pid, nativeID, comm field
	holdout                                  field
	threadFlags, preemptCount                field  // in struct thread_info, at the bottom of the stack
	kthreadLoop                              uint64 // address of the guest's loop around native_thread
	symbol                                   func(name string) (addr uint64, ok bool)
}

// Constants of the guest's <linux/sched.h> and <linux/preempt.h> that debug information does not
// carry.
const (
	taskRunning         = 0
	taskUninterruptible = 2
	taskDead            = 64
	threadSize          = 8192
	tifNeedResched      = 1 << 3
	hardirqMask         = 0x3ff0000
	preemptActive       = 0x10000000
)

func newTaskLayout(im *image.Image) (l taskLayout, err error) {
	l.size, err = fields(im, "task_struct",
		[]string{"state", "stack", "on_cpu", "pid", "native_id", "comm", "rcu_tasks_holdout"},
		[]*field{&l.state, &l.stack, &l.onCPU, &l.pid, &l.nativeID, &l.comm, &l.holdout})
	if err != nil {
		return l, err
	}
	if _, err = fields(im, "thread_info", []string{"flags", "preempt_count"},
		[]*field{&l.threadFlags, &l.preemptCount}); err != nil {
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

// info is the address of a task's struct thread_info, which lies at the bottom of its stack.
func (k *Kernel) info(t *task) uint64 {
	if t.stack == 0 {
		t.stack = k.load(t.addr, k.l.stack)
	}
	return t.stack
}

func (k *Kernel) state(t *task) uint64 { return k.load(t.addr, k.l.state) }

// count is the preempt_count of a task; with 0 it may be preempted.
func (k *Kernel) count(t *task) uint64 { return k.load(k.info(t), k.l.preemptCount) }

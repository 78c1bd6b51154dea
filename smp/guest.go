package smp

import (
	"fmt"

	"kprobesim/internal/clock"
	"kprobesim/sim"
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
// Caller may let other tasks run before they return.
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
func fields(im *sim.Image, name string, paths []string, into []*field) (size uint64, err error) {
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
	size                              uint64
	state, stack, pid, nativeID, comm field
	threadFlags                       field  // in struct thread_info, at the bottom of the stack
	kthreadLoop                       uint64 // address of the guest's loop around native_thread
}

// Constants of the guest's <linux/sched.h> that debug information does not carry.
const (
	taskRunning         = 0
	taskUninterruptible = 2
	taskDead            = 64
	threadSize          = 8192
	tifNeedResched      = 1 << 3
)

func newTaskLayout(im *sim.Image) (l taskLayout, err error) {
	l.size, err = fields(im, "task_struct",
		[]string{"state", "stack", "pid", "native_id", "comm"},
		[]*field{&l.state, &l.stack, &l.pid, &l.nativeID, &l.comm})
	if err != nil {
		return l, err
	}
	if _, err = fields(im, "thread_info", []string{"flags"}, []*field{&l.threadFlags}); err != nil {
		return l, err
	}
	loop, ok := im.Symbol("native_thread_loop")
	if !ok {
		return l, fmt.Errorf("image %s has no function native_thread_loop for kernel threads", im.Name)
	}
	l.kthreadLoop = loop.Addr
	return l, nil
}

package smp

import (
	"fmt"
	"slices"
	"strings"

	"kprobesim/image"
)

// task holds what the scheduler remembers of a task_struct.
type task struct {
	addr    uint64
	mem     memory
	stack   uint64 // 0 while it has not been asked for
	name    string
	bound   int   // the only CPU that it may run on, or anyCPU
	last    int   // the CPU that it runs on or ran on last
	prio    int   // the higher, the more urgent
	slice   int64 // ticks that it may still run while others of its priority wait
	running bool  // picked by CPU last, and not given up since
	// preempted says that it did not give its CPU up of its own will when it did so last.
	preempted bool
	queued    bool // waits in the queue of CPU last
	idle      bool
	dead      bool
	joiners   Queue
	contexts  []uint8 // of the exceptions that it is in the middle of, while it does not run
	// userStack is its stack in user mode, 0 for a kernel thread.
	userStack uint64
	space     *Space        // its own address space, or nil
	waits     func() string // what it sleeps for, for reports; nil when it does not
}

// level is 1 for a user task and 0 for one of the kernel, as told to who watches.
func (t *task) level() uint64 {
	if t.userStack != 0 || t.space != nil {
		return 1
	}
	return 0
}

// memory holds what a task takes: its structure and its stack.
type memory struct{ task, stack uint64 }

// anyCPU is the number of no CPU in particular.
const anyCPU = -1

// stopperPriority is above all that can be asked for.
const stopperPriority = 1 << 30

// Thread describes a kernel thread that runs a function of the guest.
type Thread struct {
	Name     string // at most 15 letters are kept
	CPU      int    // where it starts, or -1 for any
	Bound    bool   // it runs on CPU only
	Priority int    // 0 is usual; more urgent ones run as long as they can
	Fn       string // a function that takes one number; the thread ends when it returns
	Arg      uint64
}

// Go starts a kernel thread written in Go on any CPU and returns its task_struct. The thread is
// finished when body returns; an error of it is kept for Err.
func (k *Kernel) Go(c Caller, name string, body func(Caller) error) (uint64, error) {
	return k.native(c, Thread{Name: name, CPU: anyCPU}, body)
}

// GoOn is Go for a thread that never leaves one CPU.
func (k *Kernel) GoOn(c Caller, cpu int, name string, body func(Caller) error) (uint64, error) {
	return k.native(c, Thread{Name: name, CPU: cpu, Bound: true}, body)
}

func (k *Kernel) native(c Caller, s Thread, body func(Caller) error) (uint64, error) {
	id := uint64(len(k.threads))
	k.threads = append(k.threads, body)
	return k.create(c, s, k.l.kthreadLoop, id, 0)
}

// Spawn starts a kernel thread that is a function of the guest, and returns its task_struct.
func (k *Kernel) Spawn(c Caller, s Thread) (uint64, error) {
	fn, ok := k.l.symbol(s.Fn)
	if !ok {
		return 0, fmt.Errorf("kernel thread %s: the image has no function %s", s.Name, s.Fn)
	}
	return k.create(c, s, fn, s.Arg, 0)
}

// create makes a task that calls fn(arg) and puts it on a queue. mm is the address of the guest's description of
// its user memory, 0 for a kernel thread.
func (k *Kernel) create(c Caller, s Thread, fn, arg, mm uint64) (uint64, error) {
	if s.CPU != anyCPU && (s.CPU < 0 || s.CPU >= len(k.cpus) || !k.cpus[s.CPU].online) ||
		s.Bound && s.CPU == anyCPU {
		return 0, fmt.Errorf("kernel thread %s: CPU %d is not online: %d of %d are", s.Name, s.CPU,
			len(k.online()), len(k.cpus))
	}
	mem, err := k.allocate()
	if err != nil {
		return 0, fmt.Errorf("kernel thread %s: %w", s.Name, err)
	}
	if _, err := c.InvokeSym("kthread_setup", mem.task, mem.stack, fn, arg); err != nil {
		return 0, fmt.Errorf("kernel thread %s: %w", s.Name, err)
	}
	t := k.lookUp(mem.task)
	t.mem, t.name, t.prio, t.slice, t.last = mem, s.Name, s.Priority, k.opt.Slice, c.CPU()
	if s.Bound {
		t.bound = s.CPU
	}
	if err := k.fill(t, mm); err != nil {
		return 0, fmt.Errorf("kernel thread %s: %w", s.Name, err)
	}
	if s.CPU == anyCPU {
		s.CPU = k.selectCPU(t)
	}
	k.enqueue(t, s.CPU, false)
	k.kick(c)
	return t.addr, k.mem.Err
}

// allocate takes zeroed memory for a task, that of a dead one first.
func (k *Kernel) allocate() (m memory, err error) {
	for i, r := range k.reaped {
		if k.mem.Load(r.task, k.l.onCPU) == 0 {
			k.reaped = slices.Delete(k.reaped, i, i+1)
			return r, k.g.WriteBytes(r.task, make([]byte, k.l.size))
		}
	}
	if m.task, err = k.g.Alloc(k.l.size, 64); err != nil {
		return m, err
	}
	if m.stack, err = k.g.Alloc(k.l.threadSize, k.l.threadSize); err != nil {
		return m, err
	}
	return m, nil
}

// fill writes what the guest's kthread_setup leaves to us.
func (k *Kernel) fill(t *task, mm uint64) error {
	k.pids++
	k.mem.Store(t.addr, k.l.state, k.l.running)
	k.mem.Store(t.addr, k.l.stack, t.mem.stack)
	k.mem.Store(t.addr, k.l.pid, k.pids+1) // 1 is the task that the guest boots
	k.mem.Store(t.addr, k.l.mm, mm)
	comm := make([]byte, k.l.comm.Size)
	copy(comm[:max(len(comm)-1, 0)], t.name)
	return k.g.WriteBytes(t.addr+k.l.comm.Offset, comm)
}

// lookUp returns the record of a task, and makes one for a task that the guest brought along.
func (k *Kernel) lookUp(addr uint64) *task {
	if t := k.tasks[addr]; t != nil {
		return t
	}
	t := &task{addr: addr, bound: anyCPU, slice: k.opt.Slice, name: k.comm(addr)}
	for i := range k.cpus {
		if k.cpus[i].idle == addr {
			t.idle, t.bound, t.last, t.prio, t.name = true, i, i, -1<<30, "idle"
		}
	}
	k.tasks[addr] = t
	k.order = append(k.order, t)
	return t
}

// comm reads the name of a task.
func (k *Kernel) comm(addr uint64) string {
	var s strings.Builder
	for i := range uint64(k.l.comm.Size) {
		b := k.mem.Load(addr, image.Field{Offset: k.l.comm.Offset + i, Size: 1})
		if b == 0 {
			break
		}
		s.WriteByte(byte(b))
	}
	return s.String()
}

// Join waits until tasks are dead. It can be asked once of each: the task's memory may then serve another.
func (k *Kernel) Join(c Caller, tasks ...uint64) error {
	for _, addr := range tasks {
		if err := k.join(c, addr); err != nil {
			return err
		}
	}
	return nil
}

func (k *Kernel) join(c Caller, addr uint64) error {
	t := k.tasks[addr]
	if t == nil || t.mem.task == 0 {
		return fmt.Errorf("join of %#x, which is no kernel thread that was started here", addr)
	}
	t.joiners.Name = "the end of " + t.name
	if err := k.Wait(c, &t.joiners, func() bool { return t.dead }); err != nil {
		return err
	}
	if t.mem.task != 0 {
		k.reaped = append(k.reaped, t.mem)
		t.mem = memory{}
		if t.userStack != 0 {
			k.user.stacks = append(k.user.stacks, t.userStack)
		}
		if t.space != nil {
			k.spaces.dead = append(k.spaces.dead, t.space)
		}
		k.forget(t)
	}
	return nil
}

// forget drops the record of a task that is dead and joined.
func (k *Kernel) forget(t *task) {
	if k.tasks[t.addr] == t {
		delete(k.tasks, t.addr)
	}
	k.order = slices.DeleteFunc(k.order, func(o *task) bool { return o == t })
}

// threadFinished ends the guest's loop when the native slot of a kernel thread returns it.
const threadFinished = 2

// Thread answers the guest's native_thread: it runs the body to its end.
func (k *Kernel) Thread(c Caller, id uint64) uint64 {
	if id >= uint64(len(k.threads)) || k.threads[id] == nil {
		k.fail(fmt.Errorf("the guest runs native thread %d of %d, which does not exist or has ended", id,
			len(k.threads)))
		return threadFinished
	}
	k.fail(k.threads[id](c))
	k.threads[id] = nil
	return threadFinished
}

package smp

import (
	"fmt"
	"slices"
	"strings"
)

// freezer holds tasks back that have given up their CPU of their own will.
type freezer struct {
	mutex  Mutex
	by     *task   // who freezes the others, nil while nobody does
	left   []*task // tasks that are still to come to such a point
	held   []*task // tasks that could run
	q      Queue
	number uint64 // of the last time
}

// FreezeTasks brings every task but the caller to a point at which it gives up its CPU of its own will, holds it there
// until all have come, and lets them go on. A task that was in the middle of something when it was called is out of it then.
// Tasks that sleep are at such a point. When they are woken they stay. The stoppers are not frozen. Code that interrupts
// an idle CPU is waited for by a grace period before.
//
// Kernels do it with freeze_processes, thaw_processes and a look at the state of every task in between. They freeze user
// tasks and a few of their own threads, and give up after a while. Here all tasks take part and the wait has no bound.
// anywhere is a mistake: a task that was preempted counts as frozen where it is.
func (k *Kernel) FreezeTasks(c Caller, anywhere bool) error {
	f := &k.freezer
	if err := k.SynchronizeSched(c); err != nil {
		return err
	}
	if err := k.Lock(c, &f.mutex); err != nil {
		return err
	}
	k.freeze(c, anywhere)
	err := k.wait(c, &f.q, func() bool { return len(f.left) == 0 }, f.holders)
	k.thaw(c)
	k.Unlock(c, &f.mutex)
	return err
}

// freeze begins: it takes the tasks off their queues that may be held where they are.
func (k *Kernel) freeze(c Caller, anywhere bool) {
	f := &k.freezer
	f.by, f.left = k.lookUp(k.Current(c)), nil
	k.seq++
	f.number = k.seq
	k.note(c.CPU(), EventGraceBegin, PeriodFreeze, f.number, 0)
	for _, t := range k.order {
		switch {
		case !f.freezes(t):
		case t.queued && (!t.preempted || anywhere):
			cpu := &k.cpus[t.last]
			cpu.queue = slices.DeleteFunc(cpu.queue, func(o *task) bool { return o == t })
			t.queued = false
			f.held = append(f.held, t)
		case t.queued || t.running:
			f.left = append(f.left, t)
			k.mem.Store(t.addr, k.l.holdout, 1)
		}
	}
}

// freezes tells whether a task is one that is frozen now.
func (f *freezer) freezes(t *task) bool {
	return f.by != nil && t != f.by && !t.idle && !t.dead && t.prio != stopperPriority
}

// thaw lets the tasks go on.
func (k *Kernel) thaw(c Caller) {
	f := &k.freezer
	k.note(c.CPU(), EventGraceEnd, PeriodFreeze, f.number, 0)
	held := f.held
	f.by, f.held = nil, nil
	for _, t := range held {
		k.enqueue(t, k.selectCPU(t), false)
	}
	k.kick(c)
}

// hold keeps a task that could run from doing so, and reports whether it does.
func (k *Kernel) hold(t *task) bool {
	f := &k.freezer
	if !f.freezes(t) {
		return false
	}
	f.held = append(f.held, t)
	return true
}

// gaveUp notes that a task has given up its CPU of its own will.
func (k *Kernel) gaveUp(c Caller, t *task) {
	f := &k.freezer
	i := slices.Index(f.left, t)
	if i < 0 {
		return
	}
	f.left = slices.Delete(f.left, i, i+1)
	k.mem.Store(t.addr, k.l.holdout, 0)
	if len(f.left) == 0 {
		k.wakeAll(c, &f.q)
	}
}

// freezeHere has a task that could give up its CPU do so, if it is to be frozen. It may be preempted before it does.
// Then its flag is gone, and it is asked again at its next such point.
func (k *Kernel) freezeHere(t *task) {
	if slices.Contains(k.freezer.left, t) {
		k.mem.Store(t.addr, k.l.holdout, 1) // a grace period of the tasks may have ended in between
		k.needResched(t)
	}
}

// holders says which tasks are not frozen yet.
func (f *freezer) holders() string {
	var list []string
	for _, t := range f.left {
		list = append(list, t.name)
	}
	return fmt.Sprintf("all tasks to be frozen, held up by %s", strings.Join(list, ", "))
}

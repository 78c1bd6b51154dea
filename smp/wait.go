package smp

import (
	"errors"
	"slices"
)

// Queue holds tasks that wait for a condition. The zero value is ready.
type Queue struct{ tasks []uint64 }

// Wait sleeps until cond holds; whoever makes it true calls Wake.
func (k *Kernel) Wait(c Caller, q *Queue, cond func() bool) error {
	for !cond() {
		task := k.Current(c)
		if task == k.idle(c) {
			return errIdleSleeps
		}
		k.store(task, k.l.state, taskUninterruptible)
		q.tasks = append(q.tasks, task)
		if err := k.Schedule(c); err != nil {
			return err
		}
		if k.err != nil {
			return k.err
		}
	}
	return k.err
}

var errIdleSleeps = errors.New("the idle task must not sleep: call this from a task of its own")

// Wake makes every task of the queue look at its condition again.
func (k *Kernel) Wake(q *Queue) {
	tasks := q.tasks
	q.tasks = nil
	for _, t := range tasks {
		k.wake(t)
	}
}

// Schedule gives up the CPU; a runnable caller goes to the end of the queue.
func (k *Kernel) Schedule(c Caller) error {
	_, err := c.InvokeSym("schedule")
	return err
}

// Sleep waits for the given number of jiffies.
func (k *Kernel) Sleep(c Caller, jiffies int64) error {
	var q Queue
	over := false
	k.after(jiffies, func() {
		over = true
		k.Wake(&q)
	})
	return k.Wait(c, &q, func() bool { return over })
}

// Mutex lets one task at a time pass. The zero value is unlocked.
type Mutex struct {
	held bool
	q    Queue
}

// Lock waits until the mutex is free and takes it.
func (k *Kernel) Lock(c Caller, m *Mutex) error {
	if err := k.Wait(c, &m.q, func() bool { return !m.held }); err != nil {
		return err
	}
	m.held = true
	return nil
}

// Unlock frees the mutex and wakes whoever waits for it.
func (k *Kernel) Unlock(m *Mutex) {
	m.held = false
	k.Wake(&m.q)
}

// SynchronizeSched waits until every CPU has passed a quiescent state of RCU-sched since the call:
// then nobody is in the middle of anything that began before it. Asking the scheduler is one, so
// with a single CPU the caller brings it about itself.
func (k *Kernel) SynchronizeSched(c Caller) error {
	since := slices.Clone(k.cpus)
	if err := k.Schedule(c); err != nil {
		return err
	}
	for !k.passed(since) {
		if err := k.Sleep(c, 1); err != nil {
			return err
		}
	}
	return k.err
}

func (k *Kernel) passed(since []cpuState) bool {
	for i, s := range since {
		if k.cpus[i].passes == s.passes {
			return false
		}
	}
	return true
}

// StopMachine runs f while no CPU does anything else. With a single CPU that means with
// interrupts off.
func (k *Kernel) StopMachine(c Caller, f func(Caller) error) error {
	flags, err := c.InvokeSym("irq_disable_save")
	if err != nil {
		return err
	}
	if err := f(c); err != nil {
		return err
	}
	_, err = c.InvokeSym("irq_restore", flags)
	return err
}

// SynchronizeTasks waits until every task has given up its CPU by itself since the call.
func (k *Kernel) SynchronizeTasks(c Caller) error { return k.SynchronizeSched(c) }

package smp

import (
	"errors"
	"fmt"
)

// Queue holds tasks that wait for a condition. The zero value is ready.
type Queue struct {
	Name  string // what is waited for, for reports
	tasks []*task
}

// Wait sleeps until cond holds; the task that makes it true calls Wake.
func (k *Kernel) Wait(c Caller, q *Queue, cond func() bool) error {
	return k.wait(c, q, cond, func() string { return q.Name })
}

// wait looks at the condition again after every wake-up, because another task may have been faster.
func (k *Kernel) wait(c Caller, q *Queue, cond func() bool, what func() string) error {
	for !cond() {
		t := k.lookUp(k.Current(c))
		if t.idle {
			return errIdleSleeps
		}
		k.mem.Store(t.addr, k.l.state, k.l.uninterruptible)
		t.waits = what
		q.tasks = append(q.tasks, t)
		if err := k.Schedule(c); err != nil {
			return err
		}
		if k.mem.Err != nil {
			return k.mem.Err
		}
	}
	return k.mem.Err
}

var errIdleSleeps = errors.New("the idle task must not sleep: call this from a task of its own")

// Wake makes every task of the queue look at its condition again.
func (k *Kernel) Wake(c Caller, q *Queue) {
	k.wakeAll(c, q)
	if k.kick(c) && k.opt.Preempt {
		k.invoke(c, "preempt_check")
	}
}

// wakeAll is Wake for callers that schedule, or kick, soon.
func (k *Kernel) wakeAll(c Caller, q *Queue) {
	tasks := q.tasks
	q.tasks = nil
	for _, t := range tasks {
		k.wake(c, t)
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
	k.after(c, jiffies, func(c Caller) {
		over = true
		k.wakeAll(c, &q)
	})
	until := k.Jiffies() + jiffies
	return k.wait(c, &q, func() bool { return over },
		func() string { return fmt.Sprintf("jiffy %d", until) })
}

// timeout answers the guest's schedule_timeout.
func (k *Kernel) timeout(c Caller, jiffies int64) {
	k.fail(k.Sleep(c, jiffies))
}

// Mutex lets one task at a time pass. The zero value is unlocked.
type Mutex struct {
	Name   string // for reports
	held   bool
	holder *task
	q      Queue
}

// Lock waits until the mutex is free and takes it.
func (k *Kernel) Lock(c Caller, m *Mutex) error {
	what := func() string {
		if m.holder == nil {
			return fmt.Sprintf("mutex %s, which is free", m.Name)
		}
		return fmt.Sprintf("mutex %s, which %s holds", m.Name, m.holder.name)
	}
	if err := k.wait(c, &m.q, func() bool { return !m.held }, what); err != nil {
		return err
	}
	m.held, m.holder = true, k.lookUp(k.Current(c))
	return nil
}

// Unlock frees the mutex and wakes the tasks that wait for it.
func (k *Kernel) Unlock(c Caller, m *Mutex) {
	m.held, m.holder = false, nil
	k.Wake(c, &m.q)
}

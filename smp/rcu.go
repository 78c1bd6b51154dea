package smp

import (
	"fmt"
	"slices"
	"strings"

	"kprobesim/image"
)

// rcu is the state of RCU-sched: at most one grace period at a time. It ends when every CPU that it
// waits for has passed a quiescent state, and it is the passing that ends it: nobody polls. A caller
// that comes while one runs waits for the next, which begins when the running one ends.
type rcu struct {
	begun, ended int64 // numbers of grace periods
	wanted       int64 // the last one that somebody waits for
	left         int   // CPUs that hold the running one up
	timer        uint64
	q            Queue
}

// SynchronizeSched waits until every CPU has passed a quiescent state of RCU-sched since the call: a
// context switch, the idle loop, or user mode. Then nobody is in the middle of anything that began
// before it with preemption disabled. Asking the scheduler is a context switch, so with a single CPU
// the caller brings it about itself.
func (k *Kernel) SynchronizeSched(c Caller) error {
	r := &k.rcu
	number := r.begun + 1
	if k.opt.Mutant == MutantJoinPeriod && r.begun > r.ended {
		number = r.begun
	}
	r.wanted = max(r.wanted, number)
	k.show()
	k.beginPeriod(c, k.show)
	k.show()
	k.kick(c)
	if !k.many() {
		if err := k.Schedule(c); err != nil {
			return err
		}
	}
	return k.wait(c, &r.q, func() bool { return r.ended >= number }, k.holders)
}

// holders says which CPUs hold the grace period of RCU-sched up.
func (k *Kernel) holders() string {
	var list []string
	for i := range k.cpus {
		if k.cpus[i].holds {
			list = append(list, fmt.Sprintf("cpu %d", i))
		}
	}
	return "a grace period of RCU-sched, held up by " + strings.Join(list, ", ")
}

// idleSection has the code of the guest's idle loop.
const idleSection = ".phase.idle"

// beginPeriod begins a grace period unless one is running or none is wanted. CPUs in the idle loop
// have passed it already. Another CPU that serves an interrupt there has not, from the interrupt's first instruction to its
// last: a probe may be hit where the count of interrupts does not tell of it, at irq_enter for instance. between is called
// behind each CPU, while the caller itself counts as one that is waited for.
func (k *Kernel) beginPeriod(c Caller, between func()) {
	r := &k.rcu
	if r.begun > r.ended || r.wanted <= r.begun {
		return
	}
	r.begun++
	k.note(c.CPU(), EventGraceBegin, PeriodSched, uint64(r.begun), 0)
	r.left = 1
	for _, cpu := range k.online() {
		away := k.away != nil && cpu.n != c.CPU() && k.away(cpu.n) && k.opt.Mutant != MutantIdleInterrupt
		if away || !k.idles(cpu) {
			cpu.holds, cpu.awake = true, !away && k.mem.Load(cpu.inIdle, word) == 0
			k.mem.Store(cpu.wanted, word, 1)
			r.left++
		}
		between()
	}
	r.left--
	switch {
	case r.left == 0:
		k.endPeriod(c)
	case k.many():
		k.forceQS(c)
	}
}

// word is a per-CPU variable of the type int.
var word = image.Field{Size: 4}

// idles tells whether a CPU is in the idle loop and serves no interrupt there.
func (k *Kernel) idles(cpu *cpuState) bool {
	return cpu.curr != nil && cpu.curr.idle && k.mem.Load(cpu.inIdle, word) != 0 &&
		(k.count(cpu.curr)&k.l.hardirqMask == 0 || k.opt.Mutant == MutantIdleInterrupt)
}

// forceQS asks the CPUs that hold the grace period up to reschedule, at once or when it has lasted.
func (k *Kernel) forceQS(c Caller) {
	r := &k.rcu
	if k.opt.ForceQuiescent < 0 {
		k.force()
		return
	}
	r.timer = k.after(c, k.opt.ForceQuiescent, func(c Caller) {
		k.force()
		k.forceQS(c)
	})
}

// force asks every CPU that still holds the period up; idle ones have passed and are left alone.
func (k *Kernel) force() {
	for i := range k.cpus {
		if k.cpus[i].holds {
			k.resched(&k.cpus[i])
		}
	}
}

// pass notes that a CPU is in a quiescent state.
func (k *Kernel) pass(c Caller, cpu *cpuState) {
	if !cpu.holds {
		return
	}
	r := &k.rcu
	cpu.holds = false
	k.mem.Store(cpu.wanted, word, 0)
	k.note(cpu.n, EventQuiescent, PeriodSched, uint64(r.begun), 0)
	if r.left--; r.left == 0 {
		k.endPeriod(c)
	}
}

// endPeriod is called by the CPU that passed last, or at once when all idle.
func (k *Kernel) endPeriod(c Caller) {
	r := &k.rcu
	k.cancel(r.timer)
	r.ended = r.begun
	k.note(c.CPU(), EventGraceEnd, PeriodSched, uint64(r.ended), 0)
	k.wakeAll(c, &r.q)
	k.beginPeriod(c, func() {})
}

// quiescentNow answers the guest's rcu_quiescent: the idle loop is about to halt, or an interrupt of
// it is over.
func (k *Kernel) quiescentNow(c Caller) {
	k.pass(c, &k.cpus[c.CPU()])
	k.kick(c)
}

// tasksPeriod is one grace period of the tasks flavour. Several may run at a time, each with the
// tasks that could run when it began.
type tasksPeriod struct {
	number uint64
	left   []*task // tasks that have not given up a CPU of their own will since it began
	q      Queue
}

// SynchronizeTasks waits until every task that is runnable now has called schedule() or cond_resched()
// itself. A task that was preempted has not: it may go on in the middle of anything. Code that interrupts an idle
// CPU is waited for by a grace period of RCU-sched before.
func (k *Kernel) SynchronizeTasks(c Caller) error {
	if err := k.SynchronizeSched(c); err != nil {
		return err
	}
	k.seq++
	p := &tasksPeriod{number: k.seq}
	k.waiters = append(k.waiters, p)
	k.note(c.CPU(), EventGraceBegin, PeriodTasks, p.number, 0)
	self := k.lookUp(k.Current(c))
	for _, t := range slices.Clone(k.order) {
		if (t.running || t.queued) && !t.idle && t != self {
			p.left = append(p.left, t)
			k.mem.Store(t.addr, k.l.holdout, 1)
			k.show()
		}
	}
	err := k.wait(c, &p.q, func() bool { return len(p.left) == 0 }, p.holders)
	k.waiters = slices.DeleteFunc(k.waiters, func(o *tasksPeriod) bool { return o == p })
	k.note(c.CPU(), EventGraceEnd, PeriodTasks, p.number, 0)
	return err
}

// holders says which tasks hold the grace period up.
func (p *tasksPeriod) holders() string {
	var list []string
	for _, t := range p.left {
		list = append(list, t.name)
	}
	return "a grace period of the tasks, held up by " + strings.Join(list, ", ")
}

// taskQuiescent notes that a task has called schedule() of its own will.
func (k *Kernel) taskQuiescent(c Caller, t *task) {
	for _, p := range k.waiters {
		i := slices.Index(p.left, t)
		if i < 0 {
			continue
		}
		p.left = slices.Delete(p.left, i, i+1)
		k.mem.Store(t.addr, k.l.holdout, 0)
		k.note(t.last, EventQuiescent, PeriodTasks, p.number, t.addr)
		if len(p.left) == 0 {
			k.wakeAll(c, &p.q)
		}
	}
}

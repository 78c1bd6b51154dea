package smp

import (
	"fmt"
	"slices"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/sim"
)

// Pick answers the guest's sched_pick: which task runs next on the caller's CPU. irqsOff says whether interrupts were off
// when it called schedule(). What follows the decision may take time, in which other CPUs change everything but the
// decision.
func (k *Kernel) Pick(c Caller, prev uint64, irqsOff bool) uint64 {
	cpu, p := &k.cpus[c.CPU()], k.lookUp(prev)
	if k.locked != nil {
		k.locked(cpu.n)
	}
	cpu.curr, cpu.asked = nil, asked{} // nobody need ask this CPU to reschedule
	count := k.count(p)
	preempted := count&k.l.preemptActive != 0 && k.state(p) != k.l.dead
	k.checkAtomic(cpu, p, count&^k.l.preemptActive, irqsOff)
	k.pass(c, cpu)
	if !preempted || k.opt.Mutant == MutantTasksPreempted {
		k.taskQuiescent(c, p)
	}
	k.expire(c)
	k.putBack(c, cpu, p, preempted)
	next := k.choose(cpu)
	cpu.curr, next.running, next.last, next.waits = next, true, cpu.n, nil
	if next != p {
		k.note(cpu.n, sim.EventTask, next.name, next.addr, next.level())
		if k.swap != nil {
			p.contexts = k.swap(cpu.n, next.contexts)
			k.checkStruck(p)
		}
	}
	if next.idle {
		k.arm(c)
	}
	k.kick(c)
	if k.opt.Mutant == MutantReschedLate {
		k.show()
		info := k.info(p)
		k.mem.Store(info, k.l.threadFlags, k.mem.Load(info, k.l.threadFlags)&^k.l.needResched)
	}
	return next.addr
}

// putBack parts a CPU from the task that has run there. A task that was preempted keeps what is left
// of its slice, and goes before its equals while there is some.
func (k *Kernel) putBack(c Caller, cpu *cpuState, p *task, preempted bool) {
	p.running, p.preempted, p.last = false, preempted, cpu.n
	state := k.state(p)
	switch {
	case p.idle:
	case state == k.l.dead:
		p.dead = true
		k.wakeAll(c, &p.joiners)
	case preempted:
		k.enqueue(p, cpu.n, p.slice > 0)
	case state == k.l.running && !k.hold(p):
		k.enqueue(p, cpu.n, false)
	}
	if !preempted {
		k.gaveUp(c, p)
	}
}

// choose takes the task that a CPU runs next: the first of its own queue, one that waits for another
// CPU, or the idle task.
func (k *Kernel) choose(cpu *cpuState) *task {
	if len(cpu.queue) > 0 {
		return k.take(cpu, 0)
	}
	if from, i := k.spare(); from != nil {
		return k.take(from, i)
	}
	return k.lookUp(cpu.idle)
}

// take removes a task from a queue, to run.
func (k *Kernel) take(cpu *cpuState, i int) *task {
	t := cpu.queue[i]
	cpu.queue = slices.Delete(cpu.queue, i, i+1)
	t.queued = false
	if t.slice <= 0 {
		t.slice = k.opt.Slice
	}
	return t
}

// spare finds a task that may move to another CPU: the first such one in the longest queue. It
// stands for the balancing that an idle CPU does, and costs no simulated time.
func (k *Kernel) spare() (from *cpuState, at int) {
	for i := range k.cpus {
		cpu := &k.cpus[i]
		if from != nil && len(cpu.queue) <= len(from.queue) {
			continue
		}
		if j := slices.IndexFunc(cpu.queue, k.movable); j >= 0 {
			from, at = cpu, j
		}
	}
	return from, at
}

// movable tells whether a task that waits may run elsewhere. One that is being switched out is still
// in the registers of its CPU.
func (k *Kernel) movable(t *task) bool {
	return t.bound == anyCPU && (k.mem.Load(t.addr, k.l.onCPU) == 0 || k.opt.Mutant == MutantOnCPU)
}

// enqueue makes a task wait for a CPU, behind or before the others of its priority, and lets the CPU
// reschedule when the task is more urgent than what runs there.
func (k *Kernel) enqueue(t *task, n int, front bool) {
	cpu := &k.cpus[n]
	i := 0
	for i < len(cpu.queue) && (cpu.queue[i].prio > t.prio || cpu.queue[i].prio == t.prio && !front) {
		i++
	}
	cpu.queue = slices.Insert(cpu.queue, i, t)
	t.queued, t.last = true, n
	if cpu.curr != nil && t.prio > cpu.curr.prio {
		k.resched(cpu)
	}
}

// resched asks a CPU to call schedule() soon.
func (k *Kernel) resched(cpu *cpuState) {
	if cpu.curr == nil {
		return
	}
	k.needResched(cpu.curr)
	cpu.asked = asked{asked: true}
	if !slices.Contains(k.kicks, cpu.n) {
		k.kicks = append(k.kicks, cpu.n)
	}
}

// needResched sets the flag by which a task calls schedule() at the next chance.
func (k *Kernel) needResched(t *task) {
	info := k.info(t)
	k.mem.Store(info, k.l.threadFlags, k.mem.Load(info, k.l.threadFlags)|k.l.needResched)
}

// kick sends a reschedule interrupt to every other CPU that has been asked to reschedule. Sending it
// is guest code and takes time. Several requests before it is sent make one interrupt.
func (k *Kernel) kick(c Caller) (self bool) {
	n := len(k.kicks)
	k.kicks = slices.DeleteFunc(k.kicks, func(cpu int) bool { return cpu == c.CPU() })
	self = len(k.kicks) < n
	if self {
		k.cpus[c.CPU()].asked.kick(true)
	}
	if len(k.kicks) > 0 {
		k.invoke(c, "smp_send_kicks")
	}
	return self
}

// nextKick answers the guest's sched_kick: the CPU to interrupt next, or none. The guest asks with
// interrupts off: nobody is preempted who owes somebody an interrupt.
func (k *Kernel) nextKick() uint64 {
	if len(k.kicks) == 0 {
		return ^uint64(0)
	}
	n := k.kicks[0]
	k.kicks = k.kicks[1:]
	k.cpus[n].asked.kick(false)
	return uint64(n)
}

// selectCPU chooses the CPU for a task that wakes up: the one it ran on if that is idle, another idle
// one, or the one with the shortest queue.
func (k *Kernel) selectCPU(t *task) int {
	if t.bound != anyCPU {
		return t.bound
	}
	if k.mem.Load(t.addr, k.l.onCPU) != 0 && k.opt.Mutant != MutantOnCPU {
		return t.last
	}
	best, shortest := t.last, k.busyness(t.last)
	for i := 1; i < len(k.cpus) && shortest > 0; i++ {
		n := (t.last + i) % len(k.cpus)
		if b := k.busyness(n); k.cpus[n].online && b < shortest {
			best, shortest = n, b
		}
	}
	return best
}

// busyness is the number of tasks that run on a CPU or wait for it. Priorities and slices do not
// count in it.
func (k *Kernel) busyness(n int) int {
	cpu := &k.cpus[n]
	if cpu.curr == nil || cpu.curr.idle {
		return len(cpu.queue)
	}
	return len(cpu.queue) + 1
}

// Tick answers the guest's sched_tick: a timer interrupt of the caller's CPU. user says whether it came out of user mode,
// where no kernel code is in the middle of anything.
func (k *Kernel) Tick(c Caller, user bool) {
	cpu := &k.cpus[c.CPU()]
	cpu.armed = 0
	k.note(cpu.n, EventTick, "", 0, 0)
	if cpu.n == 0 {
		k.ticks++
	}
	cur := k.lookUp(k.Current(c))
	if k.shown != nil {
		k.checkLate(cpu, cur, user)
	}
	if user {
		k.pass(c, cpu)
		k.taskQuiescent(c, cur)
		k.freezeHere(cur)
	}
	k.expire(c)
	cpu.curr = cur
	k.account(cpu, cur)
	if k.many() || cur.idle && len(cpu.queue) == 0 {
		k.arm(c)
	}
	k.kick(c)
}

// account takes one tick off the running task's slice, and lets the CPU reschedule when another
// task is to run.
func (k *Kernel) account(cpu *cpuState, cur *task) {
	if cur.idle {
		if from, _ := k.spare(); from != nil || len(cpu.queue) > 0 {
			k.resched(cpu)
		}
		return
	}
	cur.slice--
	if cur.slice <= 0 && len(cpu.queue) > 0 && cpu.queue[0].prio >= cur.prio {
		k.resched(cpu)
	}
}

// Current is the task that runs on the caller's CPU.
func (k *Kernel) Current(c Caller) uint64 {
	return k.mem.Load(k.cpus[c.CPU()].current, image.Field{Size: k.l.stack.Size})
}

// wake makes a sleeping task runnable. One that is on its way to sleep goes on.
func (k *Kernel) wake(c Caller, t *task) {
	if s := k.state(t); s == k.l.running || s == k.l.dead {
		return
	}
	k.mem.Store(t.addr, k.l.state, k.l.running)
	if t.queued || t.running || k.hold(t) {
		return
	}
	n := k.selectCPU(t)
	k.note(c.CPU(), EventWake, t.name, t.addr, uint64(n))
	k.enqueue(t, n, false)
}

// online lists the CPUs that run.
func (k *Kernel) online() (list []*cpuState) {
	for i := range k.cpus {
		if k.cpus[i].online {
			list = append(list, &k.cpus[i])
		}
	}
	return list
}

// Atomic adds a reason for which a CPU must not call schedule() now. A call in spite of it stops the
// machine with an error that says why.
func (k *Kernel) Atomic(f func(cpu int) (why string, atomic bool)) {
	k.atomic = append(k.atomic, f)
}

// checkStruck wants a task to be preempted in one interrupt at most: each more takes stack, and nothing bounds their number. The way
// back to user mode from another one is no code of an interrupt any more.
func (k *Kernel) checkStruck(p *task) {
	n, most := 0, 1+int(p.level())
	for _, context := range p.contexts {
		if context == cpus.Interrupted {
			n++
		}
	}
	if k.shown != nil && n > most {
		k.fail(fmt.Errorf("task %s is preempted in %d interrupts, each of which struck in the one before", p.name, n))
	}
}

// checkAtomic holds a call of schedule() against what forbids it.
func (k *Kernel) checkAtomic(cpu *cpuState, p *task, count uint64, irqsOff bool) {
	why := ""
	switch {
	case count&k.l.hardirqMask != 0:
		why = "in an interrupt"
	case count != 0:
		why = fmt.Sprintf("with preemption disabled %d times", count)
	case irqsOff:
		why = "with interrupts disabled"
	}
	for _, f := range k.atomic {
		if w, ok := f(cpu.n); ok {
			why = w
		}
	}
	if why != "" {
		k.fail(fmt.Errorf("scheduling while atomic: task %s on cpu %d calls schedule() %s", p.name, cpu.n, why))
	}
}

package smp

import (
	"fmt"
	"slices"

	"kprobesim/sim"
)

// asked says how far a CPU has got with the request to call schedule(). The zero value is no request.
type asked struct {
	asked  bool // and it has not called it since
	kicked bool // somebody has sent it an interrupt for that, or it has asked itself
	struck bool // an interrupt has come since, or it has asked itself: it has a reason to look
	due    bool // a tick has found it where the end of the tick calls schedule()
}

// kick notes that an interrupt is sent for the request.
func (a *asked) kick(self bool) {
	a.kicked, a.struck = true, a.struck || self
}

// watchLate has a machine tell of what a request to reschedule depends on. Searches alone ask for it.
func (k *Kernel) watchLate(m *sim.Machine) {
	m.Watch(func(e sim.Event) {
		if e.Kind == sim.EventIPI {
			k.cpus[e.CPU].asked.struck = true
		}
	})
	m.OnSleep(k.checkHalt)
}

// checkHalt tells watchers of a CPU that halts with a request. One that comes when the CPU has looked already interrupts it, so
// only an interrupt that came before shows that it has not looked.
func (k *Kernel) checkHalt(n int) {
	if a := k.cpus[n].asked; a.asked && a.struck {
		k.note(n, EventLate, "the CPU halts, although it was asked to reschedule before an interrupt that it has served", 0, 0)
	}
}

// checkLate tells watchers what a CPU should have been told of before a tick finds it: a task that is more urgent than its own,
// a request to reschedule, or a grace period that it holds up by having halted. Nothing goes wrong by that but that it comes late.
// user says whether the tick struck user mode.
func (k *Kernel) checkLate(cpu *cpuState, cur *task, user bool) {
	postponed := k.postponed()
	flag := k.mem.Load(k.info(cur), k.l.threadFlags)&k.l.needResched != 0 || postponed
	// ARM serves all interrupts that are pending before it ends: the tick before may be one of them.
	_, several := k.l.symbol("interrupt_arrived")
	ready := (user || k.opt.Preempt && k.count(cur) == k.l.hardirqMask&-k.l.hardirqMask) && !postponed && !several
	switch a := cpu.asked; {
	case a.due && ready:
		k.late(cpu, cur, "another task was to run behind the tick before")
	case a.asked && !flag:
		k.late(cpu, cur, "it was asked to reschedule and has forgotten it")
	case a.asked && !a.kicked && !slices.Contains(k.kicks, cpu.n):
		k.late(cpu, cur, "it is to reschedule and nobody interrupts it")
	case !flag && len(cpu.queue) > 0 && cpu.queue[0].prio > cur.prio:
		k.late(cpu, cur, fmt.Sprintf("the more urgent %s waits and nobody has asked for it", cpu.queue[0].name))
	case cpu.holds && cpu.awake && cur.idle && k.mem.Load(cpu.inIdle, word) != 0:
		k.late(cpu, cur, "it has halted and has not looked for the grace period that waits for it")
	}
	cpu.asked.struck, cpu.asked.due = cpu.asked.asked, cpu.asked.asked && ready
}

func (k *Kernel) late(cpu *cpuState, cur *task, why string) {
	k.note(cpu.n, EventLate, fmt.Sprintf("a tick finds the task %s, although %s", cur.name, why), cur.addr, 0)
}

// postponed tells whether a kernel that steps instructions of user mode in their place has put a request off until a step is done.
func (k *Kernel) postponed() bool {
	s, ok := k.im.Symbol("postponed")
	return ok && k.mem.Load(s.Addr, word) != 0
}

package smp

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"kprobesim/image"
	"kprobesim/internal/clock"
)

// timer calls fire at a jiffy, in whatever context the CPU is that notices. seq orders calls of one
// jiffy by the time at which they were asked for.
type timer struct {
	at   int64
	seq  uint64
	fire func(Caller)
}

// Jiffies is the number of jiffies since the machine started: with periodic ticks those that the first
// CPU has counted, else by the time.
func (k *Kernel) Jiffies() int64 {
	if k.opt.Tick {
		return k.ticks
	}
	return int64(k.g.Now() / k.jiffy)
}

// after calls f once the given number of jiffies has passed, and returns a name to cancel it by.
func (k *Kernel) after(c Caller, jiffies int64, f func(Caller)) uint64 {
	k.seq++
	t := timer{k.Jiffies() + jiffies, k.seq, f}
	i, _ := slices.BinarySearchFunc(k.timers, t, func(a, b timer) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
	})
	k.timers = slices.Insert(k.timers, i, t)
	if k.many() {
		k.arm(c)
	}
	return t.seq
}

// cancel drops a timer that is still to come.
func (k *Kernel) cancel(id uint64) {
	k.timers = slices.DeleteFunc(k.timers, func(t timer) bool { return t.seq == id })
}

// expire fires the timers whose jiffy has come. Ticks call it, and every pick of a task, so that a
// sleeper does not depend on one CPU's ticks.
func (k *Kernel) expire(c Caller) {
	now := k.Jiffies()
	for len(k.timers) > 0 && k.timers[0].at <= now {
		f := k.timers[0].fire
		k.timers = k.timers[1:]
		f(c)
	}
}

// arm sees to it that a timer interrupts when the next sleeper is due: that of the caller's CPU,
// unless another one does already. With periodic ticks there is nothing to do. With a single CPU it
// is called when that goes idle: kernel code that is not preempted lets no sleeper run earlier.
func (k *Kernel) arm(c Caller) {
	switch {
	case len(k.timers) == 0 || k.opt.Tick:
	case !k.many():
		k.invoke(c, "timer_start", k.untilTimer(c.CPU()), 0)
	case !k.interrupted(k.timers[0].at):
		k.invoke(c, "sched_timer_arm")
	}
}

// untilTimer returns the count that a CPU's timer starts from when it is to interrupt for the next sleeper, or for a callback
// before that.
func (k *Kernel) untilTimer(cpu int) uint64 {
	at := clock.Ticks(k.timers[0].at) * k.jiffy
	if calls := k.cpus[cpu].calls; calls != 0 {
		at = min(at, calls)
	}
	return k.counts(at)
}

// counts returns the count that a timer starts from when it is to interrupt at a time.
func (k *Kernel) counts(at clock.Ticks) uint64 {
	left := max(at-k.g.Now(), 0)
	perTick := clock.FromCycles(k.opt.CPUHz) / clock.Ticks(k.opt.TimerHz)
	return min(uint64(left/perTick), mostCounts-1) + 1
}

// mostCounts is a count that every timer can start from. One that is early finds nothing to do, and is set anew.
const mostCounts = math.MaxInt32

// timerCalls answers the guest's sim_timer: the caller's CPU is to be interrupted at a number of nanoseconds in
// guest memory, or for no callback when there is no address. The answer is that of sched_timer_count.
// Ticks look for callbacks themselves.
func (k *Kernel) timerCalls(c Caller, addr uint64) uint64 {
	cpu := &k.cpus[c.CPU()]
	cpu.calls = 0
	if addr == 0 {
		return 0
	}
	ns := k.mem.Load(addr, image.Field{Size: 8})
	cpu.calls = max(k.ticksOf(ns), 1)
	at := cpu.calls
	if cpu.armed != 0 {
		at = min(at, clock.Ticks(cpu.armed)*k.jiffy)
	}
	if k.opt.Tick {
		return 0
	}
	return k.counts(at)
}

// ticksOf is the first moment of the simulation at which the guest's clock shows a number of nanoseconds.
func (k *Kernel) ticksOf(ns uint64) clock.Ticks {
	perSecond := uint64(clock.FromCycles(k.opt.CPUHz))
	hi, lo := bits.Mul64(ns, perSecond)
	if hi >= 1e9 {
		return math.MaxInt64
	}
	q, r := bits.Div64(hi, lo, 1e9)
	if r != 0 {
		q++
	}
	return clock.Ticks(min(q, math.MaxInt64))
}

// timerCount answers the guest's sched_timer_count: the caller's CPU, which nothing can take the
// caller from now, sets its timer to that. 0 is for nothing to do.
func (k *Kernel) timerCount(c Caller) uint64 {
	if len(k.timers) == 0 || k.interrupted(k.timers[0].at) {
		return 0
	}
	k.cpus[c.CPU()].armed = k.timers[0].at
	return k.untilTimer(c.CPU())
}

// interrupted tells whether the timer of some CPU is set for a jiffy or an earlier one.
func (k *Kernel) interrupted(at int64) bool {
	return slices.ContainsFunc(k.cpus, func(c cpuState) bool { return c.armed != 0 && c.armed <= at })
}

// many tells whether there is more than one CPU. With one, everything is done when it is asked for.
func (k *Kernel) many() bool { return len(k.cpus) > 1 }

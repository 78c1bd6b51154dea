package smp

import (
	"fmt"

	"kprobesim/internal/clock"
)

// Online starts all other CPUs, one after the other as the boot CPU of a PC does, and returns when
// each is idle and has its stopper task. With Tick it starts the ticks. The guest's boot task calls
// it once. Each comes up before the next is asked, so they idle in the order of their numbers. A drawn
// share of a jiffy passes last: where in a jiffy the boot task goes on is not chosen.
func (k *Kernel) Online(c Caller) error {
	err := k.bringUp(c)
	if err == nil {
		c.Charge(k.opt.Layout.Wait(k.jiffy).Cycles())
	}
	return err
}

// bringUp starts the ticks and the other CPUs.
func (k *Kernel) bringUp(c Caller) error {
	if c.CPU() != 0 || len(k.online()) > 1 {
		return fmt.Errorf("CPUs are started by CPU 0, and once: %d are online", len(k.online()))
	}
	if count := k.tickCount(); count > 0 {
		k.firstTick = k.g.Now()
		k.invoke(c, "timer_start", count, 1)
	}
	for i := 1; i < len(k.cpus); i++ {
		k.invoke(c, "smp_boot_cpu", uint64(i))
		if err := k.Wait(c, &k.started, func() bool { return k.cpus[i].online }); err != nil {
			return err
		}
	}
	if !k.many() {
		return k.mem.Err
	}
	if err := k.startStoppers(c); err != nil {
		return err
	}
	return k.SynchronizeSched(c) // the last one to start may still be on its way to idle
}

// tickCount returns the count that the timer starts from for periodic ticks, 0 for none.
func (k *Kernel) tickCount() uint64 {
	if !k.opt.Tick {
		return 0
	}
	return uint64(k.opt.TimerHz / k.opt.HZ)
}

// cameUp answers the guest's sim_cpu_online: a CPU has initialized itself and is about to idle. It
// returns the period of the ticks that the CPU is to start, when it is time for them. With Spread
// the time until its first tick passes here, before it is online and could be given a task.
func (k *Kernel) cameUp(c Caller) uint64 {
	cpu := &k.cpus[c.CPU()]
	if k.opt.Tick && k.opt.Spread {
		c.Charge(k.untilSpread(cpu.n).Cycles())
	}
	cpu.online, cpu.curr = true, k.lookUp(cpu.idle)
	k.wakeAll(c, &k.started)
	k.kick(c)
	return k.tickCount()
}

// untilSpread is how long a CPU waits before it starts its ticks, so that the ticks of all are half a jiffy
// apart at most.
func (k *Kernel) untilSpread(cpu int) clock.Ticks {
	behind := k.jiffy * clock.Ticks(cpu) / clock.Ticks(2*len(k.cpus))
	since := (k.g.Now() - k.firstTick) % k.jiffy
	return (behind - since + k.jiffy) % k.jiffy
}

// OnEachCPU runs a function of the guest that takes one number on every CPU that is online, on the
// others by an interrupt, and returns when all have run it.
func (k *Kernel) OnEachCPU(c Caller, fn string, arg uint64) error {
	at, ok := k.l.symbol(fn)
	if !ok {
		return fmt.Errorf("the image has no function %s to run on each CPU", fn)
	}
	_, err := c.InvokeSym("on_each_cpu", at, arg)
	return err
}

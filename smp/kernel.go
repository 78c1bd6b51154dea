package smp

import (
	"fmt"
	"slices"

	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// Options say how the kernel is built and what it runs on.
type Options struct {
	HZ      int64 // jiffies per second
	CPUHz   int64 // cycles per second of the CPUs' clock
	TimerHz int64 // ticks per second of the interrupt controller's timer; 0 means CPUHz
	CPUs    int   // 0 means 1
}

// Kernel keeps what the guest kernel does not: who may run, who sleeps until when.
type Kernel struct {
	g       Guest
	l       taskLayout
	opt     Options
	jiffy   clock.Ticks // length of a jiffy
	cpus    []cpuState
	queue   []uint64 // runnable tasks that do not run, in order of arrival
	timers  []timer  // in order of expiry
	seq     uint64
	threads []func(Caller) error // bodies of native kernel threads by number
	err     error
}

// cpuState is what belongs to one CPU.
type cpuState struct {
	current uint64 // address of the per-CPU pointer to the running task
	idle    uint64 // the task that runs when no other can
	passes  uint64 // quiescent states: how often this CPU went through schedule()
}

// timer calls fire at a jiffy.
type timer struct {
	at   int64
	seq  uint64
	fire func()
}

// New prepares the services for a machine that runs the image.
func New(g Guest, im *sim.Image, opt Options) (*Kernel, error) {
	if opt.CPUs == 0 {
		opt.CPUs = 1
	}
	if opt.CPUs != 1 {
		return nil, fmt.Errorf("%d CPUs are not modelled yet: use 1", opt.CPUs)
	}
	if opt.TimerHz == 0 {
		opt.TimerHz = opt.CPUHz
	}
	if opt.HZ <= 0 || opt.CPUHz < opt.HZ || opt.TimerHz < opt.HZ {
		return nil, fmt.Errorf("a kernel with HZ=%d on clocks of %d Hz (CPU) and %d Hz (timer): all "+
			"must be positive and HZ the smallest", opt.HZ, opt.CPUHz, opt.TimerHz)
	}
	l, err := newTaskLayout(im)
	if err != nil {
		return nil, err
	}
	k := &Kernel{
		g: g, l: l, opt: opt, jiffy: clock.FromCycles(opt.CPUHz / opt.HZ),
		cpus: make([]cpuState, opt.CPUs),
	}
	for i := range k.cpus {
		if k.cpus[i].current, err = g.PerCPU(i, "current_task"); err != nil {
			return nil, err
		}
		if k.cpus[i].idle, err = g.PerCPU(i, "idle_task"); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// Machine is a Guest whose native slots can be bound: *sim.Machine.
type Machine interface {
	Guest
	Bind(name string, f sim.Native)
	Stop(err error)
}

// Bind gives the guest's native slots for scheduling their functions. A failure in one of them
// stops the machine.
func (k *Kernel) Bind(m Machine) {
	bind := func(name string, f func(*sim.Call) uint64) {
		m.Bind(name, func(c *sim.Call) uint64 {
			v := f(c)
			if k.err != nil {
				m.Stop(k.err)
			}
			return v
		})
	}
	bind("sched_pick", func(c *sim.Call) uint64 { return k.Pick(c, c.Arg(0)) })
	bind("sched_tick", func(c *sim.Call) uint64 { k.Tick(c); return 0 })
	bind("native_thread", func(c *sim.Call) uint64 { return k.Thread(c, c.Arg(0)) })
}

// CPUs is the number of possible CPUs.
func (k *Kernel) CPUs() int { return len(k.cpus) }

// Err returns the first failure that had no caller to be reported to.
func (k *Kernel) Err() error { return k.err }

func (k *Kernel) fail(err error) {
	if k.err == nil {
		k.err = err
	}
}

// Jiffies is the number of jiffies since the machine started.
func (k *Kernel) Jiffies() int64 { return int64(k.g.Now() / k.jiffy) }

// after calls f once the given number of jiffies has passed.
func (k *Kernel) after(jiffies int64, f func()) {
	k.seq++
	t := timer{k.Jiffies() + jiffies, k.seq, f}
	i, _ := slices.BinarySearchFunc(k.timers, t, func(a, b timer) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return int(a.seq - b.seq)
	})
	k.timers = slices.Insert(k.timers, i, t)
}

// expire fires the timers whose jiffy has come.
func (k *Kernel) expire() {
	now := k.Jiffies()
	for len(k.timers) > 0 && k.timers[0].at <= now {
		f := k.timers[0].fire
		k.timers = k.timers[1:]
		f()
	}
}

// armTimer makes the timer interrupt an idle CPU when the next sleeper is due. A busy CPU needs
// none: kernel code is not preempted, so sleepers wait for schedule() anyway.
func (k *Kernel) armTimer(c Caller) {
	if len(k.timers) == 0 {
		return
	}
	left := max(clock.Ticks(k.timers[0].at)*k.jiffy-k.g.Now(), 0)
	perTick := clock.FromCycles(k.opt.CPUHz) / clock.Ticks(k.opt.TimerHz)
	if _, err := c.InvokeSym("apic_timer_start", uint64(left/perTick)+1, 0); err != nil {
		k.fail(err)
	}
}

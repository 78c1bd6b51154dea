package smp

import (
	"errors"
	"fmt"
	"slices"

	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// Options say how the kernel is built and what it runs on.
type Options struct {
	HZ    int64 // jiffies per second
	CPUHz int64 // cycles per second of the CPUs' clock
	CPUs  int   // 0 means 1
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
	current, idle uint64 // task_structs; 0 until the CPU has first asked for a task
	passes        uint64 // quiescent states: how often this CPU went through schedule()
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
	if opt.HZ <= 0 || opt.CPUHz < opt.HZ {
		return nil, fmt.Errorf("a kernel with HZ=%d on a clock of %d Hz: both must be positive and HZ the smaller",
			opt.HZ, opt.CPUHz)
	}
	l, err := newTaskLayout(im)
	if err != nil {
		return nil, err
	}
	return &Kernel{
		g: g, l: l, opt: opt, jiffy: clock.FromCycles(opt.CPUHz / opt.HZ),
		cpus: make([]cpuState, opt.CPUs),
	}, nil
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

var errStuck = errors.New("the idle task waits for something, but no task can run and no timer is set")

// idle lets time pass until the next timer when nothing can run.
func (k *Kernel) idle(c Caller) error {
	k.expire()
	if len(k.queue) > 0 {
		return nil
	}
	if len(k.timers) == 0 {
		return errStuck
	}
	until := clock.Ticks(k.timers[0].at) * k.jiffy
	if d := until - k.g.Now(); d > 0 {
		c.Charge(int64((d + clock.PerCycle - 1) / clock.PerCycle))
	}
	k.expire()
	return nil
}

package smp

import (
	"fmt"

	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// Options say how the kernel is built and what it runs on.
type Options struct {
	HZ      int64 // jiffies per second
	CPUHz   int64 // cycles per second of the CPUs' clock
	TimerHz int64 // ticks per second of the interrupt controller's timer; 0 means CPUHz
	CPUs    int   // 0 means 1
	// Preempt is a kernel whose code is preempted wherever it does not forbid it. The image must be
	// built for it.
	Preempt bool
	// Tick interrupts every CPU HZ times a second. Without it a timer interrupts one CPU when the
	// next sleeper is due, which is cheaper to simulate but leaves out time slices.
	Tick bool
	// Spread has the ticks of CPU i of n come i/2n of a jiffy behind the first one's, as kernels from
	// 2007 to 2010 with high-resolution timers do (from commit 3704540b to af5ab277). Without it they
	// come as far apart as the CPUs were started.
	Spread bool
	// Slice is how many ticks a task runs before others of its priority; 0 means 1.
	Slice int64
	// ForceQuiescent is how many jiffies a grace period waits before it asks the CPUs that hold it
	// up to reschedule, and again after as many. 0 means 3, as in 2.6.34; negative means at once.
	ForceQuiescent int64
	// Mutant makes a mistake, for the search for races; see Mutants.
	Mutant string
	// Layout is drawn for a replicate: of it the stacks of user tasks, and how much of a jiffy
	// passes between the start of the ticks and the end of Online.
	Layout sim.Layout
}

// Kernel keeps what the guest kernel does not: who may run where, and who sleeps until when. Its
// state changes in native calls, between which only an invoked guest function can come, so it needs
// no locks.
type Kernel struct {
	g     Guest
	mem   image.Access // whose failure is that of the kernel
	im    *image.Image
	l     taskLayout
	opt   Options
	jiffy clock.Ticks // length of a jiffy
	ticks int64       // of the first CPU's timer
	// firstTick is when the first CPU's ticks were started.
	firstTick clock.Ticks
	cpus      []cpuState
	tasks     map[uint64]*task // by address
	order     []*task          // the same in the order in which they came up
	reaped    []memory         // of tasks that are gone
	kicks     []int            // CPUs that are to be told to reschedule
	timers    []timer          // in order of expiry
	seq       uint64
	pids      uint64
	threads   []func(Caller) error // bodies of native kernel threads by number
	atomic    []func(cpu int) (why string, atomic bool)
	started   Queue // waits for CPUs that come up
	rcu       rcu
	waiters   []*tasksPeriod // of SynchronizeTasks
	freezer   freezer
	stop      stopMachine
	user      userGuest
	spaces    spaces
	files     []*VirtualFile
	open      []*openFile     // by number, nil for a free one
	fileCalls *fileLayout     // nil before the first call
	notes     func(sim.Event) // nil when the machine takes no notes
	shown     func()          // another CPU may go on there, in a search; nil everywhere else
	// swap tells the machine of a switch of tasks; nil when it does not want to know.
	swap func(cpu int, contexts []uint8) []uint8
	// locked tells the machine that a CPU takes the lock of its run queue, which is no lock of the guest; nil as swap.
	locked func(cpu int)
	// watch has the machine tell of what checkLate wants to know; nil when there is none.
	watch func()
	// away tells whether a CPU in the idle loop executes something else, an interrupt; nil when there is no machine.
	away func(cpu int) bool
}

// cpuState holds what belongs to one CPU.
type cpuState struct {
	n       int
	online  bool
	current uint64  // address of the per-CPU pointer to the running task
	idle    uint64  // the task that runs when no other can
	curr    *task   // the running task, from the moment it was picked; nil before the first one
	queue   []*task // runnable tasks that do not run, most urgent first
	armed   int64   // the jiffy at which its timer interrupts; 0 when it is not set
	// calls is when its timer interrupts for a callback; 0 when none is to come.
	calls   clock.Ticks
	inIdle  uint64 // address of the flag that the idle loop halts
	wanted  uint64 // address of the flag that a grace period waits for this CPU
	holds   bool   // a grace period of RCU-sched waits for this CPU
	awake   bool   // because its idle loop has not said that it halts
	asked   asked  // to call schedule()
	stopped bool   // it is to take part in stopping the machine
	stopper Queue  // where its stopper task waits
}

// New prepares the services for a machine that runs the image.
func New(g Guest, im *image.Image, opt Options) (*Kernel, error) {
	opt, err := opt.check(im)
	if err != nil {
		return nil, err
	}
	l, err := newTaskLayout(im)
	if err != nil {
		return nil, err
	}
	k := &Kernel{
		g: g, mem: image.Access{Memory: g}, im: im, l: l, opt: opt, jiffy: clock.FromCycles(opt.CPUHz / opt.HZ),
		cpus: make([]cpuState, opt.CPUs), tasks: map[uint64]*task{},
	}
	k.started.Name = "CPUs to come up"
	k.stop.init()
	k.freezer.mutex.Name = "freezer"
	for i := range k.cpus {
		if err := k.newCPU(i); err != nil {
			return nil, err
		}
	}
	k.cpus[0].online = true
	return k, nil
}

// check fills in defaults and refuses what makes no sense.
func (o Options) check(im *image.Image) (Options, error) {
	o.CPUs = max(o.CPUs, 1)
	if o.CPUs > sim.MaxCPUs {
		return o, fmt.Errorf("%d CPUs: 1 to %d are modelled", o.CPUs, sim.MaxCPUs)
	}
	if uniprocessor(im) && o.CPUs > 1 {
		return o, fmt.Errorf("image %s is built for one CPU, not for %d", im.Name, o.CPUs)
	}
	if o.TimerHz == 0 {
		o.TimerHz = o.CPUHz
	}
	if o.HZ <= 0 || o.CPUHz < o.HZ || o.TimerHz < o.HZ {
		return o, fmt.Errorf("a kernel with HZ=%d on clocks of %d Hz (CPU) and %d Hz (timer): all "+
			"must be positive and HZ the smallest", o.HZ, o.CPUHz, o.TimerHz)
	}
	if full := Preemptible(im); full != o.Preempt {
		return o, fmt.Errorf("image %s is built with preemption %v, and the kernel is to have it %v: "+
			"use the image that fits", im.Name, full, o.Preempt)
	}
	if o.Slice < 0 {
		return o, fmt.Errorf("a time slice of %d ticks: it must be positive", o.Slice)
	}
	o.Slice = max(o.Slice, 1)
	if o.ForceQuiescent == 0 {
		o.ForceQuiescent = 3
	}
	return o, nil
}

// uniprocessor tells whether an image is of a kernel for one processor: it uses its per-CPU data where they are
// linked, and not copies of them.
func uniprocessor(im *image.Image) bool {
	from, ok := im.Symbol("__per_cpu_start")
	load, ok2 := im.Symbol("__per_cpu_load")
	return ok && ok2 && from.Addr == load.Addr
}

// Preemptible tells whether an image is of a kernel whose code is preempted.
func Preemptible(im *image.Image) bool {
	_, ok := im.Symbol("preempt_schedule")
	return ok
}

// newCPU finds the per-CPU variables of CPU i.
func (k *Kernel) newCPU(i int) error {
	c := &k.cpus[i]
	c.n = i
	c.stopper.Name = "work for the stopper"
	for _, v := range []struct {
		name string
		at   *uint64
	}{
		{"current_task", &c.current},
		{"idle_task", &c.idle},
		{"cpu_in_idle", &c.inIdle},
		{"rcu_wanted", &c.wanted},
	} {
		at, err := k.g.PerCPU(i, v.name)
		if err != nil {
			return err
		}
		*v.at = at
	}
	return nil
}

// Bind gives the guest's native slots for scheduling their functions. A failure in one of them
// stops the machine.
func (k *Kernel) Bind(m *sim.Machine) {
	k.notes, k.swap, k.locked, m.Explain = m.Note, m.SwitchTask, m.Locked, k.Explain
	k.watch = func() { k.watchLate(m) }
	if from, size, ok := k.im.Section(idleSection); ok {
		k.away = func(cpu int) bool { return m.CPU(cpu).PC()-from >= size }
	}
	bind := func(name string, f func(*sim.Call) uint64) {
		m.Bind(name, func(c *sim.Call) uint64 {
			v := f(c)
			if k.mem.Err != nil {
				m.Stop(k.mem.Err)
			}
			return v
		})
	}
	k.spaces.pages = m
	k.bindSpaces(func(name string, f func(Caller, func(int) uint64) (uint64, error)) {
		bind(name, func(c *sim.Call) uint64 {
			v, err := f(c, c.Arg)
			k.fail(err)
			return v
		})
	})
	bind("sched_pick", func(c *sim.Call) uint64 { return k.Pick(c, c.Arg(0), c.Arg(1) != 0) })
	bind("sched_tick", func(c *sim.Call) uint64 { k.Tick(c, c.Arg(0) != 0); return 0 })
	bind("sched_kick", func(*sim.Call) uint64 { return k.nextKick() })
	bind("sched_timer_count", func(c *sim.Call) uint64 { return k.timerCount(c) })
	bind("sim_timer", func(c *sim.Call) uint64 { return k.timerCalls(c, c.Arg(0)) })
	bind("native_thread", func(c *sim.Call) uint64 { return k.Thread(c, c.Arg(0)) })
	bind("sim_cpu_online", func(c *sim.Call) uint64 { return k.cameUp(c) })
	bind("schedule_timeout", func(c *sim.Call) uint64 { k.timeout(c, int64(c.Arg(0))); return 0 })
	bind("sim_jiffies", func(*sim.Call) uint64 { return uint64(k.Jiffies()) })
	bind("rcu_quiescent", func(c *sim.Call) uint64 { k.quiescentNow(c); return 0 })
	bind("rcu_tasks_quiescent", func(c *sim.Call) uint64 {
		t := k.lookUp(k.Current(c))
		k.taskQuiescent(c, t)
		k.freezeHere(t)
		k.kick(c)
		return 0
	})
	bind("stop_wait", func(c *sim.Call) uint64 { k.stopWait(c); return 0 })
	bind("stop_state", func(c *sim.Call) uint64 { k.stopState(c, c.Arg(0)); return 0 })
	bind("file_call", func(c *sim.Call) uint64 { return k.fileCall(c, c.Arg(0)) })
	bind("stop_run", func(c *sim.Call) uint64 { k.stopRun(c); return 0 })
}

// Show has f called between those steps of grace periods and stops that a kernel takes without a lock that others want: a
// search lets other CPUs go on there.
func (k *Kernel) Show(f func()) {
	if k.shown = f; k.watch != nil {
		k.watch()
	}
}

// show lets other CPUs see what has been stored.
func (k *Kernel) show() {
	if k.shown != nil {
		k.shown()
	}
}

// CPUs is the number of possible CPUs.
func (k *Kernel) CPUs() int { return len(k.cpus) }

// Err returns the first failure that had no caller to be reported to.
func (k *Kernel) Err() error { return k.mem.Err }

// fail keeps the first failure where no caller could take it: in timers, in answers to the guest, in
// threads. No error is none.
func (k *Kernel) fail(err error) {
	if k.mem.Err == nil {
		k.mem.Err = err
	}
}

// invoke calls a guest function whose result is of no interest; a failure is kept for Err.
func (k *Kernel) invoke(c Caller, name string, args ...uint64) {
	_, err := c.InvokeSym(name, args...)
	k.fail(err)
}

package smp

import "fmt"

// stopMachine is a stop of the machine under way. The mutex lets one stop at a time begin, as Linux
// serializes callers of stop_machine.
type stopMachine struct {
	mutex  Mutex
	number uint64
	f      func(Caller) error
	err    error
	left   int   // stoppers that are not back yet
	done   Queue // where the caller waits for them
	ready  int   // stoppers that wait for work
	up     Queue // where Online waits for them
}

func (s *stopMachine) init() {
	s.mutex.Name = "stop_machine"
	s.done.Name = "the machine to be stopped"
	s.up.Name = "stopper tasks"
}

// stopStates are the states that the guest's stopper tasks go through together; core/stop.c numbers
// them.
var stopStates = []string{1: "prepare", 2: "disable-irq", 3: "run", 4: "exit"}

// StopMachine runs f while no CPU does anything else: a stopper task on each, more urgent than all
// others, spins with interrupts off while that of the first CPU runs f. With a single CPU it is
// enough to switch interrupts off.
func (k *Kernel) StopMachine(c Caller, f func(Caller) error) error {
	if len(k.online()) == 1 {
		return k.stopAlone(c, f)
	}
	s := &k.stop
	if err := k.Lock(c, &s.mutex); err != nil {
		return err
	}
	if !k.stoppersUp() { // the CPUs are being brought up
		if err := k.Wait(c, &s.up, k.stoppersUp); err != nil {
			return err
		}
	}
	s.number++
	s.f, s.err, s.left = f, nil, len(k.online())
	if _, err := c.InvokeSym("stop_begin", 0, uint64(s.left)); err != nil {
		return err
	}
	// A kernel forbids preemption here: the stopper of this CPU would wait for those that are not awake yet.
	for _, cpu := range k.online() {
		cpu.stopped = true
		k.wakeAll(c, &cpu.stopper)
		if k.opt.Mutant == MutantStopPreempted {
			k.show()
		}
	}
	k.kick(c)
	if err := k.Wait(c, &s.done, func() bool { return s.left == 0 }); err != nil {
		return err
	}
	err := s.err
	k.Unlock(c, &s.mutex)
	return err
}

// stopAlone is StopMachine for one CPU.
func (k *Kernel) stopAlone(c Caller, f func(Caller) error) error {
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

// startStoppers gives every CPU its stopper task and waits until each waits for work.
func (k *Kernel) startStoppers(c Caller) error {
	for _, cpu := range k.online() {
		_, err := k.Spawn(c, Thread{
			Name: fmt.Sprintf("migration/%d", cpu.n), CPU: cpu.n, Bound: true,
			Priority: stopperPriority, Fn: "stopper_thread", Arg: uint64(cpu.n),
		})
		if err != nil {
			return err
		}
	}
	return k.Wait(c, &k.stop.up, k.stoppersUp)
}

// stoppersUp reports whether every CPU has a stopper that waits for work, or is at it.
func (k *Kernel) stoppersUp() bool { return k.stop.ready == len(k.online()) }

// stopWait answers the guest's stop_wait: the stopper of this CPU has done its part and sleeps until
// there is another one.
func (k *Kernel) stopWait(c Caller) {
	s, cpu := &k.stop, &k.cpus[c.CPU()]
	if cpu.stopped {
		cpu.stopped = false
		if s.left--; s.left == 0 {
			k.wakeAll(c, &s.done)
		}
	} else if s.ready++; s.ready == len(k.online()) {
		k.wakeAll(c, &s.up)
	}
	k.kick(c)
	k.fail(k.Wait(c, &cpu.stopper, func() bool { return cpu.stopped }))
}

// stopState answers the guest's stop_state: all stoppers are to enter a state.
func (k *Kernel) stopState(c Caller, state uint64) {
	if state == 0 || state >= uint64(len(stopStates)) {
		k.fail(fmt.Errorf("the guest's stoppers enter state %d, which does not exist", state))
		return
	}
	k.note(c.CPU(), EventStop, stopStates[state], k.stop.number, 0)
}

// stopRun answers the guest's stop_run: all CPUs but this one spin. The guest calls it on one CPU
// with interrupts disabled. What f does takes the time that f charges.
func (k *Kernel) stopRun(c Caller) {
	if err := k.stop.f(c); err != nil {
		k.stop.err = err
	}
}

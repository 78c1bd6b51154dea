package smp

// Work is a function that a kernel thread of its own runs some time after it was asked for.
type Work struct {
	k       *Kernel
	name    string
	run     func(Caller) error
	started bool
	pending bool   // asked for and not begun
	due     bool   // its time has come
	running bool   // in run
	round   uint64 // tells the timers of different requests apart
	kick    Queue  // the thread, waiting for due
	done    Queue  // tasks that wait for the end
}

// NewWork prepares a work; name is its thread's.
func (k *Kernel) NewWork(name string, run func(Caller) error) *Work {
	w := &Work{k: k, name: name, run: run}
	w.kick.Name, w.done.Name = "work for "+name, "the end of work of "+name
	return w
}

// Schedule asks for one run after a delay in jiffies. A request that is pending already stands. The
// thread is made at the first request, so kernels that never ask have none.
func (w *Work) Schedule(c Caller, delay int64) error {
	if w.pending {
		return nil
	}
	w.pending = true
	w.round++
	round := w.round
	w.k.after(c, delay, func(c Caller) {
		if w.pending && w.round == round {
			w.due = true
			w.k.wakeAll(c, &w.kick)
		}
	})
	if w.started {
		return nil
	}
	w.started = true
	_, err := w.k.Go(c, w.name, w.loop)
	return err
}

// Flush begins a pending run at once and waits until no run is left.
func (w *Work) Flush(c Caller) error {
	if w.pending {
		w.due = true
		w.k.Wake(c, &w.kick)
	}
	return w.k.Wait(c, &w.done, func() bool { return !w.pending && !w.running })
}

// loop is the body of the thread.
func (w *Work) loop(c Caller) error {
	for {
		if err := w.k.Wait(c, &w.kick, func() bool { return w.due }); err != nil {
			return err
		}
		w.due, w.pending, w.running = false, false, true
		err := w.run(c)
		w.running = false
		w.k.Wake(c, &w.done)
		if err != nil {
			return err
		}
	}
}

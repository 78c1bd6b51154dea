package kprobes

import "slices"

// optimize is one pass of the optimizer: undo jumps, wait until nobody is in the middle of the
// instructions that are to be replaced, write jumps, free what is left over, and come again when
// something is left to be done.
// It runs on the thread of an smp.Work, a task of the guest, and may sleep.
func (k *Kprobes) optimize(c Caller) error {
	return k.locked(c, func() error {
		for _, step := range k.pass() {
			if err := step(c); err != nil {
				return err
			}
		}
		if len(k.optimizing)+len(k.unoptimizing)+len(k.dirty) == 0 {
			return nil
		}
		return k.optimizer.Schedule(c, k.opt.Delay)
	})
}

// sweep takes the slots that this pass can free: nobody comes into them any more.
func (k *Kprobes) sweep(Caller) error {
	k.swept = append(k.swept, k.dirty...)
	k.dirty = nil
	return nil
}

// pass gives the steps of one pass in their order.
// One wait serves both sides: tasks in the instructions that jumps will replace, and tasks in the
// buffers of jumps that were undone just before. The two mutants put it where it serves only one
// of them.
func (k *Kprobes) pass() []func(Caller) error {
	switch k.opt.Mutant {
	case MutantNoQuiesce:
		return []func(Caller) error{k.sweep, k.undoBatch, k.jumpBatch, k.quiesce, k.freeBatch}
	case MutantFreeEarly:
		return []func(Caller) error{k.sweep, k.undoBatch, k.freeBatch, k.quiesce, k.jumpBatch}
	}
	return []func(Caller) error{k.sweep, k.undoBatch, k.quiesce, k.jumpBatch, k.freeBatch}
}

// undoBatch turns jumps back into breakpoints, and takes those away where nothing is enabled.
func (k *Kprobes) undoBatch(c Caller) error {
	batch := k.next(&k.unoptimizing)
	if err := k.replace(c, batch, k.away()); err != nil {
		return err
	}
	for _, s := range batch {
		s.queue = queueNone
		k.noteSite(c, s, "unoptimized")
		if err := k.settle(c, s); err != nil {
			return err
		}
	}
	return nil
}

// jumpBatch turns breakpoints into jumps. While all probes are switched off, only one on the trampoline can wait
// for it.
func (k *Kprobes) jumpBatch(c Caller) error {
	if !k.optimization {
		return nil
	}
	batch := k.next(&k.optimizing)
	if err := k.replace(c, batch, k.jumps()); err != nil {
		return err
	}
	for _, s := range batch {
		s.queue = queueNone
		k.noteSite(c, s, "optimized")
	}
	return nil
}

// freeBatch frees what was taken out of use before the grace period of this pass.
func (k *Kprobes) freeBatch(c Caller) error {
	for _, s := range k.freeing {
		k.freeAggregate(c, s)
	}
	k.freeing = nil
	for _, d := range k.swept {
		k.freeSlot(c, d)
	}
	k.swept = nil
	return nil
}

// next takes up to one batch from a queue.
// Options.Batch bounds how long the machine stands still in one stop. In the kernel it is 256
// sites.
func (k *Kprobes) next(queue *[]*site) []*site {
	n := min(len(*queue), k.opt.Batch)
	batch := (*queue)[:n:n]
	*queue = (*queue)[n:]
	return batch
}

// WaitOptimizer returns when no site waits for being optimized or unoptimized: a pass that leaves some schedules the next one.
func (k *Kprobes) WaitOptimizer(c Caller) error { return k.optimizer.Flush(c) }

// Busy reports whether the optimizer has something left to do.
func (k *Kprobes) Busy() bool {
	return len(k.optimizing)+len(k.unoptimizing)+len(k.freeing)+len(k.dirty) > 0
}

// SetOptimization sets debug.kprobes-optimization: off undoes every jump and waits for it, on asks
// for jumps wherever they are allowed.
// It waits without kprobe_mutex, which the optimizer needs for its work.
func (k *Kprobes) SetOptimization(c Caller, on bool) error {
	err := k.locked(c, func() error {
		if on == k.optimization {
			return nil
		}
		k.optimization = on
		k.tell(k.sym.allowOptimization, on)
		for _, s := range slices.Clone(k.sites) {
			if k.disabled(s.head) {
				continue
			}
			change := k.enqueue
			if !on {
				change = func(c Caller, s *site) error { return k.unoptimize(c, s, false) }
			}
			if err := change(c, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || on {
		return err
	}
	return k.WaitOptimizer(c)
}

// armAll answers a write to debugfs kprobes/enabled: every enabled probe is armed or disarmed. The
// probes' own flags stay.
func (k *Kprobes) armAll(c Caller, on bool) error {
	err := k.locked(c, func() error {
		if on != k.allDisarmed {
			return nil
		}
		k.allDisarmed = !on
		k.tell(k.sym.allDisarmed, !on)
		for _, s := range slices.Clone(k.sites) {
			if err := k.armOne(c, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || on {
		return err
	}
	return k.WaitOptimizer(c)
}

func (k *Kprobes) armOne(c Caller, s *site) error {
	switch {
	case k.disabled(s.head):
		return nil
	case k.off(s):
		return k.disarm(c, s)
	}
	return k.rearm(c, s)
}

// off reports that nothing is to be armed at a site. The probe on the trampoline of return probes stays when all
// are switched off, because calls that are under way still return to it.
func (k *Kprobes) off(s *site) bool {
	return k.disabled(s.head) || k.allDisarmed && s.addr != k.sym.trampoline
}

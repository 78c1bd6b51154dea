package kprobes

// UnregisterKprobes unregisters several probes and waits for one grace period for all of them.
// What is not registered gets its address cleared.
func (k *Kprobes) UnregisterKprobes(c Caller, ps ...uint64) error {
	return k.unregister(c, ps, nil)
}

// unregister detaches the probes, waits until no CPU can be in them, and frees what they had.
// All structures are detached before the one wait, which is what the plural calls are for. each
// then runs for every probe that was registered, when no handler can be in it.
func (k *Kprobes) unregister(c Caller, ps []uint64, each func(p uint64) error) error {
	if len(ps) == 0 {
		return nil
	}
	rest := make([]func() error, len(ps))
	err := k.locked(c, func() (err error) {
		for i, p := range ps {
			if rest[i], err = k.detach(c, p); err != nil {
				return err
			}
			if rest[i] != nil && k.opt.Mutant != MutantForgetLate {
				k.unhook(p)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if k.opt.Mutant != MutantUnregisterAtOnce {
		if err := k.grace(c); err != nil {
			return err
		}
	}
	for i, p := range ps {
		if rest[i] == nil {
			continue
		}
		if err := rest[i](); err != nil {
			return err
		}
		if each != nil {
			if err := each(p); err != nil {
				return err
			}
		}
	}
	return k.m.take()
}

// detach makes a probe unreachable and returns what is to be done after the grace period, nil
// for a probe that was not registered.
// The text goes back first, then the structures: who hits the breakpoint until then must find its
// probe.
func (k *Kprobes) detach(c Caller, p uint64) (after func() error, err error) {
	c.Charge(k.opt.Costs.Unregister)
	s := k.siteOf(p)
	if s == nil {
		k.m.Store(p, k.l.p.addr, 0)
		return nil, nil
	}
	k.note(c, EventProbe, "unregistered", p, s.addr)
	if err := k.disable(c, s, p); err != nil {
		return nil, err
	}
	switch {
	case !s.aggr:
		k.drop(s)
		return func() error { k.giveSlot(c, s); return k.hurrySweeping(c) }, nil
	case len(k.children(s.head)) == 1 && s.queue == queueNone && k.disabled(s.head):
		k.drop(s)
		if s.detour != 0 && k.opt.Quiesce != QuiesceSched && k.opt.Mutant != MutantFreeSched {
			// A task may be preempted in the buffer: the optimizer waits longer before it frees it.
			k.listDel(p)
			k.freeing = append(k.freeing, s)
			return func() error { return nil }, k.hurryFreeing(c)
		}
		return func() error { k.listDel(p); k.freeAggregate(c, s); return k.hurrySweeping(c) }, nil
	}
	if err := k.leave(c, s, p); err != nil || k.m.Load(p, k.l.p.brk) == 0 {
		return func() error { return nil }, err
	}
	return func() error {
		return k.locked(c, func() error { return k.jprobeLeft(c, s) })
	}, nil
}

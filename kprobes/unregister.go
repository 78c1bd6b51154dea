package kprobes

// Unregister unregisters structures of a kind: it detaches all of them, waits for one grace period until no CPU can be in
// them, for which the plural calls exist, and frees what they had. A structure that is not registered gets its
// address cleared.
func (k *Kprobes) Unregister(c Caller, kind Kind, all ...uint64) error {
	if len(all) == 0 {
		return nil
	}
	of, rest := k.kind(kind), make([]func() error, len(all))
	err := k.locked(c, func() (err error) {
		for i, at := range all {
			p := at + of.kp
			if rest[i], err = k.detach(c, p); err != nil {
				return err
			}
			if rest[i] != nil && k.opt.Mutant != MutantForgetLate {
				k.unhook(p)
			}
		}
		return nil
	})
	if err == nil && k.opt.Mutant != MutantUnregisterAtOnce {
		err = k.grace(c)
	}
	if err != nil {
		return err
	}
	for i, at := range all {
		if rest[i] == nil {
			continue
		}
		if err := rest[i](); err != nil {
			return err
		}
		if of.retired != nil {
			if err := of.retired(c, at); err != nil {
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

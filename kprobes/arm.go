package kprobes

// armSite stores the breakpoint. A jump that covers the address must go first. A jump at the address
// itself may stay: it waits for being undone, which optimizing again cancels.
// As everything here that changes text, it runs under kprobe_mutex, which keeps other sites as
// they are.
func (k *Kprobes) armSite(c Caller, s *site) error {
	for _, o := range k.covering(s.addr) {
		if err := k.unoptimize(c, o, true); err != nil {
			return err
		}
	}
	switch {
	case s.text != textClear:
		return nil
	case k.entryAt(s.addr) != 0:
		return k.callEntry(c, s)
	}
	if err := k.byteAt(c, s, k.breakpoint(s), stepBreakpoint); err != nil {
		return err
	}
	s.text = textProbed
	return k.sync(c, stepBreakpoint)
}

// rearm arms a site that has been registered and asks for its jump.
func (k *Kprobes) rearm(c Caller, s *site) error {
	if err := k.armSite(c, s); err != nil {
		return err
	}
	return k.enqueue(c, s)
}

// breakpoint returns what stands at a site while it is armed.
func (k *Kprobes) breakpoint(s *site) []byte {
	if k.era.Conditional {
		return k.arch.Conditional(s.orig)
	}
	return k.arch.Breakpoint
}

// disarm takes the breakpoint away, at once or, behind a jump, when the optimizer comes by.
// In the second case settle stores the original bytes, once the optimizer has taken the jump away.
func (k *Kprobes) disarm(c Caller, s *site) error {
	if err := k.unoptimize(c, s, false); err != nil || s.queue == queueUnoptimizing {
		return err
	}
	return k.clear(c, s)
}

// released lets a jump come back that a probe at the address was in the way of.
func (k *Kprobes) released(c Caller, addr uint64) error {
	for _, o := range k.covering(addr) {
		if err := k.enqueue(c, o); err != nil {
			return err
		}
	}
	return nil
}

// clear puts the original first bytes back in the place of a breakpoint.
func (k *Kprobes) clear(c Caller, s *site) error {
	if s.text == textCall {
		return k.leaveEntry(c, s)
	}
	if s.text != textProbed {
		return nil
	}
	k.patch++
	store := func(c Caller) error { return k.poke(c, s.addr, s.orig[:len(k.arch.Breakpoint)], stepRestore) }
	around := func(c Caller, f func(Caller) error) error { return f(c) }
	if k.arch.StopsToRestore {
		around = k.stopped
	}
	if err := around(c, store); err != nil {
		return err
	}
	s.text = textClear
	return k.sync(c, stepRestore)
}

// covering finds the sites whose region has the address behind its first byte: a disabled one may
// stand between the address and the one with the jump.
// Regions are a few bytes, so the sites in question are the nearest ones below in the index.
func (k *Kprobes) covering(addr uint64) (found []*site) {
	if k.jump == nil {
		return nil
	}
	i, _ := k.search(addr)
	for i--; i >= 0 && addr-k.sites[i].addr < uint64(k.jump.MaxRegion); i-- {
		if s := k.sites[i]; s.ready() && s.covers(addr) {
			found = append(found, s)
		}
	}
	return found
}

// Enable and Disable switch a registered probe on and off, as enable_kprobe and disable_kprobe do. A probe that is not
// registered is EINVAL, and so is enabling one whose text has vanished, which nothing brings back.
func (k *Kprobes) Enable(c Caller, p *Probe) error {
	return k.toggled(c, p, func(s *site, p uint64) error {
		switch {
		case k.flags(p)&flagGone != 0:
			return EINVAL
		case p != s.head:
			k.clearFlag(p, flagDisabled)
		}
		if !k.disabled(s.head) {
			return nil
		}
		k.clearFlag(s.head, flagDisabled)
		if k.allDisarmed {
			return nil
		}
		return k.rearm(c, s)
	})
}

// Disable is the counterpart of Enable.
func (k *Kprobes) Disable(c Caller, p *Probe) error {
	return k.toggled(c, p, func(s *site, p uint64) error { return k.disable(c, s, p) })
}

// toggled charges for switching a probe and finds where it is registered.
func (k *Kprobes) toggled(c Caller, p *Probe, f func(s *site, p uint64) error) error {
	return k.locked(c, func() error {
		c.Charge(k.opt.Costs.Toggle)
		p := p.Addr + k.kind(p.Kind).kp
		s := k.siteOf(p)
		if s == nil {
			return EINVAL
		}
		return f(s, p)
	})
}

// disable switches off a probe, and the site when no enabled probe is left there.
// The flag of the site is set last: unoptimize takes a disabled site for one that has no jump to
// lose.
func (k *Kprobes) disable(c Caller, s *site, p uint64) error {
	if k.disabled(p) {
		return nil
	}
	if p != s.head {
		k.setFlag(p, flagDisabled)
		for _, child := range k.children(s.head) {
			if !k.disabled(child) {
				return nil
			}
		}
	}
	if err := k.disarm(c, s); err != nil {
		return err
	}
	k.setFlag(s.head, flagDisabled)
	if s.queue != queueNone {
		return nil
	}
	return k.released(c, s.addr)
}

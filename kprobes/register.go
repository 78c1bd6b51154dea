package kprobes

// RegisterKprobe registers the struct kprobe at p. Errors are of type Errno as far as the API
// knows them; others are failures of the simulated machine.
func (k *Kprobes) RegisterKprobe(c Caller, p uint64) error {
	return k.locked(c, func() error { return k.register(c, p) })
}

// locked runs f under kprobe_mutex and reports a sticky failure of guest memory.
func (k *Kprobes) locked(c Caller, f func() error) error {
	if err := k.smp.Lock(c, &k.mutex); err != nil {
		return err
	}
	err := f()
	k.smp.Unlock(&k.mutex)
	if broken := k.m.take(); broken != nil {
		return broken
	}
	return err
}

// kprobe.flags.
const (
	flagGone      = 1
	flagDisabled  = 2
	flagOptimized = 4
)

func (k *Kprobes) register(c Caller, p uint64) error {
	c.Charge(k.opt.Costs.Register)
	l := &k.l.p
	addr, err := k.resolve(p)
	if err != nil {
		return err
	}
	k.m.store(p, l.addr, addr)
	if k.siteOf(p) != nil || !k.probeable(addr) {
		return EINVAL
	}
	k.m.store(p, l.flags, k.m.load(p, l.flags)&flagDisabled)
	k.m.store(p, l.nmissed, 0)
	k.listInit(p)
	if s := k.site(addr); s != nil {
		return k.join(c, s, p)
	}
	s, err := k.prepare(c, p, addr)
	if err != nil {
		return err
	}
	k.add(s)
	if !k.disabled(p) && !k.allDisarmed {
		if err := k.arm(c, s); err != nil {
			return err
		}
	}
	return k.tryOptimize(c, s)
}

// resolve finds the probed address: a symbol or an address, never both, plus the offset.
func (k *Kprobes) resolve(p uint64) (uint64, error) {
	l := &k.l.p
	addr, name := k.m.load(p, l.addr), k.m.load(p, l.name)
	if (addr == 0) == (name == 0) {
		return 0, EINVAL
	}
	if name != 0 {
		sym, ok := k.im.Symbol(k.m.name(name))
		if !ok {
			return 0, EINVAL
		}
		addr = sym.Addr
	}
	return addr + k.m.load(p, l.offset), nil
}

// prepare checks the address and makes the out-of-line copy.
func (k *Kprobes) prepare(c Caller, p, addr uint64) (*site, error) {
	fn, ok := k.text(addr)
	if !ok {
		return nil, EILSEQ
	}
	c.Charge(k.opt.Costs.Analyze * int64(addr-fn.Start))
	if err := k.arch.Boundary(fn, addr); err != nil {
		return nil, err
	}
	slot, ok := k.slots.take()
	if !ok {
		return nil, ENOMEM
	}
	code := fn.Code[addr-fn.Start:]
	cp, err := k.arch.Prepare(code, addr, slot)
	if err != nil {
		k.slots.give(slot)
		return nil, err
	}
	k.m.write(slot, cp.Code)
	l := &k.l.p
	k.m.store(p, l.insn, slot)
	k.m.store(p, l.boostable, k.boostable(cp, addr))
	k.m.store(p, l.opcode, uint64(code[0]))
	return &site{addr: addr, head: p, slot: slot, orig: code[:min(len(code), k.arch.JumpSize)]}, nil
}

// boostable is the first value of ainsn.boostable: 0 lets the guest write the jump back after the
// first single step, -1 forbids it.
func (k *Kprobes) boostable(cp Copy, addr uint64) uint64 {
	if k.opt.Boost && cp.Boostable && !k.faults(addr) {
		return 0
	}
	return 0xffffffff
}

func (k *Kprobes) flags(p uint64) uint64 { return k.m.load(p, k.l.p.flags) }

func (k *Kprobes) setFlag(p, flag uint64)   { k.m.store(p, k.l.p.flags, k.flags(p)|flag) }
func (k *Kprobes) clearFlag(p, flag uint64) { k.m.store(p, k.l.p.flags, k.flags(p)&^flag) }

func (k *Kprobes) disabled(p uint64) bool { return k.flags(p)&(flagGone|flagDisabled) != 0 }

// arm stores the breakpoint. A jump that covers the address must go first. A jump at the address
// itself may stay: it waits for being undone, which optimizing again cancels.
func (k *Kprobes) arm(c Caller, s *site) error {
	if o := k.covering(s.addr); o != nil {
		if err := k.unoptimize(c, o, true); err != nil {
			return err
		}
	}
	if s.text == textClear {
		if err := k.poke(c, s.addr, k.arch.Breakpoint); err != nil {
			return err
		}
		s.text = textProbed
	}
	return k.wantOptimized(c, s)
}

// disarm takes the breakpoint away, at once or, behind a jump, when the optimizer comes by.
func (k *Kprobes) disarm(c Caller, s *site) error {
	if err := k.unoptimize(c, s, false); err != nil || s.queue == queueUnoptimizing {
		return err
	}
	return k.clear(c, s)
}

// released lets a jump come back that a probe at the address was in the way of.
func (k *Kprobes) released(c Caller, addr uint64) error {
	if o := k.covering(addr); o != nil && !k.disabled(o.head) {
		return k.wantOptimized(c, o)
	}
	return nil
}

// clear puts the original first bytes back in the place of a breakpoint.
func (k *Kprobes) clear(c Caller, s *site) error {
	if s.text != textProbed {
		return nil
	}
	if err := k.poke(c, s.addr, s.orig[:len(k.arch.Breakpoint)]); err != nil {
		return err
	}
	s.text = textClear
	return nil
}

// covering finds the site whose region has the address behind its first byte.
func (k *Kprobes) covering(addr uint64) *site {
	i, _ := k.search(addr)
	for i--; i >= 0 && addr-k.sites[i].addr < uint64(k.arch.MaxRegion); i-- {
		if s := k.sites[i]; s.ready() && s.covers(addr) {
			return s
		}
	}
	return nil
}

// UnregisterKprobes unregisters several probes and waits for one grace period for all of them.
// What is not registered gets its address cleared.
func (k *Kprobes) UnregisterKprobes(c Caller, ps ...uint64) error {
	return k.unregister(c, ps, nil)
}

// unregister detaches the probes, waits until no CPU can be in them, and frees what they had.
func (k *Kprobes) unregister(c Caller, ps []uint64, each func(p uint64)) error {
	if len(ps) == 0 {
		return nil
	}
	rest := make([]func(), len(ps))
	err := k.locked(c, func() (err error) {
		for i, p := range ps {
			if rest[i], err = k.detach(c, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := k.smp.SynchronizeSched(c); err != nil {
		return err
	}
	for i, p := range ps {
		if rest[i] != nil {
			rest[i]()
			if each != nil {
				each(p)
			}
		}
	}
	return k.m.take()
}

// detach makes a probe unreachable and returns what is to be done after the grace period, nil
// for a probe that was not registered.
func (k *Kprobes) detach(c Caller, p uint64) (after func(), err error) {
	c.Charge(k.opt.Costs.Unregister)
	s := k.siteOf(p)
	if s == nil {
		k.m.store(p, k.l.p.addr, 0)
		return nil, nil
	}
	if err := k.disable(c, s, p); err != nil {
		return nil, err
	}
	switch {
	case !s.aggr:
		k.drop(s)
		return func() { k.slots.give(s.slot) }, nil
	case len(k.children(s.head)) == 1 && s.queue == queueNone && k.disabled(s.head):
		k.drop(s)
		return func() { k.listDel(p); k.freeAggregate(s) }, nil
	}
	return func() {}, k.leave(c, s, p)
}

// EnableKprobe and DisableKprobe answer enable_kprobe and disable_kprobe.
func (k *Kprobes) EnableKprobe(c Caller, p uint64) error {
	return k.locked(c, func() error {
		c.Charge(k.opt.Costs.Toggle)
		s := k.siteOf(p)
		if s == nil || k.flags(p)&flagGone != 0 {
			return EINVAL
		}
		if p != s.head {
			k.clearFlag(p, flagDisabled)
		}
		if !k.disabled(s.head) {
			return nil
		}
		k.clearFlag(s.head, flagDisabled)
		if k.allDisarmed {
			return nil
		}
		return k.arm(c, s)
	})
}

// DisableKprobe is the counterpart of EnableKprobe.
func (k *Kprobes) DisableKprobe(c Caller, p uint64) error {
	return k.locked(c, func() error {
		c.Charge(k.opt.Costs.Toggle)
		s := k.siteOf(p)
		if s == nil {
			return EINVAL
		}
		return k.disable(c, s, p)
	})
}

// disable switches off a probe, and the site when no enabled probe is left there.
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

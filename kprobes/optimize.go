package kprobes

import "slices"

// makeDetour decides whether a jump may stand at a site, and writes its detour buffer. The buffer names an aggregate,
// which a site with one probe gets for it. Without memory for that the probe keeps its breakpoint, which is no error.
func (k *Kprobes) makeDetour(c Caller, s *site) bool {
	if s.refusal = k.checkDetour(c, s); s.refusal != nil {
		return false
	}
	if !s.aggr && k.aggregate(s) != nil {
		k.detours.give(s.detour)
		s.region, s.detour = Region{}, 0
		return false
	}
	if k.opt.Mutant == MutantFlagEarly {
		k.setFlag(s.head, flagOptimized)
		defer k.clearFlag(s.head, flagOptimized) // enqueue sets it, and would not queue the site
	}
	k.storeDetour(c, s)
	return true
}

// checkDetour decides whether a jump may stand at the site and reserves a detour buffer for it.
func (k *Kprobes) checkDetour(c Caller, s *site) *Refusal {
	if refused := k.keptBreakpoint(s.addr); refused != nil {
		return refused
	}
	fn, _ := k.text(s.addr)
	c.Charge(k.opt.Costs.Analyze * int64(len(fn.Code)))
	region, refused := k.regionAt(fn, s.addr)
	if refused != nil {
		return refused
	}
	at, ok := k.detours.take()
	if !ok {
		return Refuse(RuleNoSlot, s.addr, "all %d detour buffers are in use", len(k.detours.used))
	}
	if refused := k.reaches(s.head, region, at); refused != nil {
		k.detours.give(at)
		return refused
	}
	s.region, s.detour = region, at
	return nil
}

// keptBreakpoint looks for reasons that are decided once for a site, before its code is looked at. Those that come and
// go are blocked's. A preemptible kernel is refused, because RCU-sched does not wait for a task that was
// preempted inside of the region.
func (k *Kprobes) keptBreakpoint(addr uint64) *Refusal {
	switch {
	case !k.opt.OptProbes:
		return Refuse(RuleUnsupported, 0, "the kernel is built without jump optimization")
	case k.opt.Preempt && k.opt.Quiesce == QuiesceSched && k.opt.Mutant != MutantPreemptSched:
		return Refuse(RulePreempt, 0, "kernel code can be preempted inside a region")
	case k.entryAt(addr) != 0:
		return Refuse(RuleFtrace, addr, "the probe at %#x is called by the function's first instruction", addr)
	case k.sym.nmis.Contains(addr) && stops(k.opt.Patching):
		return Refuse(RuleNMI, addr, "an NMI of a stopped CPU may execute %#x while its text is changed", addr)
	}
	return nil
}

// regionAt applies the architecture's rules to the code that a jump would replace.
func (k *Kprobes) regionAt(fn Text, addr uint64) (Region, *Refusal) {
	return k.jump.Region(Site{
		Fn: fn, Addr: addr, EntryText: k.sym.entry, Exceptions: k.faults,
		Module:   k.moduleAt(addr) != nil || !k.kernelText(addr),
		Careless: k.opt.Mutant == MutantJumpIntoRegion,
	})
}

// reaches asks whether region and detour buffer can be reached from each other.
func (k *Kprobes) reaches(op uint64, r Region, at uint64) *Refusal {
	if _, refused := k.detour(op, r, at); refused != nil {
		return refused
	}
	_, refused := k.jump.Jump(r, at)
	return refused
}

// detour builds a buffer for the optimized_kprobe at op.
func (k *Kprobes) detour(op uint64, r Region, at uint64) ([]byte, *Refusal) {
	return k.jump.Detour(k.tmpl, r, DetourAt{Addr: at, Probe: op, Calls: k.sym.calls})
}

// storeDetour writes the buffer and what the guest knows of it.
func (k *Kprobes) storeDetour(c Caller, s *site) {
	c.Charge(k.opt.Costs.Detour)
	op := s.head - k.l.o.kp.Offset
	code, _ := k.detour(op, s.region, s.detour) // is not refused: the same buffer was tried for another argument
	k.note(c, EventDetour, "taken", s.head, s.detour)
	k.writeCode(c, s.detour, code)
	k.m.Store(op, k.l.o.insn, s.detour)
	k.m.Store(op, k.l.o.insnsSize, uint64(len(s.region.Code)))
}

// blocked returns the passing reason that keeps a ready site from being optimized, nil if none.
// Switches, handlers and neighbours change, so it is asked anew whenever one of them has.
func (k *Kprobes) blocked(s *site) *Refusal {
	l := &k.l.p
	switch {
	case !k.optimization:
		return Refuse(RuleOff, 0, "debug.kprobes-optimization is 0")
	case k.flags(s.head)&flagGone != 0:
		return Refuse(RuleGone, s.addr, "the text at %#x has vanished", s.addr)
	case k.off(s):
		return Refuse(RuleDisabled, s.addr, "the probe at %#x is disabled", s.addr)
	case k.m.Load(s.head, l.brk) != 0:
		return Refuse(RuleJprobe, s.addr, "a probe at %#x is a jprobe", s.addr)
	case k.m.Load(s.head, l.post) != 0:
		return Refuse(RulePostHandler, s.addr, "a probe at %#x has a post handler", s.addr)
	}
	i, _ := k.search(s.addr)
	for i++; i < len(k.sites) && s.covers(k.sites[i].addr); i++ {
		// A disabled one is in the way as long as its own jump waits for being undone.
		if o := k.sites[i]; (!k.disabled(o.head) || o.text == textJump) && k.opt.Mutant != MutantNoRegionCheck {
			return Refuse(RuleProbeInRegion, o.addr, "another probe at %#x lies in the region %#x-%#x",
				o.addr, s.addr, s.region.End())
		}
	}
	return nil
}

// enqueue queues a site for the optimizer if nothing stands against it.
// The delay lets probes that are registered one after the other share a pass. In 2.6.34 it is five
// jiffies.
func (k *Kprobes) enqueue(c Caller, s *site) error {
	if !s.ready() || k.blocked(s) != nil || k.flags(s.head)&flagOptimized != 0 {
		return nil
	}
	k.setFlag(s.head, flagOptimized)
	if s.queue == queueUnoptimizing { // the jump still stands
		k.unoptimizing = remove(k.unoptimizing, s)
		s.queue = queueNone
		return nil
	}
	k.optimizing = append(k.optimizing, s)
	s.queue = queueOptimizing
	k.noteSite(c, s, "optimizing")
	return k.optimizer.Schedule(c, k.opt.Delay)
}

// unoptimize gives up a site's jump or the wish for it: at once if forced or before Linux 2.6.38, else by the optimizer.
// Force is for a caller that changes the text at once, or gives the site a handler that no detour
// can call.
func (k *Kprobes) unoptimize(c Caller, s *site, force bool) error {
	if !s.aggr || k.disabled(s.head) && s.queue == queueNone {
		return nil
	}
	if k.flags(s.head)&flagOptimized == 0 {
		if !force || s.queue != queueUnoptimizing {
			return nil
		}
		k.unoptimizing = remove(k.unoptimizing, s)
		s.queue = queueNone
		return k.forceJumpAway(c, s)
	}
	k.clearFlag(s.head, flagOptimized)
	switch {
	case s.queue == queueOptimizing:
		if k.opt.Mutant != MutantKeepQueued {
			k.optimizing = remove(k.optimizing, s)
		}
		s.queue = queueNone
		return nil
	case force || k.opt.Patching == PatchStopEach:
		return k.forceJumpAway(c, s)
	}
	k.unoptimizing = append(k.unoptimizing, s)
	s.queue = queueUnoptimizing
	k.noteSite(c, s, "unoptimizing")
	return k.optimizer.Schedule(c, k.opt.Delay)
}

// forceJumpAway undoes one jump without waiting for the optimizer.
func (k *Kprobes) forceJumpAway(c Caller, s *site) error {
	if err := k.replace(c, []*site{s}, k.away()); err != nil {
		return err
	}
	k.noteSite(c, s, "unoptimized")
	if err := k.settle(c, s); err != nil {
		return err
	}
	return k.hurryFreeing(c)
}

// hurryFreeing asks for a pass of the optimizer when one is needed to free something.
func (k *Kprobes) hurryFreeing(c Caller) error {
	if len(k.freeing)+len(k.dirty) == 0 {
		return nil
	}
	return k.optimizer.Schedule(c, k.opt.Delay)
}

// hurrySweeping does the same for slots that were left dirty.
func (k *Kprobes) hurrySweeping(c Caller) error {
	if len(k.dirty) == 0 {
		return nil
	}
	return k.optimizer.Schedule(c, k.opt.Delay)
}

// settle ends what a jump has put off: where nothing is enabled the breakpoint goes too, and where
// nobody is left the site.
func (k *Kprobes) settle(c Caller, s *site) error {
	if !k.off(s) {
		return nil
	}
	if err := k.clear(c, s); err != nil {
		return err
	}
	if len(k.children(s.head)) == 0 {
		k.drop(s)
		k.freeing = append(k.freeing, s)
	}
	return k.released(c, s.addr)
}

// away gives the breakpoint and the bytes behind it in the place of a jump.
// The probe stays armed by that breakpoint; settle takes it away where nothing is enabled.
func (k *Kprobes) away() rewrite {
	return rewrite{then: textProbed, code: func(s *site) ([]byte, error) {
		code := slices.Clone(s.orig)
		copy(code, k.breakpoint(s))
		return code, nil
	}}
}

// jumps gives the jump in the place of a breakpoint.
// What it covers behind the breakpoint goes to optinsn.copied_insn, where the kernel keeps it too.
func (k *Kprobes) jumps() rewrite {
	return rewrite{then: textJump, code: func(s *site) ([]byte, error) {
		code, refused := k.jump.Jump(s.region, s.detour)
		if refused != nil {
			return nil, refused // cannot be: the distance was checked when the buffer was built
		}
		if tail := s.orig[len(k.arch.Breakpoint):]; len(tail) > 0 {
			k.m.write(s.head-k.l.o.kp.Offset+k.l.o.copied.Offset, tail)
		}
		return code, nil
	}}
}

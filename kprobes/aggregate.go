package kprobes

import (
	"slices"

	"kprobesim/image"
)

// share makes an address ready for a further probe. It has one probe, or several, or an aggregate whose last child has
// gone while its jump waits for being undone, or probes that are gone with a module's text.
func (k *Kprobes) share(c Caller, s *site) error {
	switch {
	case k.flags(s.head)&flagGone != 0:
		return k.revive(c, s)
	case s.aggr:
		return nil
	}
	if err := k.aggregate(s); err != nil {
		return err
	}
	k.makeDetour(c, s)
	return nil
}

// enlist makes a probe a child: in front, so that the last one registered runs first; one with a
// break handler goes to the end, and there can be one of them only.
// Documentation/kprobes.txt rules out two jprobes at one function: only one of them could go to
// its own.
func (k *Kprobes) enlist(c Caller, s *site, p uint64) error {
	l := &k.l.p
	brk, post := k.m.Load(p, l.brk), k.m.Load(p, l.post)
	if brk != 0 && k.m.Load(s.head, l.brk) != 0 {
		return EEXIST
	}
	// Where nothing is enabled a detour calls nobody, and somebody has to be there when the jump goes.
	special, idle := brk != 0 || post != 0, k.disabled(s.head)
	if special && !idle {
		if err := k.leaveDetour(c, s, brk != 0); err != nil {
			return err
		}
	}
	if brk != 0 {
		k.listAddTail(p, s.head)
		k.m.Store(s.head, l.brk, k.sym.aggrBreak)
	} else {
		k.listAdd(p, s.head)
	}
	if post != 0 {
		k.m.Store(s.head, l.post, k.sym.aggrPost)
	}
	if special && idle {
		return k.leaveDetour(c, s, brk != 0)
	}
	return nil
}

// leaveDetour undoes the jump of a site that is to have a probe that no detour can serve. One with a
// break handler, which cannot be called from there, comes only after the tasks that were on the way.
func (k *Kprobes) leaveDetour(c Caller, s *site, empty bool) error {
	jumped := s.text == textJump
	if err := k.unoptimize(c, s, true); err != nil || !jumped || !empty {
		return err
	}
	return k.quiesceSites(c, []*site{s})
}

// aggregate puts an aggregate of one child in the place of the probe in the hash table.
// It happens with the second probe at an address, and with the first one that can be optimized, as
// the optimizer works on aggregates alone. The aggregate has a post handler only where a child has
// one, because a post handler keeps the address from being boosted and optimized.
func (k *Kprobes) aggregate(s *site) error {
	op, err := k.m.alloc(k.l.o.size)
	if err != nil {
		return err
	}
	l, p, ap := &k.l.p, s.head, op+k.l.o.kp.Offset
	if k.opt.Mutant == MutantHashEarly {
		k.hlistReplace(p, ap, k.hash())
	}
	for _, f := range append([]image.Field{l.addr}, l.arch...) {
		k.m.Store(ap, f, k.m.Load(p, f))
	}
	k.m.Store(ap, l.flags, k.flags(p)&^flagOptimized)
	k.m.Store(ap, l.pre, k.sym.aggrPre)
	k.m.Store(ap, l.fault, k.sym.aggrFault)
	if k.era.GroupPost || k.m.Load(p, l.post) != 0 && k.flags(p)&flagGone == 0 {
		k.m.Store(ap, l.post, k.sym.aggrPost)
	}
	if k.m.Load(p, l.brk) != 0 && k.flags(p)&flagGone == 0 {
		k.m.Store(ap, l.brk, k.sym.aggrBreak)
	}
	k.listInit(ap)
	k.listAdd(p, ap)
	if k.opt.Mutant != MutantHashEarly {
		k.hlistReplace(p, ap, k.hash())
	}
	s.head, s.aggr = ap, true
	return nil
}

// leave takes a child out of an aggregate that stays.
// What is left may be optimized now, when the child was the one in the way.
func (k *Kprobes) leave(c Caller, s *site, p uint64) error {
	k.listDel(p)
	if k.m.Load(p, k.l.p.post) != 0 && !k.anyChild(s, k.l.p.post) && !k.era.GroupPost {
		if err := k.forgetPost(c, s); err != nil {
			return err
		}
	}
	return k.mayOptimize(c, s)
}

// forgetPost clears the post handler of an aggregate. The path of a hit reads it twice, once to look
// and once to call, with interrupts off: in between it must not go, so other CPUs are stopped.
func (k *Kprobes) forgetPost(c Caller, s *site) error {
	forget := func(Caller) error {
		k.m.Store(s.head, k.l.p.post, 0)
		return nil
	}
	if k.smp.CPUs() == 1 {
		return forget(c)
	}
	return k.smp.StopMachine(c, forget)
}

// jprobeLeft forgets the break handler of an aggregate whose jprobe has left it, a grace period ago:
// until then one may have been on its way back from the user's function.
func (k *Kprobes) jprobeLeft(c Caller, s *site) error {
	if k.site(s.addr) != s || k.anyChild(s, k.l.p.brk) {
		return nil
	}
	k.m.Store(s.head, k.l.p.brk, 0)
	return k.mayOptimize(c, s)
}

// mayOptimize asks for the jump of a site that something was in the way of.
func (k *Kprobes) mayOptimize(c Caller, s *site) error {
	if k.off(s) {
		return nil
	}
	return k.enqueue(c, s)
}

// anyChild reports whether a child has a handler of the kind.
func (k *Kprobes) anyChild(s *site, handler image.Field) bool {
	return slices.ContainsFunc(k.children(s.head), func(p uint64) bool { return k.m.Load(p, handler) != 0 })
}

// freeAggregate gives back everything a site with an aggregate had.
// A grace period has passed since the site left the hash table, and no CPU is in what is freed.
func (k *Kprobes) freeAggregate(c Caller, s *site) {
	k.giveDetour(c, s)
	k.giveSlot(c, s)
	k.noteSite(c, s, "freed")
	k.m.free(s.head - k.l.o.kp.Offset)
}

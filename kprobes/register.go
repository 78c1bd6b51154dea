package kprobes

import (
	"errors"
	"slices"
)

// registration is a probe on its way into the kernel.
type registration struct {
	at    uint64 // structure of the caller
	p     uint64 // its struct kprobe
	addr  uint64 // probed address
	site  *site
	place *userSite // in the place of a site, of a probe of user space
	first bool      // no other probe is registered at the address
	armed bool      // the text was changed for this probe
	undo  func()    // frees what a step has made when a later one refuses the probe; nil for nothing
}

// step is one part of a registration. Its error ends the registration.
type step func(Caller, *registration) error

// kind says how one kind of probes is laid out, registered and unregistered.
type kind struct {
	size    uint64 // of its structure, in bytes
	kp      uint64 // offset of the struct kprobe in it
	steps   []step
	retired func(c Caller, at uint64) error // frees what it has after the grace period of unregistering; nil for nothing
}

// kind has a first step of their own for return probes and jprobes, which set the handlers of their struct kprobe.
func (k *Kprobes) kind(of Kind) kind {
	steps := []step{k.check, k.prepare, k.insert, k.arm, k.queue}
	return [...]kind{
		Kprobe:    {size: k.l.p.size, steps: steps},
		Kretprobe: {k.l.r.size, k.l.r.kp.Offset, append([]step{k.takeReturns}, steps...), k.retireReturns},
		Jprobe:    {size: k.l.j.size, kp: k.l.j.kp.Offset, steps: append([]step{k.divert}, steps...)},
	}[of]
}

// Register registers the structure of a kind at an address. Errors are of type Errno as far as the API knows them;
// others are failures of the simulated machine.
func (k *Kprobes) Register(c Caller, kind Kind, at uint64) error {
	return k.locked(c, func() error { return k.register(c, k.kind(kind), at) })
}

// register takes a probe through the steps of its kind. Documentation/kprobes.txt describes them in this order: check,
// prepare, insert, arm, and ask the optimizer for a jump.
func (k *Kprobes) register(c Caller, kind kind, at uint64) error {
	r := &registration{at: at, p: at + kind.kp}
	for _, step := range kind.steps {
		if err := step(c, r); err != nil {
			if r.undo != nil {
				r.undo()
			}
			return err
		}
	}
	return nil
}

// RegisterAll registers several structures of a kind. When one is refused, those before it are unregistered and its
// error is the result. So Documentation/kprobes.txt has it for the plural calls. An empty array is EINVAL, as in the
// kernel.
func (k *Kprobes) RegisterAll(c Caller, kind Kind, all ...uint64) error {
	if len(all) == 0 {
		return EINVAL
	}
	for i, at := range all {
		if err := k.Register(c, kind, at); err != nil {
			return errors.Join(err, k.Unregister(c, kind, all[:i]...))
		}
	}
	return nil
}

// check finds the probed address, and refuses one that no probe may have and a structure that is registered.
func (k *Kprobes) check(c Caller, r *registration) (err error) {
	c.Charge(k.opt.Costs.Register)
	if r.addr, err = k.resolve(r.p); err != nil {
		return err
	}
	k.m.Store(r.p, k.l.p.addr, r.addr)
	if k.siteOf(r.p) != nil {
		return EINVAL
	}
	if denied := k.barred(r.addr); denied != nil {
		return denied.Errno
	}
	return nil
}

// prepare clears what an earlier registration has left in the structure, and makes what a hit runs in the place of the
// instruction. All probes at an address share one copy, so a further one gets the members of the architecture from the
// aggregate.
func (k *Kprobes) prepare(c Caller, r *registration) (err error) {
	l := &k.l.p
	k.m.Store(r.p, l.flags, k.firstFlags(r.p, r.addr))
	k.m.Store(r.p, l.nmissed, 0)
	k.listInit(r.p)
	k.note(c, EventProbe, "registered", r.p, r.addr)
	if r.site = k.site(r.addr); r.site == nil {
		r.first = true
		r.site, err = k.prepareSite(c, r.p, r.addr)
		return err
	}
	if err := k.share(c, r.site); err != nil {
		return err
	}
	for _, f := range l.arch {
		k.m.Store(r.p, f, k.m.Load(r.site.head, f))
	}
	return nil
}

// insert makes hits find the probe: in the hash table, or among the children of an aggregate.
func (k *Kprobes) insert(c Caller, r *registration) error {
	if !r.first {
		return k.enlist(c, r.site, r.p)
	}
	k.hlistAdd(k.bucket(k.sym.table, r.addr), r.p, k.hash())
	i, _ := k.search(r.addr)
	k.sites = slices.Insert(k.sites, i, r.site)
	return nil
}

// arm changes the text, unless the probe is registered disabled or an enabled one is there.
func (k *Kprobes) arm(c Caller, r *registration) error {
	switch {
	case k.disabled(r.p), !r.first && !k.disabled(r.site.head):
		return nil
	case !r.first:
		k.clearFlag(r.site.head, flagDisabled)
	}
	if k.allDisarmed {
		return nil
	}
	r.armed = true
	return k.armSite(c, r.site)
}

// queue asks the optimizer for a jump. The first probe at an address decides whether there can be one.
func (k *Kprobes) queue(c Caller, r *registration) error {
	if r.first && k.makeDetour(c, r.site) || r.armed {
		return k.enqueue(c, r.site)
	}
	return nil
}

package kprobes

import (
	"slices"

	"kprobesim/image"
)

// takeReturns is the first step of registering a return probe: its instances are allocated, and its kprobe gets the
// handler that takes over the return address. The other handlers of that kprobe are cleared, as in the kernel: struct
// kretprobe has its own.
func (k *Kprobes) takeReturns(c Caller, r *registration) error {
	if err := k.returnable(r.at, r.p); err != nil {
		return err
	}
	for _, f := range []image.Field{k.l.p.post, k.l.p.fault, k.l.p.brk} {
		k.m.Store(r.p, f, 0)
	}
	k.m.Store(r.p, k.l.p.pre, k.sym.returnPre)
	if err := k.allocInstances(c, r.at); err != nil {
		return err
	}
	r.undo = func() { k.freeInstances(r.at) }
	return nil
}

// returnable says what keeps a function from having a return probe that a kprobe may have. Functions that the era names
// are EINVAL, such as the one that switches tasks: return instances are found by task.
func (k *Kprobes) returnable(rp, kp uint64) error {
	addr, err := k.resolve(kp)
	if err != nil {
		return err
	}
	name, _, ok := k.im.In(addr)
	switch data := k.m.Load(rp, k.l.r.dataSize); {
	case k.era.atEntry && !k.startsFunction(addr), k.siteOf(kp) != nil:
		return EINVAL
	case ok && slices.Contains(k.era.ReturnProtected, name):
		return EINVAL
	case k.era.mostData > 0 && data > k.era.mostData:
		return E2BIG
	}
	return nil
}

// allocInstances fills the probe's list of free instances.
// One is in use from the entry of a call to its return, with data_size bytes of the user behind
// it. A call that finds none is not probed and counts in nmissed.
func (k *Kprobes) allocInstances(c Caller, rp uint64) error {
	l := &k.l.r
	n := int32(k.m.Load(rp, l.maxactive))
	if n <= 0 {
		n = k.defaultMaxActive()
		k.m.Store(rp, l.maxactive, uint64(uint32(n)))
	}
	k.m.Store(rp, l.lock, 0)
	k.m.Store(rp, l.free, 0)
	if l.used.Size != 0 {
		k.m.Store(rp, l.used, 0)
	}
	k.m.Store(rp, l.nmissed, 0)
	if k.era.Hooks {
		if err := k.allocHook(rp); err != nil {
			return err
		}
	}
	size := l.instSize + k.m.Load(rp, l.dataSize)
	for range n {
		c.Charge(k.opt.Costs.Instance)
		ri, err := k.m.alloc(size)
		if err != nil || k.m.Err != nil {
			k.freeInstances(rp)
			return ENOMEM
		}
		k.freeInstance(rp, ri)
	}
	return nil
}

// freeInstance makes an instance one that a hit may take.
func (k *Kprobes) freeInstance(rp, ri uint64) {
	k.hlistAdd(k.freeHead(rp), ri, k.instanceLinks())
	if k.era.Hooks {
		hook := k.m.Load(rp, k.l.r.hook)
		k.m.Store(ri, k.l.r.instHook, hook)
		k.m.Store(ri, k.l.r.readers, 1)
		k.m.Store(hook, k.l.r.hookCount, k.m.Load(hook, k.l.r.hookCount)+1)
	}
}

// freeHead is where the pointer to a return probe's first free instance is.
func (k *Kprobes) freeHead(rp uint64) uint64 {
	if k.era.Hooks {
		return k.m.Load(rp, k.l.r.hook) + k.l.r.hookPool.Offset
	}
	return rp + k.l.r.free.Offset
}

// allocHook makes what holds the instances of a return probe together, until the last one is freed.
func (k *Kprobes) allocHook(rp uint64) error {
	hook, err := k.m.alloc(k.l.r.hookSize)
	if err != nil {
		return err
	}
	k.m.Store(hook, k.l.r.hookRP, rp)
	k.m.Store(hook, k.l.r.hookCount, 1) // of the probe itself: all instances may be freed before leaveHook
	k.m.Store(rp, k.l.r.hook, hook)
	return nil
}

// defaultMaxActive is the number of instances for a probe that does not say.
// The numbers come from Documentation/kprobes.txt, where NR_CPUS is the number of CPUs of the
// machine.
func (k *Kprobes) defaultMaxActive() int32 {
	cpus := int32(k.smp.CPUs())
	if k.opt.Preempt || k.era.many {
		return max(10, 2*cpus)
	}
	return cpus
}

func (k *Kprobes) instanceLinks() links { return links{k.l.r.instNext, k.l.r.instPprev} }

// freeInstances frees the instances that are not in use.
// Where the probe was registered, a grace period comes before, as a hit may have been taking one.
func (k *Kprobes) freeInstances(rp uint64) {
	free := k.hlist(k.freeHead(rp), k.instanceLinks())
	for _, ri := range free {
		k.m.free(ri)
	}
	k.m.Store(k.freeHead(rp), k.l.list, 0)
	if k.era.Hooks {
		k.leaveHook(rp, len(free))
	}
}

// leaveHook says that so many instances are no more, and the probe. The hook goes with the last of them.
func (k *Kprobes) leaveHook(rp uint64, freed int) {
	hook := k.m.Load(rp, k.l.r.hook)
	left := k.m.Load(hook, k.l.r.hookCount) - uint64(freed) - 1
	k.m.Store(hook, k.l.r.hookCount, left)
	if left == 0 || k.opt.Mutant == MutantPoolFreed {
		k.m.free(hook)
	}
	k.m.Store(rp, k.l.r.hook, 0)
}

// retireReturns frees the instances of a return probe. Instances that are still out lose their probe; the guest frees
// them when their functions return.
func (k *Kprobes) retireReturns(c Caller, rp uint64) error {
	if err := k.orphan(c, rp); err != nil {
		return err
	}
	k.freeInstances(rp)
	return nil
}

// orphan clears the back pointers of a probe's instances that are in use.
// All buckets are gone through, because instances in use are found by task and not by probe.
func (k *Kprobes) orphan(c Caller, rp uint64) error {
	if k.era.Hooks {
		k.unhook(rp + k.l.r.kp.Offset)
		return nil
	}
	if k.opt.Mutant == MutantKeepInstances {
		return nil
	}
	for i := range uint64(hashBuckets) {
		err := k.bucketLocked(c, i, func() {
			head := k.sym.instances + i*uint64(k.l.list.Size)
			for _, ri := range k.hlist(head, k.instanceLinks()) {
				if k.m.Load(ri, k.l.r.instRP) == rp {
					k.m.Store(ri, k.l.r.instRP, 0)
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// unhook does the same for a kernel whose instances know their probe by what holds them together; other probes are left
// alone. A return that has read the pointer before calls the handler without a lock, and does not give up its CPU until
// it is done. So this comes in front of the grace period of unregistering, and kernels do it there too.
func (k *Kprobes) unhook(kp uint64) {
	if !k.era.Hooks || k.m.Load(kp, k.l.p.pre) != k.sym.returnPre || k.opt.Mutant == MutantKeepInstances {
		return
	}
	k.m.Store(k.m.Load(kp-k.l.r.kp.Offset, k.l.r.hook), k.l.r.hookRP, 0)
}

// bucketLocked runs f while no other CPU is taking out or giving back a return instance of a bucket.
// With one CPU that is so: the guest does both with interrupts off.
func (k *Kprobes) bucketLocked(c Caller, bucket uint64, f func()) error {
	if k.smp.CPUs() == 1 {
		f()
		return nil
	}
	flags, err := c.InvokeSym("lock_instances", bucket)
	if err != nil {
		return err
	}
	f()
	_, err = c.InvokeSym("unlock_instances", bucket, flags)
	return err
}

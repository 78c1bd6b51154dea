package kprobes

// RegisterJprobe registers the struct jprobe at jp: a kprobe whose handler goes to the user's
// function instead of calling it. There can be one at an address, and it is never jump-optimized.
// The user's function ends with jprobe_return, whose breakpoint calls the break handler. That one
// restores registers and stack, and the probed function begins. A function outside of kernel text
// is EINVAL.
func (k *Kprobes) RegisterJprobe(c Caller, jp uint64) error {
	return k.locked(c, func() error {
		entry := k.im.Callee(k.m.Load(jp, k.l.j.entry))
		if m := k.moduleAt(entry); !k.kernelText(entry) && (m == nil || m.gone) {
			return EINVAL
		}
		kp := jp + k.l.j.kp.Offset
		k.m.Store(kp, k.l.p.pre, k.sym.jprobePre)
		k.m.Store(kp, k.l.p.brk, k.sym.jprobeBreak)
		return k.register(c, kp)
	})
}

// UnregisterJprobes unregisters several jprobes with one grace period.
func (k *Kprobes) UnregisterJprobes(c Caller, jps ...uint64) error {
	kps := make([]uint64, len(jps))
	for i, jp := range jps {
		kps[i] = jp + k.l.j.kp.Offset
	}
	return k.unregister(c, kps, nil)
}

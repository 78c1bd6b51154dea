package kprobes

// divert is the first step of registering a jprobe: a kprobe whose handler goes to the user's function instead of calling
// it. There can be one at an address, and it is never jump-optimized. The user's function ends with jprobe_return, whose
// breakpoint calls the break handler. That one restores registers and stack, and the probed function begins. A function
// outside of kernel text is EINVAL.
func (k *Kprobes) divert(_ Caller, r *registration) error {
	entry := k.im.Callee(k.m.Load(r.at, k.l.j.entry))
	if m := k.moduleAt(entry); !k.kernelText(entry) && (m == nil || m.gone) {
		return EINVAL
	}
	k.m.Store(r.p, k.l.p.pre, k.sym.jprobePre)
	k.m.Store(r.p, k.l.p.brk, k.sym.jprobeBreak)
	return nil
}

package kprobes

// locked runs a call of the API. A kernel without Kprobes has the calls, and none of them does anything.
func (k *Kprobes) locked(c Caller, f func() error) error {
	if k.absent {
		return ENOSYS
	}
	return k.alone(c, f)
}

// Absent reports whether the kernel is built without Kprobes. It loads modules all the same.
func (k *Kprobes) Absent() bool { return k.absent }

// alone runs f under kprobe_mutex and reports a sticky failure of guest memory.
// The mutex sleeps, so tasks alone can wait for it. The failure goes first, because the answer of f may rest on what
// could not be read.
func (k *Kprobes) alone(c Caller, f func() error) error {
	if err := k.smp.Lock(c, &k.mutex); err != nil {
		return err
	}
	err := f()
	k.smp.Unlock(c, &k.mutex)
	if broken := k.m.take(); broken != nil {
		return broken
	}
	return err
}

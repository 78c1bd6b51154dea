package kprobes

import "slices"

// clearStacks waits until no task is in the middle of instructions that a jump will replace, or in a detour buffer that no
// jump leads to any more. Documents of 2010 to 2019 name it as the way to optimize on a preemptible kernel: stop the machine
// and look whether any task is there. A breakpoint stands in front of the instructions, so nobody comes there afterwards.
// No kernel did it. That it tries again after a jiffy is ours. It has no bound: a word on the stack of a preempted task that
// only looks like such an address keeps it waiting as long as the task does not run. Code that interrupts an idle CPU is
// waited for by a grace period before.
func (k *Kprobes) clearStacks(c Caller, also []*site) error {
	there := k.leaving(also)
	if err := k.smp.SynchronizeSched(c); err != nil {
		return err
	}
	for {
		busy := ""
		err := k.smp.StopMachine(c, func(c Caller) (err error) {
			busy, err = k.onStacks(c, there)
			return err
		})
		if err != nil || busy == "" {
			return err
		}
		if err := k.smp.Sleep(c, 1); err != nil {
			return err
		}
	}
}

// onStacks names a task that is at one of the addresses.
func (k *Kprobes) onStacks(c Caller, there []Span) (task string, err error) {
	if k.opt.Mutant == MutantStacksUnread {
		return "", nil
	}
	task, words, err := k.smp.OnStacks(func(word uint64) bool {
		return slices.ContainsFunc(there, func(s Span) bool { return s.Contains(word) })
	})
	c.Charge(words * k.opt.Costs.Scan)
	return task, err
}

// leaving lists what no task may be in the middle of: the detour buffers of some sites beside what the optimizer is at.
// At the first byte of a region it does not matter what stands there.
func (k *Kprobes) leaving(also []*site) (list []Span) {
	for _, s := range k.optimizing {
		list = append(list, Span{s.addr + 1, s.addr + uint64(len(s.region.Code))})
	}
	for _, s := range slices.Concat(k.freeing, also) {
		if s.detour != 0 {
			list = append(list, Span{s.detour, s.detour + k.detours.size})
		}
	}
	return list
}

package kprobes

import "slices"

// clearStacks waits until no task is in the middle of instructions that a jump will replace, or in a detour buffer that no
// jump leads to any more. Documents of 2010 to 2019 name it as the way to optimize on a preemptible kernel: stop the machine
// and look whether any task is there. A breakpoint stands in front of the instructions, so nobody comes there afterwards.
// No kernel did it. That it tries again after a jiffy is ours. It has no bound: a word on the stack of a task that sleeps,
// which only looks like such an address, keeps it waiting as long as the task sleeps. Buffers that are on no list, as that
// of a jump which was undone for a probe with a break handler, are not looked for.
func (k *Kprobes) clearStacks(c Caller) error {
	there := k.leaving()
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

// leaving is what nobody may be in the middle of. At the first byte of a region it does not matter what stands there.
func (k *Kprobes) leaving() (list []Span) {
	for _, s := range k.optimizing {
		list = append(list, Span{s.addr + 1, s.addr + uint64(len(s.region.Code))})
	}
	for _, s := range k.freeing {
		list = append(list, Span{s.detour, s.detour + k.detours.size})
	}
	return list
}

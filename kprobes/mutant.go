package kprobes

import "slices"

// Mutants are kernels with one step of a protocol left out. They exist for the search for races,
// which has to notice each of them; nothing else sets Options.Mutant.
const (
	// MutantNoQuiesce writes jumps without waiting for a grace period.
	MutantNoQuiesce = "no-quiesce"
	// MutantBareJump stores the bytes of a jump, or of the call that replaces a nop, with neither a stopped machine nor a breakpoint.
	MutantBareJump = "bare-jump"
	// MutantSkipSync1 and its kin leave out one of the three synchronizations of PatchBreakpoint and
	// PatchBatch.
	MutantSkipSync1 = "bp-skip-sync-1"
	MutantSkipSync2 = "bp-skip-sync-2"
	MutantSkipSync3 = "bp-skip-sync-3"
	// MutantRestoreUnsynced leaves out the synchronization when a breakpoint has gone: Arch.SyncsBreakpoints.
	MutantRestoreUnsynced = "restore-skip-sync"
	// MutantNoWait reuses the memory of PatchBatch while CPUs may still look a breakpoint up in it.
	MutantNoWait = "batch-no-wait"
	// MutantNoNotifier leaves the breakpoints of PatchBreakpoint and PatchBatch to Kprobes, which may not
	// know of them any more, or not yet.
	MutantNoNotifier = "no-notifier"
	// MutantPreemptSched optimizes on a preemptible kernel after a grace period of RCU-sched.
	MutantPreemptSched = "preempt-sched"
	// MutantStacksUnread stops the machine for QuiesceStacks and looks at no stack.
	MutantStacksUnread = "stacks-unread"
	// MutantFreezeAnywhere freezes tasks for QuiesceFreeze wherever they were preempted.
	MutantFreezeAnywhere = "freeze-anywhere"
	// MutantFreeEarly frees slots and detour buffers without a grace period.
	MutantFreeEarly = "free-early"
	// MutantUnregisterAtOnce returns from unregistering without a grace period: handlers may still run.
	MutantUnregisterAtOnce = "unregister-at-once"
	// MutantJumpIntoRegion lets jumps lead into the middle of what a jump replaces.
	MutantJumpIntoRegion = "jump-into-region"
	// MutantKeepQueued leaves a probe on the optimizer's queue that nobody wants to be optimized any more.
	MutantKeepQueued = "keep-queued"
	// MutantNoRegionCheck writes jumps over other probes.
	MutantNoRegionCheck = "no-region-check"
	// MutantFreeSched frees a detour buffer, or a slot that ends with a jump back, after a grace period of RCU-sched,
	// although a task may be preempted in it.
	MutantFreeSched = "free-sched"
	// MutantKeepInstances lets return instances that are out call the handler of a probe that is gone.
	MutantKeepInstances = "keep-instances"
	// MutantForgetLate takes a return probe from its instances behind the grace period, where they are on lists of tasks.
	MutantForgetLate = "forget-late"
	// MutantPoolUnread takes a return instance from the pool of 2020 without counting as its reader, so it may come back
	// while this CPU looks at what was behind it. MutantPoolTwice puts an instance back that somebody else has taken.
	// MutantPoolFreed frees the pool of a probe that is gone while instances of it are out.
	MutantPoolUnread = "pool-unread"
	MutantPoolTwice  = "pool-twice"
	MutantPoolFreed  = "pool-freed"
	// MutantEntryUnsynced leaves out every synchronization when a function's first nop comes back.
	MutantEntryUnsynced = "entry-skip-sync"
	// MutantWatchSetHere sets a watchpoint's register on the CPU that asks for it alone, MutantWatchClearHere takes it
	// back there alone.
	MutantWatchSetHere   = "watch-set-here"
	MutantWatchClearHere = "watch-clear-here"
	// MutantUserUnlocked removes a breakpoint of user space while others may be in a hit of it.
	MutantUserUnlocked = "user-unlocked"
	// MutantUserNoHook leaves pages of user space that come in without the probes of their place.
	MutantUserNoHook = "user-no-hook"
	// MutantUserOnePass looks once for the pages that a probe is to be removed from.
	MutantUserOnePass = "user-one-pass"
	// MutantUserNoWait removes a breakpoint from pages while it is on its way into one that comes in.
	MutantUserNoWait = "user-no-wait"
	// MutantHashEarly lets hits find an aggregate before it is filled in, MutantLinkEarly a further probe of an address
	// before it knows its neighbours, and MutantFlagEarly says that a probe has a jump before it has a detour buffer.
	MutantHashEarly = "hash-early"
	MutantLinkEarly = "link-early"
	MutantFlagEarly = "flag-early"
	// MutantSlotKept forgets slots of probes that are gone, MutantDetourKept their detour buffers.
	MutantSlotKept   = "slot-kept"
	MutantDetourKept = "detour-kept"
	// MutantSkipClean and its kin leave out a step by which software keeps instruction caches in step with what it
	// has stored: writing the data cache's line back, invalidating that of instruction caches, and fetching
	// anew. They change nothing in a guest that has no such steps.
	MutantSkipClean      = "skip-clean"
	MutantSkipInvalidate = "skip-invalidate"
	MutantSkipRefetch    = "skip-refetch"
)

// CodeMutant is a mistake in one function of the guest. Its code is changed before a machine runs, so that no image has it.
type CodeMutant struct {
	Name, Function string
	Insn           string // pattern of the instructions that are changed, as the instruction set prints them
	Change         func(code []byte) []byte
}

// Mutants lists the values of Options.Mutant besides "".
func Mutants() []string {
	return []string{
		MutantNoQuiesce, MutantBareJump, MutantSkipSync1, MutantSkipSync2, MutantSkipSync3, MutantNoWait,
		MutantRestoreUnsynced, MutantNoNotifier, MutantPreemptSched, MutantStacksUnread, MutantFreezeAnywhere, MutantFreeEarly,
		MutantUnregisterAtOnce, MutantJumpIntoRegion, MutantKeepQueued,
		MutantNoRegionCheck, MutantFreeSched, MutantKeepInstances, MutantForgetLate,
		MutantPoolUnread, MutantPoolTwice, MutantPoolFreed,
		MutantEntryUnsynced, MutantWatchSetHere, MutantWatchClearHere, MutantUserUnlocked, MutantUserNoHook,
		MutantUserOnePass, MutantUserNoWait, MutantHashEarly, MutantLinkEarly, MutantFlagEarly, MutantSlotKept,
		MutantDetourKept, MutantSkipClean, MutantSkipInvalidate, MutantSkipRefetch,
	}
}

// entered is the guest's function by which return probes begin, right or wrong. Kernels without a pool have one alone.
func entered(mutant string) string {
	switch mutant {
	case MutantPoolUnread:
		return "return_probe_unread"
	case MutantPoolTwice:
		return "return_probe_twice"
	}
	return "return_probe_entered"
}

// omitted are the steps behind a store into code that are left out.
func omitted(mutant string) uint64 {
	return bit(mutant, MutantSkipClean, MutantSkipInvalidate, MutantSkipRefetch)
}

// allSyncs are the bits of all synchronizations.
const allSyncs = 1<<3 - 1

// unsynced says which synchronizations behind breakpoints a mutant leaves out, or the wait at the end of a batch.
func unsynced(mutant string) uint64 {
	return bit(mutant, MutantSkipSync1, MutantSkipSync2, MutantSkipSync3, MutantNoWait, MutantRestoreUnsynced)
}

// bit returns the bit of the step that a mutant leaves out. The guest numbers the steps in their order.
func bit(mutant string, steps ...string) uint64 {
	if i := slices.Index(steps, mutant); i >= 0 {
		return 1 << i
	}
	return 0
}

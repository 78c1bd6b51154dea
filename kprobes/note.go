package kprobes

import "kprobesim/sim"

// Kinds of events that this package tells watchers of the machine. The ID of an event of a
// probe is the address of its struct kprobe, or that of the aggregate at the address. Names of steps are
// the ones of stepName. A probe is registered, unregistered, or gone with its text; an address is
// optimizing or unoptimizing while that is asked for, then optimized or unoptimized, and freed when its
// aggregate is.
const (
	EventPatch  sim.EventKind = "patch"  // a step of changing text; ID numbers the change
	EventSync   sim.EventKind = "sync"   // a CPU has synchronized for the change that ID numbers
	EventProbe  sim.EventKind = "probe"  // what has become of a probe; Arg is the probed address
	EventSlot   sim.EventKind = "slot"   // an out-of-line slot is taken or freed; Arg is its address
	EventDetour sim.EventKind = "detour" // the same for a detour buffer
)

// note costs the guest nothing: no simulated time passes. Nobody watches where Build alone was
// called.
func (k *Kprobes) note(c Caller, kind sim.EventKind, name string, id, arg uint64) {
	if k.watch != nil {
		k.watch(sim.Event{CPU: c.CPU(), Kind: kind, Name: name, ID: id, Arg: arg})
	}
}

// noteSite tells what has become of a probed address.
func (k *Kprobes) noteSite(c Caller, s *site, name string) {
	k.note(c, EventProbe, name, s.head, s.addr)
}

// notePatch answers the guest's text_poke_note.
func (k *Kprobes) notePatch(c Caller, patch, step, addr uint64) {
	if step == stepSync {
		k.note(c, EventSync, "", patch, addr)
		return
	}
	k.note(c, EventPatch, stepName(step), patch, addr)
}

// giveSlot frees the out-of-line slot of a site.
func (k *Kprobes) giveSlot(c Caller, s *site) {
	switch {
	case s.slot == 0:
	case k.lingers():
		k.dirty = append(k.dirty, dirtySlot{s.head, s.slot})
	default:
		k.freeSlot(c, dirtySlot{s.head, s.slot})
	}
	s.slot = 0
}

// dirtySlot is a slot and the struct kprobe whose it was.
type dirtySlot struct{ head, at uint64 }

// freeSlot lets others have a slot.
func (k *Kprobes) freeSlot(c Caller, d dirtySlot) {
	k.note(c, EventSlot, "freed", d.head, d.at)
	if k.opt.Mutant != MutantSlotKept {
		k.slots.give(d.at)
	}
}

// lingers reports whether a task may be preempted in a slot, so that more than a grace period is to be waited for. A slot
// that is stepped has interrupts off.
func (k *Kprobes) lingers() bool {
	return k.opt.Preempt && k.opt.Boost && k.arch.Then == Boosted && k.opt.Mutant != MutantFreeSched
}

// giveDetour frees the detour buffer of a site.
func (k *Kprobes) giveDetour(c Caller, s *site) {
	if s.detour != 0 {
		k.note(c, EventDetour, "freed", s.head, s.detour)
	}
	if k.opt.Mutant != MutantDetourKept {
		k.detours.give(s.detour)
	}
	s.region, s.detour = Region{}, 0
}

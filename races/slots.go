package races

import (
	"cmp"
	"fmt"
	"slices"

	"kprobesim/sim"
)

// A slotPool is where slots or detour buffers are: places for code that come and go. A task that was in
// one when it was freed must never execute it again, not even when it holds something else by then.
// Events of package kprobes tell when one is taken or freed.
type slotPool struct {
	name  string
	slots []slot // by address
}

// slot begins a new life each time it is taken, which tells its code of now from what a task has
// entered before.
type slot struct {
	start uint64
	live  bool
	life  int // how often it was taken
	store     // of its code, when it was taken
}

// find returns where a slot that starts at the address is, or would be.
func (p *slotPool) find(addr uint64) (int, bool) {
	return slices.BinarySearchFunc(p.slots, addr, func(x slot, a uint64) int { return cmp.Compare(x.start, a) })
}

// event notes that a slot was taken or freed.
func (p *slotPool) event(e sim.Event, syncs func() []uint64) {
	switch e.Name {
	case "taken":
		p.taken(e.Arg, store{cpu: e.CPU, syncs: syncs()})
	case "freed":
		p.freed(e.Arg)
	}
}

// taken learns of slots as they come up: their size is the kernel's affair.
func (p *slotPool) taken(addr uint64, by store) {
	i, ok := p.find(addr)
	if !ok {
		p.slots = slices.Insert(p.slots, i, slot{start: addr})
	}
	x := &p.slots[i]
	x.live, x.store = true, by
	x.life++
}

// freed keeps the slot, so that an execution afterwards can be named.
func (p *slotPool) freed(addr uint64) {
	if i, ok := p.find(addr); ok {
		p.slots[i].live = false
	}
}

// live reports whether a slot that is in use starts at the address.
func (p *slotPool) live(addr uint64) bool {
	i, ok := p.find(addr)
	return ok && p.slots[i].live
}

// visit is the slot that a task executes.
type visit struct {
	start uint64
	life  int
}

// check judges the execution of an address by a CPU. v is where its task was at its last instruction in
// a slot. A CPU that enters a slot must have synchronized since its code was written, as it may hold the
// one of its last use.
func (p *slotPool) check(cpu int, pc uint64, v *visit, syncs func() []uint64) (Kind, string) {
	i, ok := p.find(pc)
	if !ok {
		i--
	}
	if i < 0 {
		return Stale, fmt.Sprintf("%#x: no %s has ever been there", pc, p.name)
	}
	x := &p.slots[i]
	at := func() string { return fmt.Sprintf("%s at %#x, executed at +%#x,", p.name, x.start, pc-x.start) }
	switch entered := v.start != x.start || v.life != x.life; {
	case !x.live:
		return Stale, at() + " is free"
	case v.start == x.start && v.life != x.life && pc != x.start:
		return Stale, at() + " was freed and taken again while the task was in it"
	case entered && x.missed(cpu, syncs()):
		return Unsynced, at() + " may still hold other code for this CPU, which has not synchronized since it was written"
	}
	v.start, v.life = x.start, x.life
	return "", ""
}

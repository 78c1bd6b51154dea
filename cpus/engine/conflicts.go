package engine

import (
	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// conflicts predicts which loads must not go ahead of older stores whose addresses are not known yet. All others do. One
// that was wrong, because such a store has bytes of it, is a memory-order clear: the core fetches anew from the load on,
// as soon as the store's address is known. From then on the load waits, until so many stores have come without such a
// store for it. Cores count the load's executions and not stores (US patent 7590825 has a counter for each load). That
// would need a look at each load here.
//
// The model writes the table, and a load is looked up when it is executed and finds a store, so the memo has what it
// was told as an input. An entry that others may still read is not replaced. So within a block it does not matter
// whether loads are looked up before those in front of them are timed.
type conflicts struct {
	life  uint64 `state:"-"` // stores
	loads [conflictLoads]conflict
}

// conflict is an entry of the table. The zero value is not in force for any store.
type conflict struct {
	next  uint64 // address behind the load
	until uint64 // number of the store from which on the load goes ahead again
}

// conflictLoads is the size of the table, and conflictShift brings a hash to its place. No size is published.
const (
	conflictLoads = 1 << (64 - conflictShift)
	conflictShift = 56
)

// What a load was told when it found a store, beside what it found. One of a stale entry has the entry last longer.
const (
	waits     = 1 << 6
	stale     = 1 << 7
	foundKind = waits - 1
)

// initConflicts makes the table, when the description prices what it is for.
func (t *Core) initConflicts(cfg *cpus.Config) {
	if life := cfg.BackEnd.ConflictStores; life != 0 && t.pipes != nil {
		t.conflicts = &conflicts{life: uint64(life)}
	}
}

// at is the place of a load.
func (f *conflicts) at(next uint64) *conflict { return &f.loads[next*golden>>conflictShift] }

// told returns whether a load that finds a store of a number waits.
func (f *conflicts) told(next, number uint64) uint64 {
	switch e := f.at(next); {
	case e.next != next || e.until <= number:
		return 0
	case e.until-number <= f.life/2:
		return waits | stale
	}
	return waits
}

// learn has a load wait that conflicts with a store of a number. Loads of one block find stores whose numbers differ by
// less than seen.
func (f *conflicts) learn(next, number, seen uint64) {
	if e := f.at(next); e.next == next || e.until+seen <= number {
		*e = conflict{next, number + f.life}
	}
}

// conflicted returns the time of dispatch, and when a load looks for its data, which would have done so before the address
// of an older store to the same bytes was known.
func (c *Core) conflicted(op *Op, d, at ticks, a *access) (_, _ ticks) {
	f := &c.stores[a.load&(forwards-1)]
	clears := a.match&waits == 0
	if clears {
		d = f.address + c.ev[evClear]
		at = d
		c.step.Stalls.Clear += c.ev[evClear]
		c.pipes.supplied, c.fetched = d-clock.PerCycle, d-clock.PerCycle
	}
	if clears || a.match&stale != 0 {
		c.wrote++
		c.conflicts.learn(c.behind(op), c.placed-(c.placed-uint64(a.load))&(forwards-1), c.seen)
	}
	return d, at
}

// behind is the address behind an instruction of the running block.
func (c *Core) behind(op *Op) uint64 {
	next, ops := c.cur.ends+1, c.cur.ops
	for i := len(ops) - 1; &ops[i] != op; i-- {
		next -= uint64(ops[i].Len)
	}
	return next
}

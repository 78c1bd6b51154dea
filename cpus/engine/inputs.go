package engine

// Kinds of inputs: what the model looks at but its state and the block.
const (
	inLate  = iota // dispatch was held up since the last block
	inExtra        // time of a repeated instruction
	inMiss
	inMissW
	inMatch   // a load found a store
	inNumber  // a store does not follow the one before it
	inNothing // an instruction that stores has stored nothing
)

// give notes an input of instruction i.
func (m *memo) give(kind, i int, v uint64) {
	if m.given < memoInputs {
		m.inputs[m.given] = v<<16 | uint64(i)<<8 | uint64(kind)
	}
	m.given++
}

func (c *Core) gatherDelays() {
	if c.dispatch != c.memo.base {
		c.memo.give(inLate, 0, uint64(c.dispatch-c.memo.base))
	}
	if c.extra != 0 {
		c.memo.give(inExtra, 0, uint64(c.extra))
	}
}

// gather notes the inputs of the running block's accesses up to instruction n. It returns the number of
// the last store.
func (c *Core) gather(n int) uint64 {
	placed, from, records := c.placed, c.settled, c.cur.records
	for k := range records {
		r := &records[k]
		i := int(r.at)
		if uint(i-from) >= uint(n-from) {
			continue
		}
		a := &c.acc[i&(accesses-1)]
		if (a.miss != 0 || a.match != noStore) && (r.inOrder || r.flags&Loads != 0) {
			c.gatherLoad(i, a)
		}
		if a.missW != 0 {
			c.memo.give(inMissW, i, uint64(a.missW))
		}
		if r.flags&Stores != 0 {
			switch {
			case a.store == placed+1:
				placed++
			case a.store > placed:
				c.memo.give(inNumber, i, a.store-c.placed)
				placed = a.store
			default:
				c.memo.give(inNothing, i, 0)
			}
		}
	}
	return placed
}

// gatherLoad notes what a load met. A store that was in the cache when the block began is as good as none.
func (c *Core) gatherLoad(i int, a *access) {
	if a.miss != 0 {
		c.memo.give(inMiss, i, uint64(a.miss))
	}
	if a.match == noStore {
		return
	}
	number := (uint64(a.load) - c.placed) & (forwards - 1)
	if number-1 >= c.sequence-c.placed && -number&(forwards-1) >= uint64(c.memo.live) {
		a.match = noStore
		return
	}
	c.memo.give(inMatch, i, number<<8|uint64(a.match))
}

// useUp forgets what the running block's accesses met up to instruction n, as the model does.
func (c *Core) useUp(n int) {
	records := c.cur.records
	for k := range records {
		r := &records[k]
		i := int(r.at)
		if uint(i-c.settled) >= uint(n-c.settled) {
			continue
		}
		a := &c.acc[i&(accesses-1)]
		switch {
		case r.inOrder:
			*a, c.extra = access{}, 0
		case r.flags&Loads != 0:
			a.miss, a.match = 0, noStore
		}
		if r.flags&Stores != 0 {
			a.missW = 0
		}
	}
}

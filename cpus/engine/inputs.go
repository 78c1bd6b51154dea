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

// inputs bounds those of a block.
const inputs = 512

// give notes an input of instruction i and returns the number of inputs.
func (m *memo) give(given, kind, i int, v uint64) int {
	m.inputs[given&(inputs-1)] = v<<16 | uint64(i)<<8 | uint64(kind)
	return given + 1
}

// gatherDelays notes what held the block up that is not of its own accesses.
func (c *Core) gatherDelays() (given int) {
	if c.dispatch != c.memo.base {
		given = c.memo.give(given, inLate, 0, uint64(c.dispatch-c.memo.base))
	}
	if c.extra != 0 {
		given = c.memo.give(given, inExtra, 0, uint64(c.extra))
	}
	return given
}

// gather notes what the running block's accesses met, from record k up to instruction n. placed is the
// number of the store before them, and it returns that of the last. Here is all of the rules; settle has
// those for plain loads and stores of whole blocks once more.
func (c *Core) gather(k, n int, placed uint64, given int) (uint64, int) {
	for _, r := range c.cur.records[k:] {
		i := int(r.at)
		if uint(i-c.settled) >= uint(n-c.settled) {
			continue
		}
		if r.flags&Loads != 0 || r.inOrder {
			given = c.gatherLoad(i, given)
		}
		if r.flags&Stores != 0 || r.inOrder {
			a := &c.acc[i&(accesses-1)]
			if a.missW != 0 {
				given = c.memo.give(given, inMissW, i, uint64(a.missW))
				a.missW = 0
			}
		}
		if r.flags&Stores != 0 {
			placed, given = c.gatherStore(i, placed+1, given)
		}
		if r.inOrder {
			c.extra = 0
		}
	}
	return placed, given
}

// gatherLoad notes what a load met. A store that was in the cache when the block began is as good as none.
func (c *Core) gatherLoad(i, given int) int {
	m, a := &c.memo, &c.acc[i&(accesses-1)]
	if a.miss != 0 {
		given = m.give(given, inMiss, i, uint64(a.miss))
		a.miss = 0
	}
	if a.match != noStore {
		number := (uint64(a.load) - c.placed) & (forwards - 1)
		if number-1 < c.sequence-c.placed || -number&(forwards-1) < uint64(m.edges[m.here].live) {
			given = m.give(given, inMatch, i, number<<8|uint64(a.match))
		}
		a.match = noStore
	}
	return given
}

// gatherStore notes the number of a store when it is not next.
func (c *Core) gatherStore(i int, next uint64, given int) (placed uint64, _ int) {
	switch store := c.acc[i&(accesses-1)].store; {
	case store == next:
		return next, given
	case store > next:
		return store, c.memo.give(given, inNumber, i, store-c.placed)
	}
	return next - 1, c.memo.give(given, inNothing, i, 0)
}

// giveBack undoes what gathering used up.
func (c *Core) giveBack(given int) {
	for _, v := range c.memo.inputs[:given] {
		a := &c.acc[v>>8&(accesses-1)]
		switch kind, v := v&255, v>>16; kind {
		case inExtra:
			c.extra = ticks(v)
		case inMiss:
			a.miss = ticks(v)
		case inMissW:
			a.missW = ticks(v)
		case inMatch:
			a.match, a.load = uint8(v), uint8((v>>8+c.placed)&(forwards-1))
		}
	}
}

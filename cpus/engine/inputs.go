package engine

// Kinds of inputs: what the model looks at but its state and the block.
const (
	inLate = iota // dispatch was held up since the last block
	inMiss
	inMissW
	inOwn     // the line of a store is not there, on a core with a store queue
	inMatch   // a load found a store
	inNumber  // a store does not follow the one before it
	inNothing // an instruction that stores has stored nothing
	inClass   // an instruction is priced as one of another class
	inPair    // a store lies in the line, or the block, of the store before it
	inColumns // a load reads columns of loads before it, or lies in two lines
)

// inputs bounds the inputs of a block.
const inputs = 512

// Reasons why hitMemo cannot time the running block, in Core.irregular. The bits below are for instructions by number:
// delays of its accesses, or a store that a load found, are in acc.
const (
	insnBits          = 56                   // instructions with bits; others have reasons
	irregularAccess   = 1 << insnBits        // something is in acc
	irregularPart     = irregularAccess << 1 // a part of the block was settled
	irregularDispatch = irregularAccess << 2 // dispatch was held up
	irregularAll      = 1<<64 - 1<<insnBits
)

// insnBit is the bit of instruction i, or some reason when that has none.
func insnBit(i int) uint64 { return 1 << (i & 63) }

// holdUp delays dispatch of what comes next.
func (c *Core) holdUp(d ticks) {
	if c.untimed.on {
		return
	}
	c.dispatch += d
	c.late += d
	c.irregular |= irregularDispatch
}

// delay notes that an access of the running instruction takes longer than one that finds its line, for a
// load (inMiss) or on the way of a store (inMissW).
func (c *Core) delay(kind uint64, d ticks) {
	if c.window && c.memo.pause == 0 {
		c.noteInput(uint64(d)<<16 | uint64(c.idx)<<8 | kind)
		return
	}
	c.irregular |= insnBit(c.idx) | irregularAccess
	c.acc[c.idx&(accesses-1)].add(kind, d)
}

// noteInput notes an input of the running instruction.
func (c *Core) noteInput(what uint64) {
	m := &c.memo
	if given := c.outcome & allInputs / oneInput; given != 0 {
		last := &m.inputs[(given-1)&(inputs-1)]
		switch {
		case uint16(*last) == uint16(what) && what&255 == inMatch:
			*last = uint64(max(int64(*last), int64(what))) // the younger store's
			return
		case uint16(*last) == uint16(what) && what&255 == inColumns:
			*last |= what
			return
		case uint16(*last) == uint16(what):
			*last += what &^ 0xffff
			return
		case given == inputs/2:
			c.applyInputs()
		}
	}
	m.inputs[c.outcome&allInputs/oneInput&(inputs-1)] = what
	c.outcome += oneInput
}

// applyInputs gives the inputs to their instructions. One with several loads waits for the youngest of the
// stores that they found, whatever else came in between: older ones may be left out as being in the cache.
func (c *Core) applyInputs() {
	given := c.outcome & allInputs / oneInput
	at, youngest := -1, int64(0)
	for _, v := range c.memo.inputs[:given] {
		i := int(v >> 8 & (accesses - 1))
		if v&255 == inMatch {
			if i == at && int64(v) < youngest {
				continue
			}
			at, youngest = i, int64(v)
		}
		a := &c.acc[i]
		switch kind, v := v&255, v>>16; kind {
		case inMiss, inMissW, inOwn:
			a.add(kind, ticks(v))
			c.irregular |= insnBit(i) | irregularAccess
		case inMatch:
			a.match, a.load = uint8(v), uint8((v>>8+c.placed)&(forwards-1))
			c.irregular |= insnBit(i) | irregularAccess
		case inPair:
			a.pair = true
			c.irregular |= insnBit(i) | irregularAccess
		case inColumns:
			a.columns |= uint32(v)
			c.irregular |= insnBit(i) | irregularAccess
		}
	}
	c.outcome &^= allInputs
}

// add adds to one of the delays.
func (a *access) add(kind uint64, d ticks) {
	switch kind {
	case inMiss:
		a.miss += d
	case inMissW:
		a.missW += d
	default:
		a.own += d
	}
}

// tidy ends the accesses of the running block, which is settled up to n. What an instruction has met that neither loads nor
// stores by its description, as one that reads a segment's descriptor, is in its price.
func (c *Core) tidy(n int) {
	for i := range n {
		if a := &c.acc[i&(accesses-1)]; n > insnBits || c.irregular&insnBit(i) != 0 {
			*a = access{store: a.store}
		}
	}
	if n != len(c.cur.ops) {
		c.irregular |= irregularPart // and what the running instruction has met so far
		return
	}
	c.irregular = 0
}

// gather notes the inputs of the running block's accesses up to instruction n and the delay of its dispatch, and
// returns the number of the last store.
func (c *Core) gather(n int) (placed uint64) {
	placed = c.placed
	if c.late != 0 {
		c.give(inLate, 0, uint64(c.late))
	}
	for i := range c.cur.records {
		r := &c.cur.records[i]
		i := int(r.at)
		if uint(i-c.settled) >= uint(n-c.settled) {
			continue
		}
		c.gatherLoad(i)
		if r.flags&Stores != 0 || r.inOrder {
			a := &c.acc[i&(accesses-1)]
			if a.missW != 0 {
				c.give(inMissW, i, uint64(a.missW))
				a.missW = 0
			}
			if a.own != 0 {
				c.give(inOwn, i, uint64(a.own))
				a.own = 0
			}
			if a.pair {
				c.give(inPair, i, 0)
				a.pair = false
			}
		}
		if r.flags&Stores != 0 {
			placed = c.gatherStore(i, placed+1)
		}
	}
	if c.repriced != 0 {
		c.give(inClass, n-1, uint64(c.repriced))
	}
	return placed
}

// give notes an input of instruction i.
func (c *Core) give(kind, i int, v uint64) {
	c.memo.inputs[c.outcome&allInputs/oneInput&(inputs-1)] = v<<16 | uint64(i)<<8 | uint64(kind)
	c.outcome += oneInput
}

// gatherLoad notes the miss and the store of a load. A store that was in the cache when the block began is as good as none.
//
// Of the store's number the lowest bits are known, which is the place that the model looks at. Numbers behind the
// last placed store's may have been given to stores that are never timed, such as the stores of an exception's
// frame. When there are as many as places, one of this block may be in any place.
func (c *Core) gatherLoad(i int) {
	a := &c.acc[i&(accesses-1)]
	if a.miss != 0 {
		c.give(inMiss, i, uint64(a.miss))
		a.miss = 0
	}
	if a.match != noStore {
		number, sent := (uint64(a.load)-c.placed)&(forwards-1), c.sequence-c.placed
		if number > sent { // not of this block
			number -= forwards
		}
		if int64(number+c.live) > 0 || sent >= forwards {
			c.give(inMatch, i, number<<8|uint64(a.match))
		}
		a.match = noStore
	}
	if a.columns != 0 {
		c.give(inColumns, i, uint64(a.columns))
		a.columns = 0
	}
}

// gatherStore notes the number of a store when it is not next.
func (c *Core) gatherStore(i int, next uint64) (placed uint64) {
	switch store := c.acc[i&(accesses-1)].store; {
	case store == next:
		return next
	case store > next:
		c.give(inNumber, i, store-c.placed)
		return store
	}
	c.give(inNothing, i, 0)
	return next - 1
}

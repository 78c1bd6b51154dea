package engine

// sentStores are the stores that were executed last. They tell which store a load meets when both are
// executed. When its data arrives is the window model's to say. So addresses do not reach that model: it
// is told of a match by the number of a store.
type sentStores struct {
	sent     [sentUnits]sentStore // by four-byte unit; a store stands in its first and its last unit
	sequence uint64               // number of the last store
	sends    uint64               // instructions of the running block that have stored
	live     uint64               // stores, the last ones placed, that a load may have to wait for
	pairs    bool                 // it matters whether a store lies in the line of the one before it, lastLine
	lastLine uint64
	partly   uint64 // what a load finds whose bytes the store has, but from another one on: inside or blocking
	begun    uint64 // what a load finds whose first bytes alone the store has: longer or blocking
}

// sentStore is one of them. The zero value has no bytes.
type sentStore struct {
	pa, end uint64 // physical addresses of its first byte and behind its last
	number  uint64
}

// forwards is the number of stores that may be on their way to the cache, as far as loads see them. The
// units are more, so that stores to different places seldom share one. A younger store takes the place
// of an older one in a unit, even if it has other bytes there.
const (
	forwards  = 64
	sentUnits = 256
)

// What a load finds among the stores before it.
const (
	noStore   = iota
	forwarded // one that has its bytes and hands them over
	blocking  // one that has some of its bytes: it must be in the cache first
	inside    // one that has its bytes behind others and hands them over
	longer    // one that begins where it does, and has no more than its first bytes
)

// storesMatter reports whether there is any store that a load may have to wait for.
func (c *Core) storesMatter() bool { return c.sequence-c.placed+c.live != 0 }

// notePair notes that a store of n bytes lies in the line of the store before it. One of two lines lies in none.
func (c *Core) notePair(pa, n uint64) {
	line := pa >> (c.dShift & 63)
	switch {
	case pa&c.lineMask+n > c.lineMask+1:
		line = ^uint64(0)
	case line == c.lastLine:
		c.noteInput(uint64(c.idx)<<8 | inPair)
	}
	c.lastLine = line
}

// mayFind reports whether a load of n bytes may have to wait for a store: findStore tells. A load of a unit at most
// that is aligned lies in one.
func (c *Core) mayFind(pa, n uint64) bool {
	number := c.sent[pa>>2&(sentUnits-1)].number
	if n > 4 || pa&(n-1) != 0 {
		number = max(number, c.sent[(pa+n-1)>>2&(sentUnits-1)].number)
	}
	return int64(number-c.placed+c.live) > 0
}

// findStore looks for the store that a load of n bytes has to wait for: the youngest one with bytes in the
// load's first or last unit. One that was in the cache when the block began is as good as none. A store forwards
// when the load begins where it does and reads no more than it wrote, or on some cores when it reads any of the bytes that it
// wrote. docs/timing.md names the manuals that say so.
func (c *Core) findStore(pa, n uint64) {
	end := pa + n
	s, t := &c.sent[pa>>2&(sentUnits-1)], &c.sent[(end-1)>>2&(sentUnits-1)]
	if t.number > s.number {
		s = t
	}
	number := s.number - c.placed
	if int64(number+c.live) <= 0 || s.end <= pa || end <= s.pa || c.sequence-s.number >= forwards {
		return
	}
	what := number<<24 | uint64(c.idx)<<8 | forwarded<<16 | inMatch
	switch {
	case s.pa == pa && end <= s.end:
	case s.pa < pa && end <= s.end:
		what ^= (forwarded ^ c.partly) << 16
	case s.pa == pa:
		what ^= (forwarded ^ c.begun) << 16
	default:
		what ^= (forwarded ^ blocking) << 16
	}
	if c.outcome >= oneInput {
		c.noteInput(what)
		return
	}
	c.outcome += oneInput
	c.memo.inputs[0] = what
}

package engine

// sentStores are the stores that were executed last. They tell which store a load meets when both are
// executed. When its data arrives is the window model's to say. So addresses do not reach that model: it
// is told of a match by the number of a store.
type sentStores struct {
	sent     [sentUnits]sentStore // by four-byte unit; a store stands in its first and its last unit
	sequence uint64               // number of the last store
	sends    uint64               // instructions of the running block that have stored
	live     uint64               // stores, the last ones placed, that a load may have to wait for
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
)

// noteStore notes a store of n bytes for younger loads.
func (c *Core) noteStore(pa, n uint64) {
	c.sequence++
	s := sentStore{pa, pa + n, c.sequence}
	c.sent[pa>>2&(sentUnits-1)] = s
	c.sent[(pa+n-1)>>2&(sentUnits-1)] = s
	c.acc[c.idx&(accesses-1)].store = c.sequence
	if bit := uint64(1) << (c.idx & 63); c.sends&bit == 0 {
		c.sends |= bit
	} else {
		c.odd |= oddAccess
	}
}

// findStore looks for the store that a load of n bytes has to wait for: the youngest one with bytes in the
// load's first or last unit. One that was in the cache when the block began is as good as none. It forwards when the load begins where the store does and reads no more than
// the store wrote. docs/timing.md names the manuals that say so.
func (c *Core) findStore(pa, n uint64) {
	s := &c.sent[pa>>2&(sentUnits-1)]
	if t := &c.sent[(pa+n-1)>>2&(sentUnits-1)]; t.number > s.number {
		s = t
	}
	number := s.number - c.placed
	if int64(number+c.live) <= 0 || s.end <= pa || pa+n <= s.pa || c.sequence-s.number >= forwards {
		return
	}
	how := uint64(blocking)
	if s.pa == pa && pa+n <= s.end {
		how = forwarded
	}
	what := number&(forwards-1)<<24 | how<<16 | uint64(c.idx)<<8 | inMatch
	if c.course < oneInput {
		c.course += oneInput
		c.memo.inputs[0] = what
		return
	}
	c.met(what)
}

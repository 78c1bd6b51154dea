package engine

import (
	"math/bits"

	"kprobesim/internal/clock"
)

// sentStores are the stores that were executed last. They tell which store a load meets when both are
// executed. When its data arrives is the window model's to say. So addresses do not reach that model: it
// is told of a match by the number of a store.
type sentStores struct {
	sent       [sentUnits]sentStore // by four-byte unit; a store stands in its first and its last unit
	sequence   uint64               // number of the last store
	sends      uint64               // instructions of the running block that have stored
	live       uint64               // stores, the last ones placed, that a load may have to wait for
	seen       uint64               // the most that live may be: fewStores or forwards
	pairs      bool                 // it matters whether a store lies in the block of the one before it, lastBlock
	lastBlock  uint64
	blockShift uint // logarithm of a block's bytes
	wholeWords bool // parts of a word are not renamed
	storeBlock
	partly uint64 // what a load finds whose bytes the store has, but from another one on: inside or blocking
	begun  uint64 // what a load finds whose first bytes alone the store has: longer or blocking
}

// sentStore is one of them. The zero value has no bytes.
type sentStore struct {
	pa, end uint64 // physical addresses of its first byte and behind its last
	number  uint64
}

// forwards is the number of stores that the model keeps, and fewStores how many of them may be on their way to the cache as far as loads see
// them, unless a store queue has more entries. The units are more, so that stores to different places seldom share one. A younger store
// takes the place of an older one in a unit, even if it has other bytes there.
const (
	forwards  = 128
	fewStores = 64
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

// storeBlock is the last buffer that stores of one block share, for a core with words.
type storeBlock struct {
	words   bool
	bytes   uint64               // bytes that it has, a bit each, of stores of parts of words and behind them
	awaited uint64               // bytes of words that were on their way to the cache when it got a part of them
	before  [aheadBuffers]uint64 // numbers of the first stores of this buffer and of the ones before, the last one first
}

// aheadBuffers is one more than the buffers before its own in which a read looks for its word.
const aheadBuffers = 5

// checkedBytes are the bytes of a word with check bits, and checkedBits a bit for each.
const (
	checkedBytes = 4
	checkedBits  = 1<<checkedBytes - 1
)

// noteWords notes the bytes of a store, of which sent knows nothing yet. One that begins another buffer waits for the reading that
// the last buffer did in its turn.
func (c *Core) noteWords(pa, n uint64, begins bool) {
	b, number := &c.storeBlock, c.sequence
	if begins {
		if b.reads() {
			c.delay(inMissW, c.l1Lat-clock.PerCycle)
			c.step.Stalls.DCache += c.l1Lat - clock.PerCycle
			for i := range b.before[1:] { // all before it got to the cache meanwhile
				b.before[i+1] = b.before[0]
			}
		}
		b.bytes, b.awaited = 0, 0
		copy(b.before[1:], b.before[:])
		b.before[0] = number
	}
	block := uint64(1)<<(c.blockShift&63) - 1
	if (pa|n)&(checkedBytes-1) == 0 && b.awaited == 0 || pa&block+n > block+1 {
		return
	}
	b.bytes |= (1<<(n&63) - 1) << (pa & block & 63)
	for at := pa &^ (checkedBytes - 1); at < pa+n; at += checkedBytes {
		s := &c.sent[at>>2&(sentUnits-1)]
		if s.pa < at+checkedBytes && s.end > at && s.number >= b.before[aheadBuffers-1] && s.number < b.before[0] {
			b.awaited |= checkedBits << (at & block & 63)
		}
	}
}

// reads reports whether the buffer has only a part of a word that was on its way to the cache.
func (b *storeBlock) reads() bool {
	for w := b.awaited; w != 0; {
		one := uint64(checkedBits) << (bits.TrailingZeros64(w) & 63)
		if b.bytes&one != one {
			return true
		}
		w &^= one
	}
	return false
}

// notePair notes that a store of n bytes lies in the block of the store before it. One of two blocks lies in none, and takes a cycle
// more.
func (c *Core) notePair(pa, n uint64) {
	block, last := pa>>(c.blockShift&63), (pa+n-1)>>(c.blockShift&63)
	switch {
	case block == last && block == c.lastBlock:
		c.noteInput(uint64(c.idx)<<8 | inPair)
	case block != last:
		if pa&c.lineMask+n <= c.lineMask+1 { // else splitStore has it
			c.delay(inMissW, clock.PerCycle)
			c.step.Stalls.Split += clock.PerCycle
		}
		block = ^uint64(0)
	}
	if c.words {
		c.noteWords(pa, n, block != c.lastBlock || block == ^uint64(0))
	}
	c.lastBlock = block
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
	if int64(number+c.live) <= 0 || s.end <= pa || end <= s.pa || c.sequence-s.number >= c.seen {
		return
	}
	what := number<<24 | uint64(c.idx)<<8 | forwarded<<16 | inMatch
	switch {
	case s.pa == pa && end <= s.end:
		if c.wholeWords && n < checkedBytes { // parts of a word are handed over, but not renamed
			what ^= (forwarded ^ inside) << 16
		}
	case s.pa < pa && end <= s.end:
		what ^= (forwarded ^ c.partly) << 16
	case s.pa == pa:
		what ^= (forwarded ^ c.begun) << 16
	default:
		what ^= (forwarded ^ blocking) << 16
	}
	if c.conflicts != nil {
		what |= c.conflicts.told(c.R[PC], s.number) << 16
	}
	if c.outcome >= oneInput {
		c.noteInput(what)
		return
	}
	c.outcome += oneInput
	c.memo.inputs[0] = what
}

package engine

import (
	"math/big"

	"kprobesim/cpus"
)

// tagged is the part of a TAGE predictor beside the counters by address (A. Seznec and P. Michaud, "A case for (partially)
// TAgged GEometric history length branch prediction", JILP 8, 2006). Each table is indexed by the address and by more of
// the history than the one before it, and the one with the longest history that knows a branch predicts it. The path
// history of the paper is left out.
type tagged struct {
	taggedShape `state:"-"`

	entries []taggedEntry // of all tables, the shortest history first
	folds   []folds
	past    [pastBits]uint8 // directions
	at      uint32          // of the last one
	newer   int8            // whether the next best prediction is better than that of a new entry: from 8 on
	updates uint32
	random  uint32
}

// taggedShape is its description.
type taggedShape struct {
	lengths []uint32    // of the history, by table
	leaves  [][3]uint32 // where its oldest bit leaves the folds, by table: its length modulo their widths
	bits    uint
	tagMask uint32
	tagBits uint
}

// taggedEntry is an entry of a table.
type taggedEntry struct {
	tag     uint16
	counter int8  // -4 to 3: taken from 0 on
	useful  uint8 // 0 to 3
}

// folds are a table's history, exclusive-ored in pieces as long as an index and as a tag.
type folds struct{ index, tag, other uint32 }

const (
	pastBits  = 1 << 10
	agePeriod = 1 << 18 // branches until usefulness is halved; the paper clears one of its two bits then
	newerMost = 15
)

// newTagged makes the tables, when the description has any.
func newTagged(t cpus.TaggedTables) *tagged {
	if t.Tables == 0 {
		return nil
	}
	g := &tagged{
		taggedShape: taggedShape{bits: uint(t.Bits), tagMask: 1<<t.TagBits - 1, tagBits: uint(t.TagBits)},
		entries:     make([]taggedEntry, t.Tables<<t.Bits), folds: make([]folds, t.Tables), newer: 8, random: 1,
	}
	for i := range t.Tables {
		n := geometric(t, i)
		g.lengths = append(g.lengths, n)
		g.leaves = append(g.leaves, [...]uint32{n % uint32(g.bits), n % uint32(g.tagBits), n % uint32(g.tagBits-1)})
	}
	return g
}

// geometric is the history length of table i: of a geometric series from the shortest to the longest. It is found in
// integers, which are the same on every host.
func geometric(t cpus.TaggedTables, i int) uint32 {
	n := int64(t.Tables - 1)
	if n == 0 {
		return uint32(t.Longest)
	}
	power := func(x, n int64) *big.Int { return new(big.Int).Exp(big.NewInt(x), big.NewInt(n), nil) }
	want := new(big.Int).Mul(power(int64(t.Shortest), n-int64(i)), power(int64(t.Longest), int64(i)))
	length := int64(t.Shortest)
	for power(length+1, n).Cmp(want) <= 0 {
		length++
	}
	return uint32(length)
}

// sound reports whether places are inside of the tables.
func (g *tagged) sound() bool {
	return g == nil || len(g.folds) == len(g.lengths) && len(g.entries) == len(g.lengths)<<g.bits
}

// entry is the one of table i that a branch may have, and tag what it has then, which is never zero.
func (g *tagged) entry(i int, pc uint32) (e *taggedEntry, tag uint16) {
	f := &g.folds[i]
	at := (pc ^ pc>>g.bits ^ pc>>(uint(i)+1) ^ f.index) & (1<<g.bits - 1)
	return &g.entries[uint32(i)<<g.bits|at], uint16((pc^f.tag^f.other<<1)&g.tagMask) + 1
}

// find returns the table below one that has the longest history of those that know a branch, and its entry; or -1 and nil.
func (g *tagged) find(pc uint32, below int) (int, *taggedEntry) {
	for i := below - 1; i >= 0; i-- {
		if e, tag := g.entry(i, pc); e.tag == tag {
			return i, e
		}
	}
	return -1, nil
}

// train predicts a branch, learns how it goes and reports whether the prediction was wrong. Base is its counter by address.
func (g *tagged) train(pc uint32, base *uint8, taken bool) (wrong bool) {
	guess := *base >= 2
	other, final := guess, guess
	provider, e := g.find(pc, len(g.lengths))
	if e == nil {
		learnBase(base, taken)
	} else {
		if _, next := g.find(pc, provider); next != nil {
			other = next.counter >= 0
		}
		guess = e.counter >= 0
		if final = guess; e.useful == 0 && (e.counter == 0 || e.counter == -1) { // it is new
			if g.newer >= 8 {
				final = other
			}
			if guess != other {
				g.newer = step(g.newer, other == taken, 0, newerMost)
			}
		}
		if guess != other {
			e.useful = uint8(step(int8(e.useful), guess == taken, 0, 3))
		}
		e.counter = step(e.counter, taken, -4, 3)
	}
	if guess != taken {
		g.allocate(provider+1, pc, taken)
	}
	if g.updates++; g.updates == agePeriod {
		g.updates = 0
		for i := range g.entries {
			g.entries[i].useful >>= 1
		}
	}
	g.push(taken)
	return final != taken
}

// step is a counter one up or down, between two bounds.
func step(n int8, up bool, least, most int8) int8 {
	if up {
		return min(n+1, most)
	}
	return max(n-1, least)
}

func learnBase(base *uint8, taken bool) { *base = uint8(step(int8(*base), taken, 0, 3)) }

// allocate gives a branch an entry in one of the tables from one on, the first two times as likely as the next.
func (g *tagged) allocate(from int, pc uint32, taken bool) {
	g.random = g.random>>1 ^ -(g.random&1)&0xd0000001 // a shift register of maximal length
	skip := g.random%3 == 0
	var free *taggedEntry
	var tag uint16
	for i := from; i < len(g.lengths); i++ {
		e, t := g.entry(i, pc)
		if e.useful != 0 {
			continue
		}
		had := free != nil
		if free, tag = e, t; had || !skip {
			break
		}
	}
	if free == nil {
		for i := from; i < len(g.lengths); i++ {
			e, _ := g.entry(i, pc)
			e.useful--
		}
		return
	}
	*free = taggedEntry{tag: tag}
	if !taken {
		free.counter = -1
	}
}

// push shifts a direction into the history, and folds it into what tables have of it.
func (g *tagged) push(taken bool) {
	in := uint32(0)
	if taken {
		in = 1
	}
	g.at++
	g.past[g.at&(pastBits-1)] = uint8(in)
	for i, n := range g.lengths {
		f, out := &g.folds[i], uint32(g.past[(g.at-n)&(pastBits-1)])
		at := &g.leaves[i]
		f.index = fold(f.index, in, out<<at[0], g.bits)
		f.tag = fold(f.tag, in, out<<at[1], g.tagBits)
		f.other = fold(f.other, in, out<<at[2], g.tagBits-1)
	}
}

// fold shifts a bit into history that is folded to a width, and the oldest one out.
func fold(v, in, out uint32, width uint) uint32 {
	v = v<<1 | in
	v ^= out
	v ^= v >> (width & 31)
	return v & (1<<(width&31) - 1)
}

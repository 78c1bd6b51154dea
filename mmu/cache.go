package mmu

import (
	"errors"
	"fmt"
	"math/bits"

	"kprobesim/internal/clock"
)

// CacheConfig describes one cache level.
type CacheConfig struct {
	Size    int         // bytes
	Ways    int         // associativity, at most 32
	Line    int         // bytes in a line, a power of two
	Latency clock.Ticks // load-to-use latency of a hit
	// Incoherent says of an instruction cache that stores do not reach its lines: software invalidates them.
	Incoherent bool
	// WriteThrough says of a data cache that every store goes on to the next level at once. It matters to
	// fetches by incoherent instruction caches only; the traffic is left out.
	WriteThrough bool
	// WriteAround says of a data cache that a store which misses brings no line in.
	WriteAround bool
}

// Check reports what is wrong with a description, or nil.
func (cc CacheConfig) Check() error {
	switch {
	case cc.Line < 16 || cc.Line > 1024 || bits.OnesCount(uint(cc.Line)) != 1:
		return fmt.Errorf("line of %d bytes: it must be a power of two from 16 to 1024", cc.Line)
	case cc.Ways < 1 || cc.Ways > 32:
		return fmt.Errorf("%d ways: 1 to 32 are modelled", cc.Ways)
	case cc.WriteAround && !cc.WriteThrough:
		return errors.New("write_around without write_through: a store that leaves the cache alone goes on to the next level")
	case cc.Size <= 0 || cc.Size > 1<<30 || cc.Size%(cc.Line*cc.Ways) != 0:
		return fmt.Errorf("size %d does not divide into %d ways of %d-byte lines", cc.Size, cc.Ways, cc.Line)
	}
	return nil
}

// CheckFirst is Check for a first-level cache, whose sets are found by bits of the address.
func (cc CacheConfig) CheckFirst() error {
	if err := cc.Check(); err != nil {
		return err
	}
	if n := cc.Size / (cc.Line * cc.Ways); bits.OnesCount(uint(n)) != 1 {
		return fmt.Errorf("%d sets: the number of sets of a first-level cache must be a power of two", n)
	}
	return nil
}

// Cache is the tag array of one set-associative cache. Replacement is bit-PLRU: a
// way's bit is set when it is used, the victim is the first way whose bit is clear, and when all
// would be set the others are cleared. A hit on the way used last in its set changes nothing, so
// MRU may be asked first without changing any later outcome.
//
// A cache of several slices has sets whose number is no power of two. Which slice has a line is seldom
// published, so lines go to the sets in turn.
type Cache struct {
	Recent []uint32    // per set: line+1 of the way used last; zero matches no line. A cache behind others has none.
	Mask   uint32      // set index mask, where the number of sets is a power of two
	tags   []uint32    // line+1, ways of a set side by side
	where  []*wayChunk // by line: the way that holds it plus one, or zero
	used   []uint32    // per set: recently-used bits
	ways   uint32
	full   uint32
	last   uint32 // mask of the bit that stays when all would be set: none does where there is one way
	sets   uint32 // zero when the number is a power of two
	part   uint64 // 2^64 / sets, rounded up: a multiplication takes the host less time than a division
	shift  uint
}

// wayChunk covers as many lines as 256 KiB of RAM have; chunks are made when they are first used. A hit looks at one byte
// of it and at the bits of the set, and not at tags: those of a large cache are larger than the caches of the host.
type wayChunk [wayLines]uint8

const wayLines = 4096

// NewCache returns an empty cache; the description must have passed Check.
func NewCache(cc CacheConfig) *Cache {
	c := NewCacheBehind(cc)
	c.Recent = make([]uint32, len(c.used))
	return c
}

// NewCacheBehind is NewCache of one that is asked only when another one has not what is looked for.
func NewCacheBehind(cc CacheConfig) *Cache {
	sets := cc.Size / (cc.Line * cc.Ways)
	c := &Cache{
		Mask: uint32(sets - 1), tags: make([]uint32, sets*cc.Ways), used: make([]uint32, sets),
		ways: uint32(cc.Ways), full: uint32(1<<cc.Ways - 1), shift: uint(bits.TrailingZeros(uint(cc.Line))),
	}
	if bits.OnesCount(uint(sets)) != 1 {
		c.sets = uint32(sets)
		c.part = ^uint64(0)/uint64(sets) + 1
	}
	if cc.Ways > 1 {
		c.last = c.full
	}
	return c
}

// set is the set of a line.
func (c *Cache) set(line uint32) uint32 {
	if c.sets != 0 {
		return c.turn(line)
	}
	return line & c.Mask
}

// turn is line modulo sets. The low half of the first product is what follows the point in line / sets, exactly
// enough for numbers of 32 bits (Lemire, Kaser, Kurz, Faster Remainder by Direct Computation, 2019).
func (c *Cache) turn(line uint32) uint32 {
	hi, _ := bits.Mul64(c.part*uint64(line), uint64(c.sets))
	return uint32(hi)
}

// Shift is the logarithm of the line size.
func (c *Cache) Shift() uint { return c.shift }

// Touch looks line (a physical address shifted right by Shift) up, brings it in on a miss, and
// reports whether it was there.
func (c *Cache) Touch(line uint32) bool {
	hit, _ := c.Bring(line)
	return hit
}

// Bring is Touch that also tells which line went to make room: that line plus one, or zero.
func (c *Cache) Bring(line uint32) (hit bool, gone uint32) {
	var chunk *wayChunk
	if i := uint(line / wayLines); i < uint(len(c.where)) {
		chunk = c.where[i]
	}
	if chunk == nil { // first, so that little lives across the call
		chunk = c.grow(line / wayLines)
	}
	set, tag := line&c.Mask, line+1
	if c.sets != 0 {
		set = c.turn(line)
	}
	if uint(set) < uint(len(c.Recent)) {
		c.Recent[set] = tag
	}
	way, used := &chunk[line%wayLines], &c.used[set]
	if *way != 0 {
		*used = c.use(*used, uint32(*way-1))
		return true, 0
	}
	w := uint32(bits.TrailingZeros32(^*used))
	*used, *way = c.use(*used, w), uint8(w+1)
	slot := &c.tags[set*c.ways+w]
	gone = *slot
	*slot = tag
	if gone != 0 {
		c.where[(gone-1)/wayLines][(gone-1)%wayLines] = 0
	}
	return false, gone
}

// Use looks a line up as Touch does, and changes nothing when it is not there.
func (c *Cache) Use(line uint32) bool {
	way := c.way(line)
	if way == 0 {
		return false
	}
	set := c.set(line)
	if uint(set) < uint(len(c.Recent)) {
		c.Recent[set] = line + 1
	}
	c.used[set] = c.use(c.used[set], uint32(way-1))
	return true
}

// Has reports whether a line is there.
func (c *Cache) Has(line uint32) bool { return c.way(line) != 0 }

// way returns the way that holds a line plus one, or zero.
func (c *Cache) way(line uint32) uint8 {
	if i := uint(line / wayLines); i < uint(len(c.where)) && c.where[i] != nil {
		return c.where[i][line%wayLines]
	}
	return 0
}

// grow makes chunk i. It stays apart so that little of Bring is for it.
//
//go:noinline
func (c *Cache) grow(i uint32) *wayChunk {
	for int(i) >= len(c.where) {
		c.where = append(c.where, nil)
	}
	c.where[i] = new(wayChunk)
	return c.where[i]
}

// use returns the bits of a set when a way has been used.
func (c *Cache) use(used, way uint32) uint32 {
	bit := uint32(1) << (way & 31)
	if used |= bit; used != c.full {
		return used
	}
	return bit & c.last
}

// Drop forgets a line.
func (c *Cache) Drop(line uint32) {
	set := c.set(line)
	if uint(set) < uint(len(c.Recent)) && c.Recent[set] == line+1 {
		c.Recent[set] = 0
	}
	if way := c.way(line); way != 0 {
		w := uint32(way - 1)
		c.tags[set*c.ways+w] = 0
		c.used[set] &^= 1 << w
		c.where[line/wayLines][line%wayLines] = 0
	}
}

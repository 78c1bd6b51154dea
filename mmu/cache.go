package mmu

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"unsafe"

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
	// Inclusive says of a third level that the others lose what it loses.
	Inclusive bool
	// Exclusive says of a third level that it has what the second has lost, and gives back what the second brings in again.
	Exclusive bool
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
	Recent []uint32 // per set: line+1 of the way used last; zero matches no line. A cache behind others has none.
	tags   []uint32 // line+1, ways of a set side by side
	idle   []uint32 // per set: the ways whose bit is clear
	places *places  `state:"-"` // the ways by line: they follow from tags
	shape  `state:"-"`
}

// shape holds what does not change.
type shape struct {
	Mask   uint32 // set index mask, where the number of sets is a power of two
	ways   uint32
	sets   uint32
	others uint32 // a bit for each way, or zero where there is one: it is the victim each time
	part   uint64 // 2^64 / sets, rounded up: a multiplication takes the host less time than a division
	column uint   // where that of the cache in places begins
	shift  uint
}

// NewCache returns an empty cache; the description must have passed Check.
func NewCache(cc CacheConfig) *Cache {
	c := NewCacheBehind(cc)
	c.Recent = make([]uint32, len(c.idle))
	return c
}

// NewCacheBehind is NewCache of one that is asked only when another one has not what is looked for.
func NewCacheBehind(cc CacheConfig) *Cache {
	sets := cc.Size / (cc.Line * cc.Ways)
	c := &Cache{
		tags: make([]uint32, sets*cc.Ways), idle: make([]uint32, sets), places: new(places),
		shape: shape{
			Mask: uint32(sets - 1), ways: uint32(cc.Ways), sets: uint32(sets), part: ^uint64(0)/uint64(sets) + 1,
			shift: uint(bits.TrailingZeros(uint(cc.Line))),
		},
	}
	full := uint32(1<<cc.Ways - 1)
	if cc.Ways > 1 {
		c.others = full
	}
	for i := range c.idle {
		c.idle[i] = full
	}
	return c
}

// set is the set of a line: line modulo sets. The low half of the first product follows the point in
// line / sets, exactly enough for numbers of 32 bits (Lemire, Kaser, Kurz, Faster Remainder by Direct Computation, 2019).
func (c *Cache) set(line uint32) uint {
	hi, _ := bits.Mul64(c.part*uint64(line), uint64(c.sets))
	return uint(hi)
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
	tag, set := line+1, c.set(line)
	if uint(tag) >= uint(len(c.places.by)) {
		c.places.grow(tag)
	}
	at := c.places.at(tag)
	c.note(set, tag)
	if way := *at >> (c.column & 31) & column; way != 0 {
		c.use(set, way)
		return true, 0
	}
	way := c.victim(set)
	*at |= place(way+1) << (c.column & 31)
	gone = c.fill(set, way, tag)
	*c.places.at(gone) &^= column << (c.column & 31)
	return false, gone
}

// take brings a line (plus one) in, which is not there and has a place; zero is none. An empty way goes before those with lines. It returns
// the line plus one that went to make room, or zero.
func (c *Cache) take(tag uint32) (gone uint32) {
	if tag == 0 {
		return 0
	}
	set := c.set(tag - 1)
	way := uint(slices.Index(c.tags[set*uint(c.ways):(set+1)*uint(c.ways)], 0))
	if way < uint(c.ways) {
		c.use(set, place(way+1))
	} else {
		way = c.victim(set)
	}
	*c.places.at(tag) |= place(way+1) << (c.column & 31)
	gone = c.fill(set, way, tag)
	*c.places.at(gone) &^= column << (c.column & 31)
	return gone
}

// Use looks a line up as Touch does, and changes nothing when it is not there.
func (c *Cache) Use(line uint32) bool {
	way := c.way(line)
	if way == 0 {
		return false
	}
	set := c.set(line)
	c.note(set, line+1)
	c.use(set, way)
	return true
}

// Has reports whether a line is there.
func (c *Cache) Has(line uint32) bool { return c.way(line) != 0 }

// way returns the way that holds a line plus one, or zero.
func (c *Cache) way(line uint32) place {
	if tag := line + 1; uint(tag) < uint(len(c.places.by)) {
		return c.places.by[tag] >> (c.column & 31) & column
	}
	return 0
}

// note remembers the tag of a set that is used last.
func (c *Cache) note(set uint, tag uint32) {
	if set < uint(len(c.Recent)) {
		c.Recent[set] = tag
	}
}

// use notes that a way of a set, counted from one, has been used.
func (c *Cache) use(set uint, way place) {
	idle := element(c.idle, set)
	*idle = c.without(*idle, *idle&^(1<<((way-1)&31)))
}

// victim is the way of a set that is to be filled. It has been used then.
func (c *Cache) victim(set uint) (way uint) {
	idle := element(c.idle, set)
	way = uint(bits.TrailingZeros32(*idle))
	*idle = c.without(*idle, *idle&(*idle-1))
	return way
}

// without returns the idle ways of a set when one more has been used: left, unless none is. Then only the last one was
// idle. The host could not guess which it is, so this is to be no branch.
func (c *Cache) without(idle, left uint32) uint32 {
	others := idle ^ c.others
	if left == 0 {
		left = others
	}
	return left
}

// fill gives a way of a set a tag, and returns the one that it had.
func (c *Cache) fill(set, way uint, tag uint32) (gone uint32) {
	at := element(c.tags, set*uint(c.ways)+way)
	gone, *at = *at, tag
	return gone
}

// element is one of a slice which is known to have it. It is for sets and ways, whose number a description gives.
func element(s []uint32, i uint) *uint32 {
	return (*uint32)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), uintptr(i)*unsafe.Sizeof(s[0])))
}

// Drop forgets a line.
func (c *Cache) Drop(line uint32) {
	set := c.set(line)
	if set < uint(len(c.Recent)) && c.Recent[set] == line+1 {
		c.Recent[set] = 0
	}
	if way := c.way(line); way != 0 {
		w := uint(way - 1)
		c.tags[set*uint(c.ways)+w] = 0
		c.idle[set] |= 1 << w
		*c.places.at(line + 1) &^= column << (c.column & 31)
	}
}

// replace has the places of the cache's lines say what its tags say. It panics when no such cache can have these, of so
// many lines that there are.
func (c *Cache) replace(lines int) {
	if len(c.tags) != int(c.sets*c.ways) || len(c.idle) != int(c.sets) {
		panic("mmu: a cache with more or fewer lines than it has room for")
	}
	for _, idle := range c.idle {
		if idle == 0 || idle>>(c.ways-1)>>1 != 0 {
			panic("mmu: a cache of which a set has no victim")
		}
	}
	for i, tag := range c.tags {
		if tag == 0 {
			continue
		}
		if int(tag) > lines || c.set(tag-1) != uint(i)/uint(c.ways) || c.Has(tag-1) {
			panic("mmu: a cache with a line in the wrong place")
		}
		if uint(tag) >= uint(len(c.places.by)) {
			c.places.grow(tag)
		}
		*c.places.at(tag) |= place(uint32(i)%c.ways+1) << (c.column & 31)
	}
}

// Layout says where a first-level cache keeps what Use looks at, for host code that does the same. It holds until the
// cache is read from a snapshot.
type Layout struct {
	Places uintptr // of the slice of places, of four bytes each, by tag: a line plus one
	Recent uintptr // the elements, by set
	Idle   uintptr // likewise
	Column uint    // the shift to the bits of the cache in a place: the way that has the line plus one, or zero
	Mask   uint32
	Others uint32 // as in Cache
}

// PlaceColumn has the bits of a cache in a place.
const PlaceColumn = column

// Layout returns the layout of a first-level cache.
func (c *Cache) Layout() Layout {
	return Layout{
		Places: uintptr(unsafe.Pointer(&c.places.by)), Recent: uintptr(unsafe.Pointer(unsafe.SliceData(c.Recent))),
		Idle:   uintptr(unsafe.Pointer(unsafe.SliceData(c.idle))),
		Column: c.column, Mask: c.Mask, Others: c.others,
	}
}

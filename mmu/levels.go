package mmu

import "unsafe"

// places say of each line which way of up to four caches has it. So a hit looks at one word of them and at the bits of
// the set, and not at tags: the tags of a large cache are larger than the caches of the host. Lines go by their tags, so
// that an empty tag has a place too, which says nothing.
type places struct {
	by     []place
	zeroed func(size int) []byte // makes memory; nil takes it from the heap
	lines  int                   // of the RAM
}

// place is a column of bits for each cache: the way that has the line plus one, or zero.
type place uint32

const (
	columnBits = 8
	column     = 1<<columnBits - 1
)

// at is the place of a tag that is or was in a cache, so that it has one.
func (p *places) at(tag uint32) *place {
	return (*place)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(p.by)), uintptr(tag)*unsafe.Sizeof(place(0))))
}

// grow makes places for all lines of the RAM, and beyond them up to that of a tag and further. A machine has some megabytes of
// them and uses few, so they come from where the RAM does, which the host gives when it is first used.
func (p *places) grow(tag uint32) {
	n := max(int(tag)/minPlaces*minPlaces+minPlaces, 2*len(p.by), p.lines+1)
	var by []place
	if p.zeroed == nil {
		by = make([]place, n)
	} else {
		by = unsafe.Slice((*place)(unsafe.Pointer(unsafe.SliceData(p.zeroed(n*int(unsafe.Sizeof(place(0))))))), n)
	}
	copy(by, p.by)
	p.by = by
}

const minPlaces = 4096

// Levels are the caches of a CPU. If their lines have one size, they share a table of places, so that a load that
// misses looks there once.
type Levels struct {
	l1d, l2, l3 *Cache // l3 may be nil
	// Gone are the lines plus one, or zero, that went to make room for the last load in each level that it missed. They
	// are not noted where lines differ in size.
	Gone   [3]uint32 `state:"-"`
	places places    // shared; it stays empty where lines differ in size
	shift  uint
	even   bool // lines have one size
	// Inclusive has the other levels lose what the third loses.
	Inclusive bool
	// Exclusive has the third level take the lines that the second loses, and no others.
	Exclusive bool
	all       []*Cache
}

// Where the columns of a place begin.
const (
	columnL1D = iota * columnBits
	columnL2
	columnL1I
	columnL3
)

// NewLevels joins caches that are empty, of a CPU with a memory. The third level may be nil.
func NewLevels(l1i, l1d, l2, l3 *Cache, mem *Memory) *Levels {
	l := &Levels{l1d: l1d, l2: l2, l3: l3, shift: l1d.shift, even: true, all: []*Cache{l1d, l2, l1i}}
	if l3 != nil {
		l.all = append(l.all, l3)
	}
	for _, c := range l.all {
		l.even = l.even && c.shift == l.shift
	}
	for i, c := range l.all {
		if l.even {
			c.places, c.column = &l.places, uint(i)*columnBits
		}
		c.places.zeroed, c.places.lines = mem.zeroed, mem.Size()>>c.shift
	}
	return l
}

// Renew makes anew what follows from tags that were read from elsewhere. It panics for what no caches can have beside
// so many bytes of RAM.
func (l *Levels) Renew(ram int) {
	if len(l.l1d.Recent) != int(l.l1d.sets) {
		panic("mmu: a cache that does not know what was used last")
	}
	for _, c := range l.all {
		c.places.by = nil
	}
	for _, c := range l.all {
		c.replace(ram >> c.shift)
	}
}

// Load brings the line of a load into each data cache, from the first on, until one has it. It returns the number of
// those that had it not; 3 if none had it, even if there is no third level.
func (l *Levels) Load(pa uint64) (misses uint) {
	if l.even && !l.Exclusive {
		if misses = l.LoadKnown(pa); misses != Unknown {
			return misses
		}
		l.places.grow(uint32(pa>>(l.shift&63)) + 1)
		return l.LoadKnown(pa)
	}
	hit, gone := l.l1d.Bring(uint32(pa >> (l.l1d.shift & 63)))
	if l.Gone[0] = gone; hit {
		return 0
	}
	if misses = l.Behind(pa); !l.even {
		l.Gone = [3]uint32{}
	}
	return misses
}

// Behind is Load behind the first level.
func (l *Levels) Behind(pa uint64) (misses uint) {
	hit, gone := l.l2.Bring(uint32(pa >> (l.l2.shift & 63)))
	if l.Gone[1] = gone; hit {
		return 1
	}
	if l.l3 == nil {
		return 3
	}
	line := uint32(pa >> (l.l3.shift & 63))
	if l.Exclusive {
		if hit = l.l3.Has(line); hit {
			l.l3.Drop(line)
		}
		l.Gone[2] = l.l3.take(gone)
	} else if hit, l.Gone[2] = l.l3.Bring(line); l.Inclusive {
		l.DropInner(l.Gone[2])
	}
	if hit {
		return 2
	}
	return 3
}

// Unknown is the answer of LoadKnown for a line that has no place, which is new or where lines differ in size.
const Unknown = 4

// LoadKnown is Load of a line that has a place, where the third level is not exclusive. For others it does nothing and returns Unknown: it calls nothing, and so
// the host needs no stack for it.
func (l *Levels) LoadKnown(pa uint64) (misses uint) {
	line := uint32(pa >> (l.shift & 63))
	tag := line + 1
	if uint(tag) >= uint(len(l.places.by)) {
		return Unknown
	}
	at := &l.places.by[tag]
	ways := *at

	c := l.l1d
	set := uint(line & c.Mask)
	*element(c.Recent, set) = tag
	if ways&(column<<columnL1D) != 0 {
		c.use(set, ways>>columnL1D&column)
		return 0
	}
	way := c.victim(set)
	ways |= place(way+1) << columnL1D
	gone := c.fill(set, way, tag)
	*l.places.at(gone) &^= column << columnL1D
	l.Gone[0] = gone

	c = l.l2
	set = c.set(line)
	if ways&(column<<columnL2) != 0 {
		c.use(set, ways>>columnL2&column)
		*at = ways
		return 1
	}
	way = c.victim(set)
	ways |= place(way+1) << columnL2
	gone = c.fill(set, way, tag)
	*l.places.at(gone) &^= column << columnL2
	l.Gone[1] = gone

	if c = l.l3; c == nil {
		*at = ways
		return 3
	}
	set = c.set(line)
	if ways&(column<<columnL3) != 0 {
		c.use(set, ways>>columnL3&column)
		*at = ways
		return 2
	}
	way = c.victim(set)
	*at = ways | place(way+1)<<columnL3
	gone = c.fill(set, way, tag)
	*l.places.at(gone) &^= column << columnL3
	l.Gone[2] = gone
	if l.Inclusive {
		l.DropInner(gone)
	}
	return 3
}

// DropInner has the levels in front of the third lose a line (plus one) that this has lost; zero is none.
func (l *Levels) DropInner(gone uint32) {
	if gone != 0 {
		for _, c := range l.all[:3] {
			c.Drop(gone - 1)
		}
	}
}

// Has reports whether a data cache has a line, of caches whose lines have one size.
func (l *Levels) Has(line uint32) bool {
	tag := line + 1
	return uint(tag) < uint(len(l.places.by)) && l.places.by[tag]&^(column<<columnL1I) != 0
}

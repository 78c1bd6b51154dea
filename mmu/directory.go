package mmu

import (
	"fmt"
	"math/bits"

	"kprobesim/internal/clock"
)

// State is the MESI state of a line in the caches of one CPU.
type State uint8

// States. The caches of one CPU count as one: the line is in at least one of them.
const (
	Invalid   State = iota // not there
	Shared                 // clean, others may have it
	Exclusive              // clean, nobody else has it
	Modified               // written, nobody else has it
)

// String is the letter of the state.
func (s State) String() string { return [...]string{"I", "S", "E", "M"}[s&3] }

// Supply is the answer of the bus to a request for a line.
type Supply uint8

// Supplies.
const (
	Quiet    Supply = iota // nothing: the state allowed it
	Fill                   // the line comes from memory
	Transfer               // the line comes from the cache of the CPU that had it alone
	Upgrade                // the line is there, and the copies of others go
)

// Copies are the caches of one CPU, as seen by others.
type Copies interface {
	// DropLine forgets a line.
	DropLine(line uint32)
	// ShareLine notes that a line must not be written any more without asking.
	ShareLine(line uint32)
}

// Directory keeps the MESI state of every line of memory in the caches of every CPU (SDM vol. 3,
// 11.4), exactly: caches ask it before they bring a line in or write to one that they do not own, and
// tell it of lines that they lose. Lines are physical addresses shifted right by the logarithm of the size
// of a line, which all caches of the machine have in common.
type Directory struct {
	copies []Copies `state:"-"`
	chunks []*dirChunk
	words  int // of a set of CPUs
}

// dirChunk covers as many lines as 256 KiB of RAM have; chunks are made when they are first used.
type dirChunk struct {
	owner   [dirLines]uint16 // the CPU that has the line alone, plus one
	dirty   [dirLines / 64]uint64
	free    [dirLines]clock.Ticks // when its last transfer or upgrade ends
	holders []uint64              // sets of CPUs, words of a line side by side
}

const dirLines = 4096

// NewDirectory returns the directory of a number of CPUs, whose caches are empty.
func NewDirectory(cpus int) *Directory {
	return &Directory{copies: make([]Copies, cpus), words: (cpus + 63) / 64}
}

// Attach names the caches of a CPU.
func (d *Directory) Attach(cpu int, c Copies) { d.copies[cpu] = c }

// dirLine is the entry of one line.
type dirLine struct {
	c *dirChunk
	i uint32
	h []uint64
}

func (d *Directory) line(line uint32) dirLine {
	c, i := d.chunk(line), line%dirLines
	at := int(i) * d.words
	return dirLine{c, i, c.holders[at : at+d.words]}
}

// chunk returns the chunk of a line.
func (d *Directory) chunk(line uint32) *dirChunk {
	if n := uint(line / dirLines); n < uint(len(d.chunks)) {
		if c := d.chunks[n]; c != nil {
			return c
		}
	}
	return d.grow(line)
}

// grow is chunk where the first line of one is asked for. It stays apart so that chunk is short in line.
//
//go:noinline
func (d *Directory) grow(line uint32) *dirChunk {
	n := int(line / dirLines)
	for n >= len(d.chunks) {
		d.chunks = append(d.chunks, nil)
	}
	d.chunks[n] = &dirChunk{holders: make([]uint64, dirLines*d.words)}
	return d.chunks[n]
}

func (l dirLine) held(cpu int) bool { return l.h[cpu>>6]>>(cpu&63)&1 != 0 }

func (l dirLine) own(cpu int, dirty bool) {
	clear(l.h)
	l.h[cpu>>6] = 1 << (cpu & 63)
	l.c.owner[l.i] = uint16(cpu + 1)
	l.setDirty(dirty)
}

func (l dirLine) setDirty(dirty bool) {
	l.c.dirty[l.i>>6] &^= 1 << (l.i & 63)
	if dirty {
		l.c.dirty[l.i>>6] |= 1 << (l.i & 63)
	}
}

// State returns the state of a line in the caches of a CPU.
func (d *Directory) State(cpu int, line uint32) State {
	l := d.line(line)
	switch {
	case !l.held(cpu):
		return Invalid
	case l.c.owner[l.i] != uint16(cpu+1):
		return Shared
	case l.c.dirty[l.i>>6]>>(l.i&63)&1 == 0:
		return Exclusive
	}
	return Modified
}

// Owns reports whether a CPU may write a line without asking again.
func (d *Directory) Owns(cpu int, line uint32) bool {
	n := uint(line / dirLines)
	if n >= uint(len(d.chunks)) || d.chunks[n] == nil {
		return false
	}
	c, i := d.chunks[n], line%dirLines
	return c.owner[i] == uint16(cpu+1) && c.dirty[i>>6]>>(i&63)&1 != 0
}

// Read brings a line into the caches of a CPU, for a load or a fetch.
func (d *Directory) Read(cpu int, line uint32) Supply {
	if d.words == 1 { // a set is one word: no CPU has the line, which then has no owner and is clean
		c, i := d.chunk(line), line%dirLines
		if h := &c.holders[i]; *h == 0 {
			*h, c.owner[i] = 1<<(cpu&63), uint16(cpu+1)
			return Fill
		}
	}
	l := d.line(line)
	if l.held(cpu) {
		return Quiet
	}
	owner := l.c.owner[l.i]
	switch {
	case owner != 0:
		l.c.owner[l.i] = 0
		l.setDirty(false) // memory is written on the way
		d.copies[owner-1].ShareLine(line)
	case l.empty():
		l.own(cpu, false)
		return Fill
	}
	l.h[cpu>>6] |= 1 << (cpu & 63)
	if owner != 0 {
		return Transfer
	}
	return Fill
}

func (l dirLine) empty() bool {
	for _, w := range l.h {
		if w != 0 {
			return false
		}
	}
	return true
}

// Write makes a CPU the only one that has a line, for a store.
func (d *Directory) Write(cpu int, line uint32) Supply {
	l := d.line(line)
	s := Fill
	switch owner := l.c.owner[l.i]; {
	case owner == uint16(cpu+1):
		l.setDirty(true)
		return Quiet
	case owner != 0:
		s = Transfer
	case l.held(cpu):
		s = Upgrade
	}
	for w, set := range l.h {
		for ; set != 0; set &= set - 1 {
			if other := w<<6 + bits.TrailingZeros64(set); other != cpu {
				d.copies[other].DropLine(line)
			}
		}
	}
	l.own(cpu, true)
	return s
}

// Clean notes that memory has been written with what the owner of a line has, which keeps the line.
func (d *Directory) Clean(line uint32) {
	l := d.line(line)
	if owner := l.c.owner[l.i]; owner != 0 {
		l.setDirty(false)
		d.copies[owner-1].ShareLine(line)
	}
}

// Occupy returns how long a transfer or upgrade of a line takes that is asked for now and takes t by
// itself: a line is in one place at a time, so one begins when the one before has ended.
func (d *Directory) Occupy(line uint32, now, t clock.Ticks) clock.Ticks {
	l := d.line(line)
	free := &l.c.free[l.i]
	*free = max(*free, now) + t
	return *free - now
}

// Evict notes that a line has left the last cache of a CPU.
func (d *Directory) Evict(cpu int, line uint32) {
	c, i := d.chunk(line), line%dirLines
	c.holders[int(i)*d.words+cpu>>6] &^= 1 << (cpu & 63)
	if c.owner[i] == uint16(cpu+1) {
		c.owner[i] = 0
		c.dirty[i>>6] &^= 1 << (i & 63)
	}
}

// CheckLines reports caches whose lines differ, which no directory can keep coherent. A zero cache is none.
func CheckLines(caches ...CacheConfig) error {
	for _, cc := range caches {
		if cc != (CacheConfig{}) && cc.Line != caches[0].Line {
			return fmt.Errorf("lines of %d and %d bytes: several CPUs are modelled with caches of one line size",
				caches[0].Line, cc.Line)
		}
	}
	return nil
}

// CPUs returns the number of CPUs whose caches it keeps coherent.
func (d *Directory) CPUs() int { return len(d.copies) }

package engine

import (
	"unsafe"

	"kprobesim/internal/hostcode"
)

// ahead remembers which targets of pointers followed each other, of those whose loads missed the guest's first level. A guest
// that goes along a list again finds the same order. Then the host's caches are asked for what comes some loads later: the
// load of a pointer alone says no more than what comes next, and the host's memory may take longer than one load of the
// guest (Joseph and Grunwald, Prefetching Using Markov Predictors, 1997). No result depends on it.
//
// A target is marked from time to time. Where it comes again soon, so few are reached that the host's caches have them
// all, and nothing is asked for a while.
type ahead struct {
	idle   uint64             // targets that are not looked at
	at     uint64             // number of the next target
	marked uint64             // number of the marked one
	mark   uint32             // its line
	last   [aheadBy]uint32    // lines of the last targets
	later  [aheadLines]uint32 // by the line of a target: that of the target which came aheadBy later
}

const (
	aheadBy    = 4
	aheadLines = 1 << 16
	aheadShift = 6        // logarithm of the bytes of a line of the host
	aheadFirst = 1 << 14  // pointers of a CPU before it has what takes 256 KiB of the host
	aheadMarks = 1 << 15  // targets from mark to mark
	aheadLeast = 12 << 10 // targets between which a marked one comes again that are worth it
	aheadIdle  = 1 << 16  // targets that are not looked at when they are fewer
)

// lookAhead notes the target of a pointer by its physical address, and asks for what came behind it the last time.
func (c *Core) lookAhead(pa uint64) {
	a := c.ahead
	switch {
	case a == nil:
		if c.pointers++; c.pointers == aheadFirst {
			c.ahead = new(ahead)
		}
		return
	case a.idle != 0:
		a.idle--
		return
	}
	line := uint32(pa >> aheadShift)
	if line == a.mark && a.at-a.marked < aheadLeast {
		a.idle = aheadIdle
	}
	if a.at%aheadMarks == 0 {
		a.mark, a.marked = line, a.at
	}
	last := &a.last[a.at%aheadBy]
	a.at++
	a.later[*last%aheadLines] = line
	*last = line
	hostcode.Prefetch(unsafe.Add(unsafe.Pointer(unsafe.SliceData(c.ram)), uint64(a.later[line%aheadLines])<<aheadShift))
}

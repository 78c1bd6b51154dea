package engine

import (
	"unsafe"

	"kprobesim/internal/clock"
)

// untimedState is the state of a CPU that executes without its cost model, to come to the code that a measurement is
// about. Every instruction takes the same time, and so does the delivery of an exception; nothing else takes any.
// Registers, memory, translations, exceptions and counts of instructions are as in a timed run. Caches, predictors
// and the directory of lines stay as they were, so what is timed afterwards finds what was there before. TLBs go on,
// because a guest may tell what they hold.
//
// Caches that decide what code does are an exception (Core.decisive): an instruction cache that is not coherent holds what
// is executed, and a store exclusive of one of several CPUs needs its line. So caches and directory go on there.
type untimedState struct {
	on     bool
	window bool  // the model that was put away is window or scoreboard
	loops  bool  // and has a loop buffer
	each   ticks // what an instruction takes
	until  ticks // when the model is back
	// What Untimed has asked for, until the next boundary between blocks.
	nextEach, nextUntil ticks
	// lines stand for the lines of the data cache that were used last, so that the fast path of an access
	// stays what it is. There are more of them than in any such cache.
	lines []uint32
}

// untimedLines is the number of lines, a power of two.
const untimedLines = 1 << 14

// Untimed implements cpus.CPU.
func (c *Core) Untimed(each, until clock.Ticks) {
	c.untimed.nextEach, c.untimed.nextUntil = each, until
	c.Check |= checkUntimed
}

// IsUntimed reports whether the cost model is put away.
func (c *Core) IsUntimed() bool { return c.untimed.on }

// switchTiming does what Untimed has asked for, between two blocks.
func (c *Core) switchTiming() {
	q := &c.untimed
	c.Check &^= checkUntimed
	if q.on {
		c.becomeTimed()
	}
	if q.nextEach != 0 && q.nextUntil > c.retire {
		if c.becomeUntimed(); c.retire >= q.until { // what was in flight has taken as long
			c.becomeTimed()
		}
	}
}

// becomeUntimed puts the cost model away. What is in flight ends first.
func (c *Core) becomeUntimed() {
	q := &c.untimed
	c.detachMemo()
	c.drain(0)
	q.on, q.window, q.loops, q.each, q.until = true, c.window, c.loops, max(q.nextEach, 0), q.nextUntil
	c.setDirect()
	c.Check |= checkFlavour
	c.window, c.loops, c.asleep, c.aside = false, false, true, true // accesses note no stores, and branches nothing
	if c.decisive {
		return
	}
	if q.lines == nil {
		q.lines = make([]uint32, untimedLines)
	}
	c.dRecent, c.sRecent, c.dMask = q.lines, q.lines, untimedLines-1
}

// becomeTimed brings the cost model back. Nothing is in flight, and nothing that was noted before is charged. A CPU that has
// neighbours asks the directory again before it writes a line, because they may have taken it.
func (c *Core) becomeTimed() {
	q := &c.untimed
	q.on, c.window, c.loops, c.asleep, c.aside = false, q.window, q.loops, false, q.loops
	c.Check |= checkFlavour
	c.setDirect()
	c.forgetInputs()
	c.placed = c.sequence
	if c.decisive {
		return
	}
	c.dRecent, c.dMask = c.l1d.Recent, c.l1d.Mask
	if c.sRecent = c.dRecent; c.dir != nil {
		c.sRecent = make([]uint32, len(c.dRecent))
	}
}

// forgetInputs forgets delays and outcomes that no instruction was charged for.
func (c *Core) forgetInputs() {
	c.acc = [accesses]access{}
	c.irregular, c.sends, c.late = 0, 0, 0
	c.entering = false
	c.forgetOperands()
}

// bypassesCaches reports whether accesses go by the lines of untimedState alone.
func (c *Core) bypassesCaches() bool { return c.untimed.on && !c.decisive }

// settleUntimed is settle without a cost model.
func (c *Core) settleUntimed(n int) {
	c.count += uint64(n - c.settled)
	c.retire += ticks(n-c.settled) * c.untimed.each
	c.dispatch, c.settled = c.retire, n
	c.outcome, c.irregular, c.sends = 0, 0, 0
}

// Readable returns where RAM has the n bytes at a virtual address, for a load without a cost model; or nil when it
// is to be made by Load. An operand of any width may be read there with the least significant byte first.
func (c *Core) Readable(va, n uint64) unsafe.Pointer {
	e := &c.micro[va>>pageShift&(microEntries-1)]
	if e.read != va>>pageShift+c.microGen || va&pageMask > pageBytes-n {
		return nil
	}
	return e.at(va & pageMask)
}

// Writable is Readable for a store. Bytes that somebody has decoded are none.
func (c *Core) Writable(va, n uint64) unsafe.Pointer {
	e := &c.micro[va>>pageShift&(microEntries-1)]
	off := va & pageMask
	if e.write != va>>pageShift+c.microGen || off > pageBytes-n || c.codeMap[e.base>>pageShift] != 0 {
		return nil
	}
	return e.at(off)
}

// AtOnce reports that no cost model and no cache looks at single accesses, so that several may be made by way of
// Readable and Writable.
func (c *Core) AtOnce() bool { return c.bypassesCaches() }

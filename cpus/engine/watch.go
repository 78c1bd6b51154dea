package engine

import "slices"

// watched holds the ranges that registers for debugging are armed for. Data is looked at where the micro-TLBs have no answer:
// they get no entry for a page with watched bytes, so that accesses to all other pages cost the host nothing.
// Code is looked at in the blocks that an armed address lies in, which are executed one by one. Neither takes
// simulated time.
type watched struct {
	watching  bool        // there are dataSpans, or a debugger has Stops.Data
	dataSpans [][2]uint64 // virtual addresses, ends excluded
	codeAt    []uint64    // addresses of instructions
}

// WatchData has Translator.Watch called for the accesses near spans of virtual addresses, ends excluded. What
// was watched before is not any more.
func (c *Core) WatchData(spans [][2]uint64) {
	c.dataSpans, c.watching = spans, len(spans)+len(c.stops.Data) > 0
	c.ForgetData()
}

// WatchCode has Stepper.BeginStep called before the instructions at certain addresses, and before others near
// them. What was watched before is not any more. Decoded code is voided before the next block.
func (c *Core) WatchCode(at []uint64) {
	if !slices.Equal(at, c.codeAt) {
		c.codeAt = at
		c.Check |= checkWatched
	}
}

// near reports whether a page has watched bytes. A span may reach into it from the page before.
func (c *Core) near(va uint64) bool { return inPages(c.dataSpans, va) || inPages(c.stops.Data, va) }

// inPages reports whether an address lies in a page of spans.
func inPages(spans [][2]uint64, va uint64) bool {
	for _, s := range spans {
		if s[0]>>pageShift <= va>>pageShift && va>>pageShift <= (s[1]-1)>>pageShift {
			return true
		}
	}
	return false
}

// allows tells a debugger and the instruction set of an access to a page with watched bytes. False leaves an exception
// pending.
func (c *Core) allows(va uint64, n int, write bool) bool {
	if !c.watching || !c.near(va) {
		return true
	}
	if c.debugger != nil {
		c.debugger.Accessed(c.Num, va, n, write)
	}
	return c.translator.Watch(va, n, write)
}

// stopsIn reports whether an instruction in a range of addresses is watched.
func (w *watched) stopsIn(from, to uint64) bool {
	for _, at := range w.codeAt {
		if from <= at && at < to {
			return true
		}
	}
	return false
}

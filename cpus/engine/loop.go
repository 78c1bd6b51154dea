package engine

// loopBuffer finds the loops that a core keeps behind fetch: a backward branch that is taken again and again,
// with few instructions in few windows of fetch between, and no call, return or indirect branch. It works
// while instructions are executed, as the predictor does; the window model is told at each taken branch
// whether the buffer has what follows.
type loopBuffer struct {
	size, windows uint64 // instructions and windows of fetch; size is zero when there is no buffer
	shift         uint   // logarithm of a window's bytes
	from, to      uint64 // the branch, by the address behind it, and its target
	at            uint64 // number of the branch when it was taken last, counted in instructions
	// passes of the same length since the loop was entered: 1 for none, and twice that for each until the loop
	// is streaming; 0 outside of loops.
	passes uint64
}

// streaming are the passes after which a loop streams, and a bit of an edge's key. That no pass of a short
// loop does is as far as this model goes; manuals say no more than that a loop should have many.
const streaming = 1 << 2

// reset ends the present loop: execution goes on outside.
func (l *loopBuffer) reset() { l.passes = 0 }

// streams reports whether the buffer has what the last branch led to.
func (l *loopBuffer) streams() bool { return l.passes == streaming }

// looped notes that a branch was taken by a distance, which is constant. It is not part of Jump so that Jump can be inlined.
//
//go:noinline
func (c *Core) looped(by uint64) {
	l, to := &c.loop, c.R[PC]
	from := (to - by) & c.AddrMask
	if to >= from { // forward
		if to < l.to || to >= l.from {
			l.reset()
		}
		return
	}
	now := c.executed()
	switch {
	case l.passes == 0 || from != l.from || to != l.to || now-l.at > l.size || (from-1)>>(l.shift&63)-to>>(l.shift&63) >= l.windows:
		l.passes = 1
	case l.passes < streaming:
		l.passes <<= 1
	}
	l.from, l.to, l.at = from, to, now
}

// executed is the number of the running instruction.
func (c *Core) executed() uint64 {
	return c.Counts.Instructions + c.accounts.count + uint64(c.idx-c.settled)
}

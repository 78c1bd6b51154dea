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
	passes        uint8  // of the same length since the loop was entered
	streams       bool
}

// passesToStream is how often a loop is seen whole before it streams. That no pass of a short loop does is
// as far as this model goes; manuals say no more than that a loop should have many.
const passesToStream = 2

// leave says that execution goes on outside. No loop has that target, so the next one begins with no pass.
func (l *loopBuffer) leave() { l.to = outside }

// outside is where no branch leads.
const outside = ^uint64(0)

// streaming reports whether the buffer has what the branch leads to.
func (l *loopBuffer) streaming() bool { return l.streams && l.to != outside }

// branch notes a taken branch with a constant target, and now is its number.
func (l *loopBuffer) branch(from, to, now uint64) {
	if to >= from { // forward
		if to < l.to || to >= l.from {
			l.leave()
		}
		return
	}
	switch {
	case from != l.from || to != l.to || now-l.at > l.size || (from-1)>>l.shift-to>>l.shift >= l.windows:
		l.passes = 0
	case l.passes < passesToStream:
		l.passes++
	}
	l.from, l.to, l.at, l.streams = from, to, now, l.passes == passesToStream
}

// looped notes that a branch was taken by a distance. It is not part of Jump so that Jump can be inlined.
//
//go:noinline
func (c *Core) looped(by uint64) {
	c.loop.branch((c.R[PC]-by)&c.AddrMask, c.R[PC], c.executed())
}

// executed is the number of the running instruction.
func (c *Core) executed() uint64 {
	return c.Counts.Instructions + c.accounts.count + uint64(c.idx-c.settled)
}

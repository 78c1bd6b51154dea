package engine

import (
	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// resumePoint holds the part of a block that Steps, or an observer that breaks, has left: its instructions from one on. It holds as a link does,
// and while nothing else is executed. Where the block is not there any more it is decoded again from its
// beginning, so that nothing depends on what the host has kept: an instruction's place in its block says where delays wait
// that nothing has been charged for yet.
type resumePoint[C, P any] struct {
	block *Block[C, P] `state:"-"`
	gen   uint64       `state:"-"`
	at    int          // zero between two blocks
	start uint64       // address of the block
}

// Steps implements cpus.CPU.
func (e *Engine[C, P]) Steps(n int, limit clock.Ticks) (int, cpus.Exit) {
	e.broken = false
	for done := 0; done < n; {
		if x, stop := e.before(limit); stop {
			return done, x
		}
		switch b, at := e.next(); {
		case b == nil:
			e.isa.Deliver()
			done++
		case b.watched > e.R[PC] && done > 0:
			if at != 0 {
				e.suspend(b, at)
			}
			return done, cpus.Exit{Reason: cpus.Broken}
		default:
			done += e.stepBlocks(b, at, n-done, limit)
		}
		if e.Stop&StopExit != 0 {
			e.Stop &^= StopExit
			return done, e.exit
		}
		if e.broken {
			return done, cpus.Exit{Reason: cpus.Broken}
		}
	}
	return n, cpus.Exit{Reason: cpus.Limit}
}

// next is fetch that goes on in the middle of a block that was left there.
func (e *Engine[C, P]) next() (b *Block[C, P], at int) {
	if e.resume.at == 0 {
		return e.fetch(), 0
	}
	return e.resumed()
}

// resumed is next in the middle of a block.
func (e *Engine[C, P]) resumed() (b *Block[C, P], at int) {
	r, pc := e.resume, e.R[PC]
	e.resume = resumePoint[C, P]{}
	if b = r.block; b == nil || b != e.block || b.phase == gone || r.gen != e.gen {
		b = nil
		if pc-r.start < granule && (pc>>pageShift+1 == e.curTag || e.fetchPage(pc)) {
			b = e.find(r.start)
		}
	}
	if b == nil || r.at >= len(b.insns) || pc != b.insns[r.at-1].next {
		return e.fetch(), 0
	}
	if !e.levels.Inclusive { // a load of the block may have dropped its own line, which was fetched for all of it
		e.fetchLines(b)
	}
	return b, r.at
}

// suspend notes that a block is left before its instruction at, if it has that many.
func (e *Engine[C, P]) suspend(b *Block[C, P], at int) {
	if at < len(b.insns) {
		e.resume = resumePoint[C, P]{b, e.gen, at, b.pc}
	}
}

// stepBlocks is runBlocks that begins with a certain instruction and is bound to a number of instructions,
// and returns how many there were.
func (e *Engine[C, P]) stepBlocks(b *Block[C, P], at, n int, limit clock.Ticks) int {
	if b.phase != e.phase {
		e.setPhase(b.phase)
	}
	if e.singly(b) || e.tracks() {
		e.running(b)
		e.settled = at
		to, more := e.runSingly(b, at, min(at+n, len(b.insns)))
		if more {
			e.suspend(b, to)
		}
		return to - at
	}
	left := n
	for b != nil && left > 0 {
		e.running(b)
		e.settled = at
		to := min(at+left, len(b.insns))
		if e.executePart(b, at, to) {
			i := e.idx
			e.finish(b, i)
			return n - left + i + 1 - at
		}
		left -= to - at
		if at != 0 || to != len(b.insns) || !e.settleWhole(&b.timed) {
			e.settle(to)
			e.suspend(b, to)
		}
		b, at = e.following(b, limit), 0
	}
	e.idx = between
	return n - left
}

// executePart executes some instructions of a block, and reports that there is a reason to stop behind the
// one that idx tells. runBlocks has a loop of its own, which is the hottest of all and knows no part.
func (e *Engine[C, P]) executePart(b *Block[C, P], from, to int) bool {
	for i := from; i < to; i++ {
		in := &b.insns[i]
		e.idx = i
		e.R[PC] = in.next
		in.Exec(e.self, &in.Operands)
		if e.Stop != 0 {
			return true
		}
	}
	return false
}

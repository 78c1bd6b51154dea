package engine

import (
	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// resumePoint is what Steps has left of a block: its instructions from one on. It holds as a link does,
// and while nothing else is executed. Without it a policy that takes turns by single instructions
// would decode the rest of each block as a block of its own.
type resumePoint[C, P any] struct {
	block *Block[C, P]
	at    int
	gen   uint64
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

// next is fetch that goes on in the middle of a block that Steps has left there: the rest of a block is
// the block that would be decoded at its first instruction.
func (e *Engine[C, P]) next() (b *Block[C, P], at int) {
	r := e.resume
	e.resume.block = nil
	if r.block == nil || r.block != e.block || r.block.phase == gone || r.gen != e.gen ||
		e.R[PC] != r.block.insns[r.at-1].next {
		return e.fetch(), 0
	}
	e.fetchLines(r.block)
	return r.block, r.at
}

// leave notes that a block is left before its instruction at, if it has that many.
func (e *Engine[C, P]) leave(b *Block[C, P], at int) {
	if at < len(b.insns) {
		e.resume = resumePoint[C, P]{b, at, e.gen}
	}
}

// stepBlocks is runBlocks that begins with a certain instruction and is bound to a number of instructions,
// and returns how many there were.
func (e *Engine[C, P]) stepBlocks(b *Block[C, P], at, n int, limit clock.Ticks) int {
	if b.phase != e.phase {
		e.setPhase(b.phase)
	}
	if e.singly(b) {
		e.running(b)
		e.settled = at
		to := e.runSingly(b, at, min(at+n, len(b.insns)))
		e.leave(b, to)
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
			e.leave(b, to)
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

package x86

import (
	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// rest is what a bound has left of a block: its instructions from one on. It holds as a link does, and
// while nothing else is executed.
type rest struct {
	of  *block
	at  int
	gen uint64
}

// Steps implements cpus.CPU.
func (c *CPU) Steps(n int, limit clock.Ticks) (int, cpus.Exit) {
	c.broken = false
	for done := 0; done < n; {
		if e, stop := c.before(limit); stop {
			return done, e
		}
		switch b, at := c.resume(); {
		case b == nil:
			c.deliverPending()
			done++
		case b.watched > c.r[rRIP] && done > 0:
			return done, cpus.Exit{Reason: cpus.Broken}
		default:
			done += c.stepBlocks(b, at, n-done, limit)
		}
		if c.stop&stopExit != 0 {
			c.stop &^= stopExit
			return done, c.exit
		}
		if c.broken {
			return done, cpus.Exit{Reason: cpus.Broken}
		}
	}
	return n, cpus.Exit{Reason: cpus.Limit}
}

// resume is fetch that goes on in the middle of a block that Steps has left there: the rest of a block is
// the block that would be decoded at its first instruction.
func (c *CPU) resume() (b *block, at int) {
	b, at = c.rest.of, c.rest.at
	c.rest.of = nil
	if b == nil || b != c.cur || b.phase == gone || c.rest.gen != c.gen || c.r[rRIP] != b.pc+uint64(b.insts[at-1].next) {
		return c.fetch(), 0
	}
	c.fetchLines(b)
	return b, at
}

// leave notes that a block is left before its instruction at, if it has that many.
func (c *CPU) leave(b *block, at int) {
	if at < len(b.insts) {
		c.rest = rest{b, at, c.gen}
	}
}

// stepBlocks is runBlocks that begins with a certain instruction and is bound to a number of instructions,
// and returns how many there were.
func (c *CPU) stepBlocks(b *block, at, n int, limit clock.Ticks) int {
	if b.phase != c.phase {
		c.setPhase(b.phase)
	}
	if c.singly(b) {
		c.cur, c.settled = b, at
		to := c.runObserved(b, at, min(at+n, len(b.insts)))
		c.leave(b, to)
		return to - at
	}
	left := n
	for b != nil && left > 0 {
		c.cur, c.settled = b, at
		to, pc := min(at+left, len(b.insts)), b.pc
		insts := b.insts[:to]
		for i := at; i < len(insts); i++ {
			in := &insts[i]
			c.idx = i
			c.r[rRIP] = pc + uint64(in.next)
			in.exec(c, in)
			if c.stop != 0 {
				c.finish(in, i)
				return n - left + i + 1 - at
			}
		}
		left -= to - at
		if at == 0 && to == len(b.insts) && c.settled == 0 && !c.window {
			c.settleBlock(b)
		} else {
			c.settle(to)
			c.leave(b, to)
		}
		b, at = c.following(b, limit), 0
	}
	c.idx = between
	return n - left
}

package x86

import (
	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// Steps implements cpus.CPU.
func (c *CPU) Steps(n int, limit clock.Ticks) (int, cpus.Exit) {
	c.broken = false
	for done := 0; done < n; {
		if e, stop := c.before(limit); stop {
			return done, e
		}
		switch b := c.fetch(); {
		case b == nil:
			c.deliverPending()
			done++
		case b.watched && done > 0:
			return done, cpus.Exit{Reason: cpus.Broken}
		default:
			done += c.stepBlocks(b, n-done, limit)
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

// stepBlocks is runBlocks with a bound on the number of instructions, and returns their number. What a
// bound leaves of a block is fetched later as a block of its own.
func (c *CPU) stepBlocks(b *block, n int, limit clock.Ticks) int {
	if b.phase != c.phase {
		c.setPhase(b.phase)
	}
	if c.singly(b) {
		c.cur, c.settled = b, 0
		return c.runObserved(b, min(n, len(b.insts)))
	}
	left := n
	for b != nil && left > 0 {
		c.cur, c.settled = b, 0
		insts, pc := b.insts[:min(left, len(b.insts))], c.r[rRIP]
		for i := range insts {
			in := &insts[i]
			c.idx = i
			c.r[rRIP] = pc + uint64(in.next)
			in.exec(c, in)
			if c.stop != 0 {
				c.finish(in, i)
				return n - left + i + 1
			}
		}
		if c.window || c.settled != 0 || len(insts) < len(b.insts) {
			c.settle(len(insts))
		} else {
			c.settleBlock(b)
		}
		left -= len(insts)
		b = c.following(b, limit)
	}
	c.idx = between
	return n - left
}

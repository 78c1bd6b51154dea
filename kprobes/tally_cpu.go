package kprobes

import "slices"

// talliedCPU records what one CPU has done.
type talliedCPU struct {
	Hits
	open     []arrival // those that nothing is known of yet, the last one at the end
	stepping *place    // in user mode: the original is executed next, where it is
}

// arrival is one at a probe whose handler begins at pre, 0 for a probe without. Behind a breakpoint nothing interrupts the
// way to the handler; behind a jump other hits may come in between.
type arrival struct {
	at      *place
	pre     uint64
	trapped bool
}

// maxOpen bounds the arrivals that turned out to be no hits.
const maxOpen = 8

// last is the arrival that nothing is known of yet, or nil.
func (c *talliedCPU) last() *arrival {
	if n := len(c.open); n > 0 {
		return &c.open[n-1]
	}
	return nil
}

// arrive opens an arrival. Where the last was at the same breakpoint that was no hit: the guest has gone back to it. A hit
// without a handler counts at once, as nothing else will show that it was one.
func (c *talliedCPU) arrive(a arrival) {
	if last := c.last(); last != nil && last.at == a.at && last.trapped {
		c.open = c.open[:len(c.open)-1]
	}
	if len(c.open) == maxOpen {
		c.open = slices.Delete(c.open, 0, 1)
	}
	c.open, c.stepping = append(c.open, a), nil
	if a.pre == 0 {
		c.All++
	}
}

// close ends the last arrival, which was a hit.
func (c *talliedCPU) close(missed bool) {
	a := c.open[len(c.open)-1]
	c.open = c.open[:len(c.open)-1]
	if a.pre != 0 {
		c.All++
	}
	if missed {
		c.Missed++
	} else if a.at.user {
		c.stepping = a.at
	}
}

// pass is the execution of the original at a place. Behind an arrival the guest has taken the breakpoint away. Where user mode
// steps in place it belongs to the hit before, or another CPU has the breakpoint away for its own step and this one misses
// its hit.
func (c *talliedCPU) pass(p *place, steps bool) {
	last := c.last()
	switch {
	case last != nil && last.at == p && last.pre != 0:
		c.close(true)
	case !p.user || !steps:
	case c.stepping == p:
		c.stepping = nil
	default:
		c.All++
		c.Missed++
	}
}

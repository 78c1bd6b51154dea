package engine

import (
	"slices"

	"kprobesim/cpus"
)

// debugging holds what a debugger is told of. A breakpoint is an address, so guest memory stays as it is. Blocks with one
// are executed one by one, by the loop that serves observers.
type debugging struct {
	debugger cpus.Debugger `state:"-"`
	stops    cpus.Stops    `state:"-"`
}

// Debug implements cpus.Probe. Blocks know whether they have a breakpoint: they are decoded anew before the next one.
func (c *Core) Debug(d cpus.Debugger, stops cpus.Stops) {
	if !slices.Equal(stops.Code, c.stops.Code) {
		c.Check |= checkWatched
	}
	if !slices.Equal(stops.Data, c.stops.Data) {
		c.ForgetData()
	}
	c.debugger, c.stops = d, stops
	c.watching = len(c.dataSpans)+len(stops.Data) > 0
}

// Counted implements cpus.Probe.
func (c *Core) Counted() cpus.Counters {
	accounts, counts := c.accounts, c.Counts
	c.Book()
	out := c.Counts
	c.accounts, c.Counts = accounts, counts
	return out
}

// breaksIn reports whether a range of addresses has a breakpoint.
func (d *debugging) breaksIn(from, to uint64) bool {
	return slices.ContainsFunc(d.stops.Code, func(at uint64) bool { return from <= at && at < to })
}

// debugs reports whether a debugger is told of every instruction of a block.
func (e *Engine[C, P]) debugs(b *Block[C, P]) bool {
	return e.debugger != nil && (e.stops.All || b.breaks)
}

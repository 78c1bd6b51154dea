package engine

import (
	"slices"

	"kprobesim/cpus"
)

// accounts books time and instructions by the exception that code is in the middle of and by the phase
// of the guest's code.
type accounts struct {
	mark    ticks  // booked up to here
	count   uint64 // instructions not yet booked
	context uint8  // of cpus.NoException and its like
	outer   []uint8
	phase   uint8
	leaving bool // the running instruction returns from an exception
}

// freshPhase marks time after an exception's delivery, which belongs to the handler's first block.
// It is above cpus.MaxPhases, so that no phase of an image can be mistaken for it.
const freshPhase = 255

// maxContexts bounds the nesting of exceptions that is told apart. A guest that enters exceptions
// and never returns would let the list grow without end. Deeper nesting blurs the accounts and
// changes no time.
const maxContexts = 64

// Book books the time since the last booking on the present context and phase. It is cheap enough
// for every change of phase and context, so the path of an instruction books nothing.
func (c *Core) Book() {
	i, j := c.context&7, c.phase
	if j >= cpus.MaxPhases {
		j = 0
	}
	c.Counts.Time[i][j] += c.retire - c.mark
	c.Counts.Count[i][j] += c.count
	c.Counts.Instructions += c.count
	c.mark, c.count = c.retire, 0
}

// Completed is the number of instructions so far, between two of them.
func (c *Core) Completed() uint64 { return c.Counts.Instructions + c.count }

// Counters implements cpus.Probe.
func (c *Core) Counters() *cpus.Counters {
	c.Book()
	return &c.Counts
}

// setPhase books on the phase that ends and begins another.
func (c *Core) setPhase(p uint8) {
	if c.phase != freshPhase {
		c.Book()
	}
	c.phase = p
}

// EnterException charges the delivery of an exception of a context and opens that context. A step
// tells of it by the name; interrupts have none, because they come between instructions.
func (c *Core) EnterException(context uint8, cost ticks, name string) {
	if c.phase != freshPhase {
		c.Book()
	}
	c.Drain(cost)
	c.step.Stalls.Exception += cost
	if name != "" {
		c.step.Exception = name
	}
	if len(c.outer) < maxContexts {
		c.outer = append(c.outer, c.context)
	}
	c.context, c.phase = context, freshPhase
}

// LeaveException closes the innermost context, when the delivery into it has failed.
func (c *Core) LeaveException() {
	c.Book()
	c.context = cpus.NoException
	if n := len(c.outer); n > 0 {
		c.context = c.outer[n-1]
		c.outer = c.outer[:n-1]
	}
}

// ReturnFromException says that the running instruction returns from an exception: its context is closed
// once the instruction has its time, and what follows is fetched anew. The return itself
// still counts for the exception that it ends.
func (c *Core) ReturnFromException() {
	c.leaving = true
	c.Stop |= StopBlock
}

// ExceptionContext implements cpus.Probe.
func (c *Core) ExceptionContext() uint8 { return c.context }

// SwitchExceptionStack implements cpus.Probe. The services of the kernel call it by way of the
// machine when the guest switches tasks: a task that was preempted in an exception goes on in it, on
// whatever CPU.
func (c *Core) SwitchExceptionStack(to []uint8) []uint8 {
	var from []uint8
	if c.context != cpus.NoException {
		from = append(slices.Clone(c.outer), c.context)
	}
	if len(from) == 0 && len(to) == 0 {
		return nil
	}
	if c.phase != freshPhase {
		c.Book()
	}
	c.context, c.outer = cpus.NoException, c.outer[:0]
	if n := len(to); n > 0 {
		c.outer, c.context = append(c.outer, to[:n-1]...), to[n-1]
	}
	return from
}

package races

import "slices"

// A point is a place in a schedule at which another CPU may go on.
type point struct {
	last     int   // the CPU that ran so far, -1 for none
	runnable []int // in ascending order, never empty
	hot      bool  // last has just executed code that a patch could concern
	spin     bool  // last waits for others in a loop
}

// stays reports whether the CPU that ran can go on.
func (p *point) stays() bool { return slices.Contains(p.runnable, p.last) }

// A chooser is a policy: it decides at every point which CPU goes on, and for how many instructions
// at most. A CPU that executes hot code stops after each hot instruction, so that it is followed by
// a point.
type chooser interface {
	begin(n uint64) // schedule n begins
	next(p *point) (cpu, steps int)
	// drain says how many of the stores that a CPU holds back, the oldest first, the others see from now on.
	drain(cpu, held int) int
	// sees says of weakly ordered memory whether a CPU sees a store of CPU by from now on, by its number in the schedule. If it is
	// the same CPU, the store leaves its buffer.
	sees(cpu, by int, number uint64) bool
	// strike says which interrupt comes to which CPU at a point: none at most of them.
	strike(p *point) (what strike, cpu int)
}

// after is the runnable CPU that follows the last one.
func after(p *point) int {
	for _, c := range p.runnable {
		if c > p.last {
			return c
		}
	}
	return p.runnable[0]
}

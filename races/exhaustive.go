package races

import (
	"iter"
	"slices"
)

// A preemption is a place where a schedule departs from the default order: at a hot point, counted
// from 0, another CPU goes on.
// Bounding their number follows Musuvathi and Qadeer (Iterative Context Bounding, 2007): most
// errors need few.
type preemption struct {
	at  int // hot point
	alt int // which of the other runnable CPUs
}

// bounded follows a default order, in which CPUs take turns, but for the preemptions that it is
// given. It notes how many ways there were at each hot point.
// The guest is deterministic, so a plan meets the hot points of the plan that it extends, up to
// its own last preemption.
type bounded struct {
	plan []preemption
	ways []uint8 // other runnable CPUs at each hot point so far
	done int     // preemptions that have been made
	left int     // until the next turn, in the unit of patience
}

func (x *bounded) begin(uint64) {
	x.ways, x.done, x.left = x.ways[:0], 0, patience
}

// drain lets every store be seen at once, so plans know no buffers.
func (x *bounded) drain(_, held int) int { return held }

func (x *bounded) sees(int, int, uint64) bool { return true }

// strike is never anything: plans are made of preemptions.
func (x *bounded) strike(*point) (what strike, cpu int) { return nothing, 0 }

// A turn ends by itself when its CPU waits or has used up its patience, which is no preemption.
func (x *bounded) next(p *point) (cpu, steps int) {
	if p.hot && p.stays() {
		if cpu, ok := x.depart(p.others()); ok {
			return cpu, coldSlice
		}
	}
	x.left -= weight(p)
	if p.stays() && x.left > 0 && !p.spin {
		return p.last, coldSlice
	}
	x.left = patience
	return after(p), coldSlice
}

// depart notes a hot point and makes the preemption that is planned there.
func (x *bounded) depart(others []int) (cpu int, ok bool) {
	at := len(x.ways)
	x.ways = append(x.ways, uint8(min(len(others), 255)))
	if x.done == len(x.plan) || x.plan[x.done].at != at || x.plan[x.done].alt >= len(others) {
		return 0, false
	}
	cpu = others[x.plan[x.done].alt]
	x.done++
	x.left = patience
	return cpu, true
}

// planned is a plan that has run and the ways that it found.
type planned struct {
	plan []preemption
	ways []uint8
}

// extensions enumerates the plans with one preemption more than those that have run, behind their
// last one, in order. Each set of preemptions comes up once.
// A preemption in front of the last one belongs to another plan of the same length, which comes up
// by itself.
func extensions(ran []planned) iter.Seq[[]preemption] {
	return func(yield func([]preemption) bool) {
		for _, p := range ran {
			from := 0
			if n := len(p.plan); n > 0 {
				from = p.plan[n-1].at + 1
			}
			for at := from; at < len(p.ways); at++ {
				for alt := range int(p.ways[at]) {
					if !yield(append(slices.Clip(p.plan), preemption{at, alt})) {
						return
					}
				}
			}
		}
	}
}

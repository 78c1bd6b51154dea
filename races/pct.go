package races

import (
	"math/rand/v2"
	"slices"
)

// pct is probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatti, 2010): the
// runnable CPU of the highest priority runs, and at a few points drawn beforehand the running CPU
// falls behind all others. An error that needs d orderings is met with a chance of at least one in
// n k^(d-1), n CPUs and k points.
//
// The theorem wants threads that end. Kernel code spins and loops: a CPU that waits in a loop, or has
// run for long while others wait, falls behind them too, as nothing would go on otherwise.
type pct struct {
	seed    uint64
	depth   int // d: one more than the number of change points
	r       *rand.Rand
	points  int   // of this schedule so far
	guess   int   // k: as many as the last schedule had
	changes []int // the points of this schedule at which a priority falls
	order   []int // CPUs, highest priority first
	alone   int   // instructions since another CPU ran
	before  int   // the last CPU that was chosen
}

// patience is how long a CPU may run while others wait, in instructions and in hot ones.
const (
	patience    = 3000
	coldSlice   = 300
	hotWeight   = 20 // a hot instruction counts as this many
	firstPoints = 400
)

func newPCT(seed uint64, depth int) *pct {
	return &pct{seed: seed, depth: depth, guess: firstPoints}
}

func (x *pct) begin(n uint64) {
	if x.points > 0 {
		x.guess = x.points
	}
	x.r = newRand(x.seed, n)
	x.points, x.alone, x.before = 0, 0, -1
	x.order = x.order[:0]
	x.changes = x.changes[:0]
	for range x.depth - 1 {
		x.changes = append(x.changes, x.r.IntN(x.guess))
	}
}

func (x *pct) next(p *point) (cpu, steps int) {
	x.admit(p)
	if slices.Contains(x.changes, x.points) || p.spin || x.alone > patience {
		x.demote(p.last)
	}
	if p.hot {
		x.points++
		x.alone += hotWeight
	}
	cpu = x.first(p)
	if cpu != x.before {
		x.alone = 0
	}
	x.before = cpu
	x.alone += coldSlice / 4
	return cpu, coldSlice
}

// admit gives CPUs that were not seen before a priority at random.
func (x *pct) admit(p *point) {
	for _, c := range p.runnable {
		if !slices.Contains(x.order, c) {
			x.order = slices.Insert(x.order, x.r.IntN(len(x.order)+1), c)
		}
	}
}

func (x *pct) demote(cpu int) {
	if i := slices.Index(x.order, cpu); i >= 0 {
		x.order = append(slices.Delete(x.order, i, i+1), cpu)
	}
	x.alone = 0
}

func (x *pct) first(p *point) int {
	for _, c := range x.order {
		if slices.Contains(p.runnable, c) {
			return c
		}
	}
	return p.runnable[0]
}

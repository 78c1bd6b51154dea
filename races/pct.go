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
	spent   []int // by CPU: how long it has run since it fell behind, in the unit of patience
	spins   int   // of this schedule: how often a CPU has waited in a loop
	lags    lags
	strikes
}

// patience is how long a CPU may run while others wait, about in instructions.
const (
	patience    = 1000
	coldSlice   = 300 // most instructions between two points
	coldWeight  = 100 // what lies between two points counts as this many
	hotWeight   = 20  // unless it is one hot instruction
	firstPoints = 400
)

// manySpins is when waiting may have become a cycle: a CPU whose loop takes as long as its turns may hold a lock at the end of
// each, so that no other ever gets it. Its turns have random lengths from then on.
const manySpins = 2000

// turn returns how long the present turn may be.
func (x *pct) turn() int {
	if x.spins < manySpins {
		return patience
	}
	return patience/2 + x.r.IntN(patience)
}

// weight counts what was executed before a point, in the unit of patience.
func weight(p *point) int {
	if p.hot {
		return hotWeight
	}
	return coldWeight
}

func newPCT(seed uint64, depth int) *pct {
	return &pct{seed: seed, depth: depth, guess: firstPoints}
}

// The guess comes from the schedule before in the batch, which a replay runs too, so it is the
// same there.
func (x *pct) begin(n uint64) {
	if x.points > 0 {
		x.guess = x.points
	}
	x.r = newRand(x.seed, n)
	x.lags.begin(x.seed, n)
	x.strikes.begin(x.seed, n)
	x.points, x.spins = 0, 0
	x.order, x.spent = x.order[:0], x.spent[:0]
	x.changes = x.changes[:0]
	for range x.depth - 1 {
		x.changes = append(x.changes, x.r.IntN(x.guess))
	}
}

// drain lets stores be seen about as often as a CPU is held to have run for long.
func (x *pct) drain(_, held int) int { return drained(x.r, 64, held) }

// sees lets a waiting store be seen more often than random does: a turn is long here, and a CPU at a lock would starve.
func (x *pct) sees(cpu, by int, _ uint64) bool {
	x.lags.in, x.lags.out = min(x.lags.in, 8), min(x.lags.out, 8)
	return x.lags.sees(cpu, by)
}

func (x *pct) next(p *point) (cpu, steps int) {
	x.lags.spun(p)
	x.admit(p)
	if p.last >= 0 && p.last < len(x.spent) {
		x.spent[p.last] += weight(p)
		if p.spin {
			x.spins++
		}
		if slices.Contains(x.changes, x.points) || p.spin || x.spent[p.last] > x.turn() {
			x.demote(p.last)
		}
	}
	if p.hot {
		x.points++
	}
	return x.first(p), coldSlice
}

// admit gives CPUs that were not seen before a priority at random.
// A CPU comes up when it is first runnable in a schedule: until then nobody knows that it has
// something to do.
func (x *pct) admit(p *point) {
	for _, c := range p.runnable {
		if !slices.Contains(x.order, c) {
			x.order = slices.Insert(x.order, x.r.IntN(len(x.order)+1), c)
			for len(x.spent) <= c {
				x.spent = append(x.spent, 0)
			}
		}
	}
}

// demote puts a CPU behind all others, the ones that were demoted before included.
func (x *pct) demote(cpu int) {
	if i := slices.Index(x.order, cpu); i >= 0 {
		x.order = append(slices.Delete(x.order, i, i+1), cpu)
	}
	x.spent[cpu] = 0
}

// first is never without an answer, as admit has given every runnable CPU a priority.
func (x *pct) first(p *point) int {
	for _, c := range x.order {
		if slices.Contains(p.runnable, c) {
			return c
		}
	}
	return p.runnable[0]
}

package races

import (
	"math"
	"math/rand/v2"
	"slices"
)

// newRand returns the random numbers of one schedule: they depend on its number and the seed alone.
// PCG is named and not left to the library, so that the number of a schedule keeps its meaning.
func newRand(seed, n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) }

// geometric draws lengths of at least one with a given mean: each instruction is the last one with
// the same chance. It is the table of lengths that so many of 1024 draws do not exceed, made of
// integers so that no rounding of the host shows.
type geometric [1024]uint16

func newGeometric(mean int) *geometric {
	var g geometric
	left, length := uint64(1)<<32, 1 // chance that a run is longer than length - 1, in units of 2^-32
	for i := range g {
		want := (uint64(len(g)-i)<<32 - 1<<31) / uint64(len(g)) // that it is longer, for this entry
		for {
			longer := left - (left+uint64(mean)-1)/uint64(mean)
			if longer < want || length == math.MaxUint16 {
				break
			}
			left, length = longer, length+1
		}
		g[i] = uint16(length)
	}
	return &g
}

// draw has no bias: the length of the table is a power of two.
func (g *geometric) draw(r *rand.Rand) int { return int(g[r.Uint64()%uint64(len(g))]) }

// random switches to a CPU of equal chance after runs of geometric length. Each schedule draws the
// mean of its runs first, in hot code and elsewhere, so that fine and coarse interleavings both
// occur.
type random struct {
	seed      uint64
	hots      []*geometric
	colds     []*geometric
	r         *rand.Rand
	hot, cold *geometric // run lengths of this schedule
	left      int        // hot instructions until the next switch
	patience  int        // points at which a store waits on, of each at which it does not
	lags      lags
	strikes
}

// The means are powers of two in hot code, where one instruction decides, and further apart
// elsewhere.
func newRandom(seed uint64) *random {
	x := &random{seed: seed}
	for _, mean := range []int{1, 2, 4, 8, 16} {
		x.hots = append(x.hots, newGeometric(mean))
	}
	for _, mean := range []int{20, 80, 320} {
		x.colds = append(x.colds, newGeometric(mean))
	}
	return x
}

func (x *random) begin(n uint64) {
	x.r = newRand(x.seed, n)
	x.hot = x.hots[x.r.IntN(len(x.hots))]
	x.cold = x.colds[x.r.IntN(len(x.colds))]
	x.left = x.hot.draw(x.r)
	x.patience = 1 << (3 * x.r.IntN(4))
	x.lags.begin(x.seed, n)
	x.strikes.begin(x.seed, n)
}

// drain lets the oldest store be seen now and then, and in a quarter of the schedules at once.
func (x *random) drain(_, held int) int { return drained(x.r, x.patience, held) }

func drained(r *rand.Rand, patience, held int) int {
	switch {
	case patience == 1:
		return held
	case r.IntN(patience) == 0:
		return 1 + r.IntN(held)
	}
	return 0
}

func (x *random) sees(cpu, by int, _ uint64) bool { return x.lags.sees(cpu, by) }

// lags decides what is seen of weakly ordered memory. Its random numbers are its own, so that those who have none of it find
// the same schedules as before.
type lags struct {
	r       *rand.Rand
	spins   [maxCPUs]bool // CPUs that wait for others in a loop, and are not kept waiting for long
	out, in int           // points at which a store waits on, and a load goes without it, of each at which it does not
}

func (x *lags) begin(seed, n uint64) {
	x.r = newRand(^seed, n)
	x.out, x.in = 1<<(3*x.r.IntN(4)), 1<<(3*x.r.IntN(4))
}

// spun notes whether the CPU that ran waits.
func (x *lags) spun(p *point) {
	if p.last >= 0 {
		x.spins[p.last] = p.spin
	}
}

func (x *lags) sees(cpu, by int) bool {
	n := x.in
	switch {
	case cpu == by && x.spins != [maxCPUs]bool{}:
		n = min(x.out, 8)
	case cpu == by:
		n = x.out
	case x.spins[cpu]:
		n = min(n, 2)
	}
	return n == 1 || x.r.IntN(n) == 0
}

func (x *random) next(p *point) (cpu, steps int) {
	x.lags.spun(p)
	steps = x.cold.draw(x.r)
	if p.hot && p.stays() {
		if x.left--; x.left > 0 {
			return p.last, steps
		}
	}
	x.left = x.hot.draw(x.r)
	if others := len(p.runnable) - 1; p.spin && others > 0 && p.stays() {
		cpu = p.runnable[x.r.IntN(others)] // who waits cannot go on before another does
		if cpu >= p.last {
			cpu = p.runnable[slices.Index(p.runnable, cpu)+1]
		}
		return cpu, steps
	}
	return p.runnable[x.r.IntN(len(p.runnable))], steps
}

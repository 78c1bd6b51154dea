package races

import "kprobesim/internal/clock"

// preemption is a place where a schedule departs from the turns of CPUs: at a hot point of a CPU, which are counted from 1 for each CPU
// by itself, another CPU goes on.
// Bounding their number follows Musuvathi and Qadeer (Iterative Context Bounding, 2007): most
// errors need few.
type preemption struct{ cpu, at, to int }

// hotPoint is a place where there could be a preemption.
type hotPoint struct {
	cpu, at int
	others  uint64 // CPUs that could go on, as bits
	turn    int    // points of one turn have the same number, if no other CPU ran between them
	over    bool   // the turn ends here
}

// planTurn is how many instructions a CPU of a plan executes before the next one does: few, so that what others do meanwhile is little.
const planTurn = 100

// bounded has CPUs take turns, but for the preemptions that it is given.
//
// What it does depends as little as possible on the order in which CPUs have run, so that plans can be told to do the same
// (reduce.go). A turn is as long as what its CPU executes says, also if it is interrupted by preemptions. Time passes at the ends of turns, by the
// instructions that were executed in them.
type bounded struct {
	plan []preemption
	log  *footprints // what is written down of the schedule, or nil

	spots  func(cpu int) spot
	hots   [maxCPUs]int    // hot points of each CPU so far
	turns  [maxCPUs]uint64 // instructions of each CPU when its turn began
	looked bool            // at whether the turn is over
	over   bool
	done   int // preemptions that have been made
	turn   int
}

func (x *bounded) begin(uint64) { *x = bounded{plan: x.plan, log: x.log, spots: x.spots} }

func (x *bounded) follows(spots func(cpu int) spot) { x.spots = spots }

// drain lets every store be seen at once, so plans know no buffers.
func (x *bounded) drain(_, held int) int { return held }

func (x *bounded) sees(int, int, uint64) bool { return true }

// strike is never anything: plans are made of preemptions.
func (x *bounded) strike(*point) (what strike, cpu int) { return nothing, 0 }

// next goes on behind passed, which is asked at each point as well.
func (x *bounded) next(p *point) (cpu, steps int) {
	over := x.over || !p.stays()
	x.looked = false
	if cpu = p.last; over {
		cpu = after(p)
	}
	if p.hot && p.stays() {
		cpu = x.depart(p, cpu, over)
	}
	if over || cpu != p.last {
		x.turn++
	}
	x.log.goesOn(cpu)
	return cpu, int(x.turns[cpu] + planTurn - x.spots(cpu).insns)
}

// passed is the time that has passed at a point: that of a turn which is over. A turn ends by itself when its CPU waits, or has executed so many
// instructions, which is no preemption.
func (x *bounded) passed(p *point) clock.Ticks {
	c := p.last
	if x.looked || c < 0 {
		return 0
	}
	n := x.spots(c).insns
	x.looked, x.over = true, !p.stays() || p.spin || n >= x.turns[c]+planTurn
	if !x.over {
		return 0
	}
	x.log.ends()
	t := clock.FromCycles(int64(n - x.turns[c]))
	x.turns[c] = n
	return t
}

// depart notes a hot point and returns who goes on there: the CPU that was to, or another one if that is planned.
func (x *bounded) depart(p *point, cpu int, over bool) int {
	c := p.last
	x.hots[c]++
	h := hotPoint{cpu: c, at: x.hots[c], turn: x.turn, over: over}
	for _, o := range p.runnable {
		if o != c && o != cpu {
			h.others |= 1 << o
		}
	}
	x.log.passes(h)
	if x.done == len(x.plan) {
		return cpu
	}
	if next := x.plan[x.done]; next.cpu == h.cpu && next.at == h.at && h.others>>next.to&1 != 0 {
		x.log.departs(h)
		x.done++
		return next.to
	}
	return cpu
}

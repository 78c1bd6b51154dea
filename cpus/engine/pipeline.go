package engine

import (
	"math/bits"
	"slices"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// pipeline is a core that is described by its pipes, and replaces what the window model assumes of ports and slots. Up to
// width operations are renamed a cycle. Each gets a pipe, and starts in the first cycle from which on its operands are
// ready and in which no older operation has that pipe: a pipe takes the oldest one that is ready. Operations are renamed
// in program order, so what older ones leave free is known, and one pass over the program finds all times (the
// method of uiCA: A. Abel and J. Reineke, ICS 2022, which goes cycle by cycle).
type pipeline struct {
	pipelineShape `state:"-"`

	at       ticks // the cycle of the last operation's renaming
	filled   int   // operations of that cycle
	divided  int   // how many of them were unlaminated
	retired  int   // operations that retire in the cycle of timing.retire
	supplied ticks // the last group of operations was fetched
	group    int   // operations, or decoded instructions, of that group
	marked   int   // instructions of the last window of code whose lengths were found in its last cycle
	paired   bool  // the last store is the second one of its cycle
	entered  ticks // the last store got into its buffer, where there are some
	// constants has a bit for each register with a constant that is still to be added.
	constants uint64
	// naming has the registers that name the place of a store, a bit each, and may have others.
	naming uint64
	lateness
	binding
	misses   []ticks // when the buffers of misses are free, if they are bounded
	branches uint64  // last byte of the last taken branch, and in the lowest bits how many of its line were taken up to it
	schedule
}

// pipelineShape is a pipeline's description.
type pipelineShape struct {
	width, retire, scheduler       int
	atStart                        bool
	choices                        []uint16 // pipes that are bound by groups, the first choice first; nil where none are
	bound                          uint16   // all of these
	load, address, data            uint16   // sets of pipes
	fuses                          [256]uint8
	decoders, rate                 int
	predecode, windowUops          int
	unlaminatesFirst               int
	lineMask                       uint64 // bytes of a window of the operation cache less one
	foldsReads, foldsStack, defers bool
	renamesStack                   bool   // of the loads that may be renamed, those by the stack pointer alone
	renamesSame                    bool   // those by the registers of the store
	entering                       ticks  // from store to store of those that get into a block's buffer; 0 without
	complex                        ticks  // a load of a Complex address takes so much longer
	flags                          uint64 // registers that hold flags
	lateFlags                      uint16 // operations, by their number in ISA.Fusible
	fusesNops                      bool
	nop                            uint8  // the class
	fast                           uint64 // taken branches of a line without a bubble; 0 for none
	override                       ticks  // bubble behind a first guess that was wrong
	prices                         [256]pipePrice
}

// pipePrice is a class on such a core.
type pipePrice struct {
	ops int                  // that are renamed
	n   int                  // sets of pipes
	to  [cpus.MaxUops]uint16 // sets

	defers   bool  // its result holds a constant that is still to be added
	copies   bool  // its result holds one if its operand does
	deferred ticks // its latency is longer if an operand holds one
	adds     int   // and it is so many operations more of its first set
	flags    ticks // its latency from flags is longer
	late     ticks // it is longer where they come late

	index ticks // it needs its first source, an index, so much later

	breaks      bool // it waits for flags alone
	unlaminates bool // it is an operation more if its address has an index
	renames     bool // its load has a store's data without latency if its address has none
}

// horizon is how many cycles ahead a pipe may be taken. What starts later finds all pipes free.
const horizon = 1 << 10

// schedule says which pipes are taken in which cycle, from the present one on.
type schedule struct {
	from    int64           // the present cycle
	taken   [horizon]uint16 // pipes, by cycle
	waiting [cpus.MaxPipes]uint16
	total   int // operations that wait
	columnState
}

// initPipeline prepares a core with pipes, when the description has them.
func (t *Core) initPipeline(isa *cpus.ISA, cfg *cpus.Config) {
	b := &cfg.BackEnd
	if !b.On || cfg.Model != cpus.Window {
		return
	}
	p := &pipeline{}
	t.pipes = p
	p.width, p.retire, p.scheduler, p.atStart = cfg.Width, b.Retire, b.Scheduler, b.AtStart
	sets := pipeSets(cfg)
	if b.InGroups {
		p.initBinding(cfg)
	}
	p.load, p.data, p.address = sets["load"], sets["store"], sets["store_address"]
	prices := isa.Inherit(cfg.Classes)
	for i, n := range isa.Classes {
		k := prices[n]
		price := &p.prices[i]
		for _, to := range k.To {
			if to != "" {
				price.to[price.n] = sets[to]
				price.n++
			}
		}
		price.ops = max(k.Ops, 1)
		price.unlaminates = slices.Contains(cfg.FrontEnd.Unlaminates, n)
		price.breaks, price.index = slices.Contains(b.Breaks, n), k.Index
		price.renames = slices.Contains(b.Renames, n)
		price.defers, price.deferred = slices.Contains(b.Defers, n), k.Deferred
		price.flags, price.adds, price.late = k.Flags, k.DeferredOps, k.LateFlags
		price.copies = price.n == 0 && k.Latency == 0
	}
	p.defers = len(b.Defers) > 0
	p.initLateFlags(isa, b)
	p.flags = t.flags
	p.decoders, p.rate = cfg.FrontEnd.Decoders, cfg.OpCache.Rate
	p.predecode, p.windowUops = cfg.FrontEnd.Predecode, cfg.OpCache.WindowUops
	p.unlaminatesFirst = cfg.FrontEnd.UnlaminatesFirst
	if p.rate != 0 {
		p.lineMask = uint64(cfg.OpCache.Window - 1)
	}
	t.initColumns(cfg)
	t.pairs, p.foldsStack, p.renamesStack = b.StorePairs, cfg.FrontEnd.FoldsStack, b.RenamesStack
	p.renamesSame, t.wholeWords = b.RenamesSame, b.RenamesSame || b.StoreWord != 0
	p.foldsReads, p.complex = cfg.FrontEnd.FoldsReads, ticks(b.ComplexAddress)*clock.PerCycle
	t.blockShift = uint(bits.TrailingZeros(uint(cfg.L1D.Line)))
	if b.StoreBlock != 0 {
		t.blockShift, t.pairs = uint(bits.TrailingZeros(uint(b.StoreBlock))), true
		p.entering = clock.PerCycle / ticks(max(bits.OnesCount16(p.data), 1))
		t.words = b.StoreWord != 0
	}
	p.override = cfg.Predictor.Tagged.Override
	p.fast, p.fusesNops, p.nop = uint64(cfg.FrontEnd.FastBranches), cfg.FrontEnd.FusesNops, uint8(slices.Index(isa.Classes, "nop"))
	p.initFusion(isa, &cfg.Fusion)
	p.melt(0, make([]uint64, pipeWords))
}

// cycleOf is the number of the first cycle from a time on.
func cycleOf(t ticks) int64 { return int64((t + clock.PerCycle - 1) / clock.PerCycle) }

// upTo forgets what was taken before a cycle.
func (s *schedule) upTo(cycle int64) {
	for ; s.total != 0 && s.from < cycle; s.from++ {
		at := &s.taken[s.from&(horizon-1)]
		for set := *at; set != 0; set &= set - 1 {
			s.waiting[bits.TrailingZeros16(set)&(cpus.MaxPipes-1)]--
			s.total--
		}
		*at = 0
		s.full[s.from&(horizon-1)] = 0
	}
	s.from = max(s.from, cycle)
}

// take gives an operation a pipe of a set from a time on, and returns when it starts.
func (s *schedule) take(set uint16, from ticks, atStart bool) ticks {
	if set == 0 {
		return from
	}
	cycle := max(cycleOf(from), s.from)
	if !atStart {
		set = s.shortest(set)
	}
	for ; cycle-s.from < horizon && s.place(set, cycle) == 0; cycle++ {
	}
	return max(from, ticks(cycle)*clock.PerCycle)
}

// place takes a pipe of a set in a cycle, and returns it, or 0 where none is free.
func (s *schedule) place(set uint16, cycle int64) uint16 {
	at := &s.taken[cycle&(horizon-1)]
	free := set &^ *at
	if free == 0 {
		return 0
	}
	free &= -free
	*at |= free
	s.waiting[bits.TrailingZeros16(free)&(cpus.MaxPipes-1)]++
	s.total++
	return free
}

// shortest is the pipe of a set for which the fewest operations wait, the last of several.
func (s *schedule) shortest(set uint16) uint16 {
	if set&(set-1) == 0 {
		return set
	}
	best, least := uint16(0), ^uint16(0)
	for ; set != 0; set &= set - 1 {
		if n := s.waiting[bits.TrailingZeros16(set)&(cpus.MaxPipes-1)]; n <= least {
			best, least = set&-set, n
		}
	}
	return best
}

// rename gives n operations slots of renaming from a time on, entries of the reorder buffer and of the scheduler. It
// returns when the last one has all of it.
func (c *Core) rename(d ticks, n, wait int) ticks {
	p := c.pipes
	p.notBefore(d)
	p.upTo(cycleOf(p.at))
	for p.scheduler != 0 && p.total != 0 && p.total+wait > p.scheduler {
		p.notBefore(p.at + 1)
		p.upTo(cycleOf(p.at))
	}
	at := c.at
	for i := range n {
		if i < c.rob {
			p.notBefore(c.ring[at&(cpus.MaxWindow-1)])
			if at++; at >= c.rob {
				at = 0
			}
		}
		if p.filled == p.width {
			p.notBefore(p.at + 1)
		}
		p.filled++
	}
	if p.lateFlags != 0 && n != 0 {
		p.count(n, p.width)
	}
	p.upTo(cycleOf(p.at))
	return p.at
}

// renameDivided is rename of an operation that is unlaminated, which is one of the first ones of its cycle.
func (c *Core) renameDivided(d ticks, n, wait int) ticks {
	p := c.pipes
	if p.notBefore(d); p.filled-p.divided >= p.unlaminatesFirst {
		p.notBefore(p.at + 1)
	}
	d = c.rename(d, n, wait)
	p.divided++
	return d
}

// notBefore has the next operation be renamed at a time, or in the first cycle behind it.
func (p *pipeline) notBefore(t ticks) {
	if t > p.at {
		p.at, p.filled, p.divided = ticks(cycleOf(t))*clock.PerCycle, 0, 0
	}
}

// retireAll retires n operations that are done at a time, in order, and returns when the last does.
func (c *Core) retireAll(n int, done, retire ticks) ticks {
	p := c.pipes
	if done = ticks(cycleOf(done)) * clock.PerCycle; done > retire {
		retire, p.retired = done, 0
	}
	if p.retire != 0 {
		for p.retired += n; p.retired > p.retire; p.retired -= p.retire {
			retire += clock.PerCycle
		}
	}
	for range min(n, c.rob) {
		c.ring[c.at&(cpus.MaxWindow-1)] = retire
		if c.at++; c.at >= c.rob {
			c.at = 0
		}
	}
	return retire
}

// supply returns when the front end has an instruction of n operations. The loop buffer needs no fetch.
func (c *Core) supply(op *Op, n int, d ticks) ticks {
	p := c.pipes
	switch {
	case c.streams:
		return d
	case p.rate != 0 && op.Flags&overflows == 0: // one window of code a cycle is predicted, and operations of several windows are delivered together
		if op.Flags&newLine != 0 {
			c.fetched = max(c.fetched, d-c.lead) + clock.PerCycle
		}
		if p.group += n; p.group > p.rate {
			p.supplied = max(p.supplied, d-c.lead) + clock.PerCycle
			for p.group = n; p.group > p.rate; p.group -= p.rate {
				p.supplied += clock.PerCycle
			}
		}
		return max(d, p.supplied, c.fetched)
	default:
		c.decode(op, n, d)
	}
	return max(d, p.supplied)
}

// decode is supply from memory: a window of bytes a cycle, or more if it has many instructions, and behind it decoders. With complexFirst one of them takes
// what is several operations.
func (c *Core) decode(op *Op, n int, d ticks) {
	p := c.pipes
	if op.Flags&newWindow != 0 {
		c.fetched, p.marked = max(c.fetched, d-c.lead)+clock.PerCycle, 0
	}
	if p.marked++; p.predecode != 0 && p.marked > p.predecode {
		c.fetched, p.marked = max(c.fetched, d-c.lead)+clock.PerCycle, 1
	}
	if p.decoders != 0 {
		p.group++
	}
	late := c.fetched > max(p.supplied, d-c.lead) // what was fetched before that waits in the queue
	if late || p.decoders != 0 && p.group > p.decoders || c.cost[op.Class].first {
		p.supplied = max(p.supplied, d-c.lead) + clock.PerCycle
		p.supplied = max(p.supplied, c.fetched)
		p.group = min(1, p.decoders)
	}
}

// fullGroup is more than any front end supplies at once.
const fullGroup = 1 << 8

// redirectPipes is settleBranch of such a core. The instruction behind the branch begins a window, or a group of its own for
// decoders, which takes a cycle.
func (c *Core) redirectPipes(done ticks) {
	p := c.pipes
	if p.rate == 0 && p.decoders != 0 {
		p.group = fullGroup
	}
	if c.outcome&mispredicted != 0 {
		c.step.Stalls.Mispredict += c.ev[evMispredict]
		c.dispatch = max(c.dispatch, done) + c.ev[evMispredict]
		p.supplied, c.fetched = c.dispatch-clock.PerCycle, c.dispatch-clock.PerCycle
		return
	}
	bubble := ticks(0)
	if c.outcome&taken != 0 {
		bubble = c.bubble()
	}
	if c.outcome&overrode != 0 {
		bubble = max(bubble, p.override)
	}
	p.supplied = max(p.supplied, c.dispatch-c.lead) + bubble
	c.fetched = max(c.fetched, c.dispatch-c.lead) + bubble
}

// branchCount is the part of pipeline.branches that counts.
const branchCount = 1<<6 - 1

// bubble returns the cost of a taken branch to the front end. The first ones of a line may be predicted without one.
func (c *Core) bubble() ticks {
	p := c.pipes
	if p.fast == 0 {
		return c.ev[evTaken]
	}
	last, at, n := p.branches>>6, c.cur.ends<<6>>6, uint64(1)
	if last/branchLine == at/branchLine && last < at {
		n = min(p.branches&branchCount+1, branchCount)
	}
	p.branches = at<<6 | n
	if n > p.fast {
		return c.ev[evTaken]
	}
	return 0
}

// branchLine is the bytes of code that share places of a predictor.
const branchLine = 64

// schedulePipes is scheduleOps of such a core.
func (c *Core) schedulePipes(ops []Op) (done ticks) {
	p, d := c.pipes, c.dispatch
	for i := c.settled; i < len(ops); i++ {
		op := &ops[i]
		k := &c.cost[op.Class]
		if k.inOrder {
			c.dispatch = d
			c.settleInOrder(op, k, &c.acc[i&(accesses-1)])
			d, done = c.dispatch, c.retire
			c.changeNames(op)
			continue
		}
		u := &p.prices[op.Class]
		n, wait := u.ops, u.n
		switch {
		case op.Flags&fusedFirst != 0:
			n, wait = 0, 0
		case op.Flags&unlaminated != 0:
			n++
		}
		if op.Flags&(moves|namesStack) != 0 {
			d = c.stackPipe(op, d)
		}
		d = c.supply(op, n, d)
		if p.choices != nil {
			p.join(op, u, n, d)
		}
		loads := op.Flags&Loads != 0 && c.loads != nil
		if loads {
			d = max(d, c.loads.free())
		}
		if op.Flags&Stores != 0 && c.queue != 0 {
			d = max(d, c.storeFree())
		}
		if p.unlaminatesFirst != 0 && op.Flags&unlaminated != 0 {
			d = c.renameDivided(d, n, wait)
		} else {
			d = c.rename(d, n, wait)
		}
		d, done = c.executePipes(op, u, n, d, &c.acc[i&(accesses-1)])
		c.changeNames(op)
		if loads {
			c.loads.take(c.retire)
		}
		if i > 0 && ops[i-1].Flags&fusedFirst != 0 {
			c.setPairFlags(&ops[i-1], done)
			p.noteLate(&ops[i-1])
		}
	}
	c.dispatch = d
	return done
}

// stackPipe is stackPointer of such a core: the operation that adds up what the stack engine held back is renamed by itself.
func (c *Core) stackPipe(op *Op, d ticks) ticks {
	sp := &c.ready[c.stack&regMask]
	if op.Flags&namesStack != 0 && c.moved && !c.pipes.foldsStack && (!c.pipes.foldsReads || op.results()>>(c.stack&regMask)&1 != 0) {
		if c.pipes.choices != nil {
			c.pipes.join(op, &noPipes, 1, d)
		}
		d = c.rename(d, 1, 1)
		*sp = max(*sp, d) + clock.PerCycle
		c.moved = false
		c.retire = c.retireAll(1, *sp, c.retire)
	}
	if op.Flags&moves != 0 {
		c.ready[stackAddress] = *sp
		if c.moved = c.stackEngine; !c.stackEngine {
			*sp = max(*sp, d) + clock.PerCycle
		}
	}
	return d
}

// executePipes executes and retires an instruction of n operations that were renamed. It returns the time of dispatch
// behind it and when it is done.
func (c *Core) executePipes(op *Op, u *pipePrice, n int, d ticks, a *access) (_, done ticks) {
	p, k := c.pipes, &c.cost[op.Class]
	ready := max(d, c.ready[op.S1&regMask], c.ready[op.S2&regMask], c.ready[op.S3&regMask])
	if u.index != 0 {
		ready = max(d, c.ready[op.S1&regMask]-u.index, c.ready[op.S2&regMask], c.ready[op.S3&regMask])
	}
	if u.flags != 0 {
		ready = max(ready, c.flagsReady(op)+u.flags)
	}
	if op.Flags&Loads != 0 {
		var data ticks
		d, data = c.loadPipes(op, u, d, a)
		ready = max(ready, data)
	}
	if op.Flags&fusedFirst != 0 {
		done = ready // the branch behind it has the flags at once
		computed := ready + max(k.latency, clock.PerCycle)
		c.ready[op.O1&regMask], c.ready[op.O2&regMask] = computed, computed
		c.setPairFlags(op, ready)
		return d, done
	}
	free := ready
	if k.unit != noPort {
		ready = max(ready, c.port[k.unit&portMask])
	}
	start, last := ready, ready
	for i := range u.n {
		set := u.to[i&(cpus.MaxUops-1)]
		if p.choices != nil {
			set = p.chosen[i&(cpus.MaxUops-1)]
		}
		at := p.take(set, ready, p.atStart)
		if last = max(last, at); i == 0 {
			start = at
		}
	}
	if k.unit != noPort {
		c.port[k.unit&portMask] = start + k.busy
	}
	latency := k.latency
	if p.lateFlags != 0 {
		latency += p.late(op, u)
		p.noteLate(op)
	}
	if p.defers {
		latency += c.deferral(op, u, ready)
	}
	done = max(start+latency, last+min(k.latency, clock.PerCycle))
	second := done
	if k.second != 0 {
		second = c.secondResult(op, k, free, done)
	}
	c.ready[op.O1&regMask] = done
	c.ready[op.O2&regMask] = second
	c.readyAlso(op.Also, done)
	if op.Flags&Stores != 0 {
		done = c.storePipes(op, d, done, a)
	}
	c.retire = c.retireAll(n, max(done, second), c.retire)
	if op.Flags&Stores != 0 {
		d = max(d, c.drained-c.slack)
	}
	return d, done
}

// pipeWords are words of a state before the schedule.
const pipeWords = 6

// freezePipes appends the pipeline's state as it is seen from the time of dispatch. Slots that are taken matter in the
// cycle of dispatch only, and what has retired when something else may retire in that cycle.
func (c *Core) freezePipes(w []uint64, d ticks) []uint64 {
	p := c.pipes
	p.upTo(cycleOf(d))
	filled, divided, retired, paired, given := 0, 0, 0, uint64(0), uint64(0)
	if p.at == d {
		filled, divided, given = p.filled, p.divided, p.freezeBinding()
	}
	if c.retire >= d {
		retired = p.retired
	}
	if p.paired && c.drained > d { // else the next store cannot join it
		paired = 1
	}
	marked := min(p.marked, p.predecode)
	head := len(w)
	w = append(w, uint64(filled)|uint64(p.inGroup)<<4|paired<<7|uint64(retired)<<8|uint64(divided)<<20|uint64(p.group)<<24|uint64(marked)<<40, uint64(max(p.supplied, d-c.lead)-d), p.branches, p.freezeColumns(), p.constants|p.fresh, uint64(max(p.entered+p.entering, d)-d)|given)
	left := p.total
	for i := int64(0); left > 0; i++ {
		if set := p.taken[(p.from+i)&(horizon-1)]; set != 0 {
			w = append(w, uint64(p.full[(p.from+i)&(horizon-1)])<<32|uint64(i)<<16|uint64(set))
			left -= bits.OnesCount16(set)
		}
	}
	w[head] |= uint64(len(w)-head-pipeWords) << 48
	return p.freezeMisses(w, d)
}

// melt is the way back. It returns what is behind the pipeline's state.
func (p *pipeline) melt(d ticks, w []uint64) []uint64 {
	p.at = d - d%clock.PerCycle
	p.filled, p.inGroup, p.retired, p.group = int(w[0]&15), int(w[0]>>4&7), int(w[0]>>8&0xfff), int(w[0]>>24&0xffff)
	p.divided = int(w[0] >> 20 & 15)
	p.paired, p.marked = w[0]>>7&1 != 0, int(w[0]>>40&0xff)
	p.supplied, p.branches, p.constants, p.fresh = d+ticks(w[1]), w[2], w[4]&^p.flags, w[4]&p.flags
	n := int(w[0] >> 48)
	p.upTo(p.from + horizon)
	p.from = cycleOf(d)
	p.meltColumns(w[3])
	p.entered = d + ticks(uint32(w[5])) - p.entering
	p.meltBinding(w[5])
	for _, v := range w[pipeWords : pipeWords+n] {
		set := uint16(v)
		at := (p.from + int64(v>>16&0xffff)) & (horizon - 1)
		p.taken[at], p.full[at] = set, uint16(v>>32)
		p.total += bits.OnesCount16(set)
		for ; set != 0; set &= set - 1 {
			p.waiting[bits.TrailingZeros16(set)&(cpus.MaxPipes-1)]++
		}
	}
	return p.meltMisses(d, w[pipeWords+n:])
}

// freezePipesRing is freezeRing where width entries are needed a cycle.
func (c *Core) freezePipesRing(w []uint64, d ticks) []uint64 {
	p, at, bound := c.pipes, c.at, d
	taken := 0
	if p.at == d {
		taken = p.filled
	}
	for i := range c.rob {
		if bound = max(bound, d+ticks((taken+i)/p.width)*clock.PerCycle); bound >= c.retire {
			break
		}
		if t := c.ring[at&(cpus.MaxWindow-1)]; t > bound {
			w = append(w, uint64(t-d)<<16|uint64(i))
			bound = t
		}
		if at++; at >= c.rob {
			at = 0
		}
	}
	return w
}

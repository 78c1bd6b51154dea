package engine

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// ticks shortens the unit of the cost models.
type ticks = clock.Ticks

// price is a cpus.Cost made ready for the hot path.
type price struct {
	issue, slots, latency ticks
	occupancy, busy       ticks // of its port and its unit
	port, unit            uint8
	second                ticks // latency of the second result, or zero
	groupSlots            uint8 // in a dispatch group
	groups                ticks // time that its dispatch groups take
	alone                 bool  // it shares its group with nothing
	serialize             bool
	first                 bool // begins a decode group
	inOrder               bool // settleInOrder schedules it
}

// Ports that every core has. noPort is never waited for.
const (
	noPort = iota
	portALU
	portLoad
	portStore
	portBranch
	commonPorts
	maxPorts = cpus.MaxPorts + 1
)

// portMask lets the compiler leave bounds checks out.
const portMask = maxPorts - 1

// Ports names the ports that every core has. An instruction set may have more behind them.
func Ports() []string { return []string{"alu", "load", "store", "branch"} }

// Events whose cost the engine charges, beside the events of package cpus.
const (
	evMispredict = iota
	evTaken
	evForward
	evModifyForward
	evStackForward
	evLoadUse
	evLonger
	evClear
	evCommit
	evFill
	evSplit
	evSplitPage
	evTLBWalk
	evTransfer
	evUpgrade
	events
)

// eventNames has the names of events in machine descriptions.
var eventNames = [events]string{
	evMispredict:    "mispredict",     // front-end refill after the branch was resolved
	evTaken:         "taken_branch",   // bubble behind a correctly predicted taken branch
	evForward:       "store_forward",  // from a store's data to a load of it
	evModifyForward: "modify_forward", // the same to an instruction that stores as well
	evStackForward:  "stack_forward",  // from push or call to pop or return
	evLonger:        "forward_longer", // the same to a load that begins where the store does and reads more
	evClear:         cpus.EventClear,  // from a store's address to a load of its bytes that went ahead and was wrong
	evLoadUse:       "load_use",       // what a load costs in the throughput model
	evCommit:        "store_commit",   // from a store's retirement to its place in the cache
	evFill:          "store_fill",     // a line that a store asked for is written, and the one in its place read, while no store is
	evSplit:         "split_line",     // an access that crosses a cache line
	evSplitPage:     "split_page",     // a store that crosses a page
	evTLBWalk:       "tlb_walk",       // a walk, beside the loads it makes
	evTransfer:      cpus.EventTransfer,
	evUpgrade:       cpus.EventUpgrade,
}

// Spared has the events that a description need not price, with what they cost then.
func Spared() map[string]string {
	return map[string]string{eventNames[evSplitPage]: eventNames[evSplit], eventNames[evLonger]: "", eventNames[evClear]: "", eventNames[evFill]: ""}
}

// Events names the events that the engine charges: every instruction set lists them among its own.
func Events() []string { return eventNames[:] }

// timing is the state of the cost models: when instructions issue, complete and retire.
//
// In the window model an instruction issues when a slot is free and the one Window instructions before
// it has retired; it starts when its operands are ready and its port has bandwidth, and retires in
// order. In the throughput model it issues when its predecessor has retired and waits for its own
// memory only. Both meet the same caches, TLBs and predictors.
type timing struct {
	retire   ticks // the last instruction retired
	dispatch ticks // the next instruction may issue
	settled  int   // instructions of the running block that have their time
	window   bool
	late     ticks  // how far dispatch was held up since the last block
	entering bool   // the next block is entered by a branch
	drained  ticks  // when the last store reaches the cache
	slack    ticks  // what the store buffer hides
	queue    uint64 `state:"-"` // entries of the store queue; 0 without one

	storeBusy ticks // time that a store keeps its port
	fetched   ticks // the last window was fetched
	lead      ticks // how far fetch may run ahead of issue
	repriced  uint8 // class of the block's last instruction where it is not the usual one, or zero

	predictor
}

// windowState holds the state of the window model.
type windowState struct {
	streams bool // the loop buffer feeds decode: nothing is fetched
	moved   bool // the stack engine holds a displacement that the stack pointer lacks

	stackEngine, zeroIdioms bool
	stack                   uint8  // number of the stack pointer
	sink                    uint8  // number of a register that nothing waits for
	flags                   uint64 // registers that hold flags
	farthest                ticks  // the longest way of a store's data to a load

	slot       ticks  // one issue slot
	loadBusy   ticks  // time that a load keeps its port
	fetchMask  uint64 // bytes of a fetch window less one; zero when fetch is not modelled
	rob        int    // instructions in flight, or groups
	grouped    bool   // dispatch goes by groups
	scoreboard bool   // instructions start in order
	width      uint8  // slots of a group, and
	room       uint8  // those that are not for branches alone
	group      groupState
	pipes      *pipeline // of a core that is described by them, or nil
	loads      *loadQueue
	conflicts  *conflicts // of a core that prices clears, or nil
	wrote      uint64     `state:"-"` // times that a load was put into conflicts
	leastIssue ticks      // of any class, and no more than a slot
	at         int        // place of the next instruction in ring
	ready      [Registers]ticks
	port       [maxPorts]ticks
	stores     [forwards]storeTimes  // of the last stores, by number
	placed     uint64                // number of the last store in stores
	ring       [cpus.MaxWindow]ticks // retirement of the last rob instructions
}

// prices are the numbers of the machine description.
type prices struct {
	ev   [events]ticks
	cost [256]price // by class
}

// storeTimes is a store as younger loads see it.
type storeTimes struct {
	data    ticks // its data are known
	commit  ticks // it is in the cache
	pushed  bool  // it went where the stack pointer goes
	address ticks // its address is known, of a core with pipes
	place   placeName
}

// init makes the tables of the models. inOrder are classes that neither model lets overlap, beside those
// that the description serializes.
func (t *Core) initTiming(isa *cpus.ISA, cfg *cpus.Config, inOrder []uint8) {
	t.slot = clock.PerCycle / clock.Ticks(cfg.Width)
	t.rob = cfg.Window
	t.initGroups(cfg)
	t.initPipeline(isa, cfg)
	if n := cfg.FrontEnd.FetchBytes; n != 0 {
		t.fetchMask = uint64(n - 1)
	}
	t.lead = t.slot * ticks(cfg.FrontEnd.Queue)
	if t.pipes != nil {
		t.lead = clock.PerCycle * ticks(cfg.FrontEnd.Queue) / ticks(cfg.Width)
	}
	t.window = cfg.Model != cpus.Throughput
	t.scoreboard = cfg.Model == cpus.Scoreboard
	t.initLoads(cfg.LoadQueue)
	t.initConflicts(cfg)
	f := cfg.FrontEnd
	t.stackEngine, t.zeroIdioms = f.StackEngine, f.ZeroIdioms
	if t.window {
		t.loop.size, t.loop.windows = uint64(f.LoopBuffer), uint64(f.LoopWindows)
		t.loops = f.LoopBuffer != 0
		t.aside = t.loops
		t.loop.shift = uint(bits.Len64(t.fetchMask))
	}
	ports := portNames(isa, cfg)
	prices := isa.Inherit(cfg.Classes)
	for i, n := range isa.Classes {
		t.cost[i] = t.price(ports, cfg, prices[n])
	}
	for _, class := range inOrder {
		t.cost[class].inOrder = true
	}
	for i, n := range eventNames {
		t.ev[i] = cfg.Events[n]
	}
	t.leastIssue = t.slot
	for i := range isa.Classes {
		t.leastIssue = min(t.leastIssue, t.cost[i].issue, t.cost[i].slots)
	}
	if t.grouped || t.pipes != nil {
		t.leastIssue = 0 // the next one may go into the present group
	}
	t.farthest = max(t.ev[evForward], t.ev[evModifyForward], t.ev[evStackForward], t.ev[evLonger])
	if t.begun = blocking; t.ev[evLonger] != 0 {
		t.begun = longer
	}
	if t.partly = blocking; cfg.BackEnd.ForwardsInside {
		t.partly = inside
	}
	if len(cfg.BackEnd.Renames) > 0 {
		t.farthest = max(t.farthest, cfg.L1D.Latency) // data that are known early enough are used where the cache would not have answered
	}
	t.loadBusy, t.storeBusy = cfg.Ports["load"], cfg.Ports["store"]
	if t.pipes != nil {
		t.storeBusy = clock.PerCycle / ticks(max(bits.OnesCount16(t.pipes.data), 1))
		if t.pairs {
			t.storeBusy = clock.PerCycle
		}
	}
	t.slack = t.storeBusy * ticks(cfg.StoreBuffer)
	t.initMisses(cfg)
}

// portNames are the ports that every core has, and behind them the description's.
func portNames(isa *cpus.ISA, cfg *cpus.Config) []string {
	names := slices.Clone(isa.Ports)
	for _, n := range slices.Sorted(maps.Keys(cfg.Ports)) {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

func (t *Core) price(ports []string, cfg *cpus.Config, k cpus.Cost) price {
	p := price{
		issue: k.Issue, slots: k.Slots, latency: k.Latency, serialize: k.Serialize,
		port: uint8(1 + slices.Index(ports, k.Port)), unit: uint8(1 + slices.Index(ports, k.Unit)),
	}
	p.issue = cmp.Or(p.issue, t.slot)
	p.slots = cmp.Or(p.slots, p.issue)
	p.occupancy = cfg.Ports[k.Port]
	if k.Unit == "" {
		p.occupancy = cmp.Or(k.Occupancy, p.occupancy)
	} else {
		p.busy = cmp.Or(k.Occupancy, cfg.Ports[k.Unit])
	}
	p.inOrder = k.Serialize || k.InOrder
	p.second, p.alone = k.Latency2, k.Alone
	p.groupSlots = uint8(min((p.slots+t.slot-1)/t.slot, ticks(t.width)))
	p.groups = max((p.slots+clock.PerCycle-1)/clock.PerCycle*clock.PerCycle, clock.PerCycle)
	p.first = cfg.FrontEnd.ComplexFirst && k.Slots > t.slot
	return p
}

// Settle brings the clock up to the running instruction, for those that look at it.
func (c *Core) Settle() {
	if c.idx != between {
		c.settle(c.idx)
	}
}

// settleInOrder schedules the instructions that neither model lets overlap.
func (c *Core) settleInOrder(op *Op, k *price, a *access) {
	d := max(c.dispatch, c.retire)
	if k.serialize {
		d = max(d, c.drained)
	}
	if op.Flags&Stores != 0 && c.queue != 0 {
		d = max(d, c.storeFree())
	}
	cost := k.issue
	if op.Flags&Loads != 0 {
		cost += c.ev[evLoadUse]
	}
	if op.Flags&(Loads|Stores) != 0 {
		cost += a.miss
	}
	done := d + cost
	if op.Flags&Stores != 0 {
		c.commit(op, storeTimes{data: done}, d, done, a)
	}
	c.ready[op.O1&regMask], c.ready[op.O2&regMask] = done, done
	if c.pipes != nil {
		c.settleConstants(op)
	}
	c.allDone(done) // it takes no place in ring, because nothing behind it could wait for it there
	*a = access{}
}

// commit sends a store on its way to the cache, which it reaches in order, at the earliest when
// says: issue waits when more are on their way than the buffer holds. Its address is known from asked on.
func (c *Core) commit(op *Op, s storeTimes, asked, when ticks, a *access) {
	if c.pairs {
		c.commitPairs(when, a)
	} else {
		c.drained = max(c.drained+c.storeBusy, when)
	}
	c.drained += a.missW
	if a.own != 0 {
		c.drained = max(c.drained, c.pipes.missing(asked, c.l1Lat+a.own)) + c.ev[evFill]
	}
	if a.store > c.placed {
		c.placed = a.store
		s.commit, s.pushed = c.drained, op.Flags&Pushes != 0
		c.stores[a.store&(forwards-1)] = s
	}
	a.missW, a.own, a.pair = 0, 0, false
}

// settleBranch redirects the front end after a branch: a bubble when it was predicted and taken, a
// refill from the moment it was resolved when it was not predicted, nothing when the loop buffer has what
// follows.
func (c *Core) settleBranch(done ticks) {
	c.streams = c.loop.streams() && c.outcome&mispredicted == 0
	if c.streams {
		return
	}
	switch {
	case c.pipes != nil:
		c.redirectPipes(done)
	case c.outcome&mispredicted != 0:
		c.step.Stalls.Mispredict += c.ev[evMispredict]
		c.dispatch = max(c.dispatch, done) + c.ev[evMispredict]
		c.fetched = c.dispatch
	default:
		c.fetched = max(c.fetched, c.dispatch-c.lead) + c.ev[evTaken]
		c.dispatch = max(c.dispatch, c.fetched)
	}
	c.entering = true
}

// Drain waits for everything in flight and then lets t pass. What takes as long each time, as the delivery of
// an exception does, is remembered.
func (c *Core) Drain(t ticks) {
	if c.untimed.on {
		c.retire += c.untimed.each // a guest that does nothing but fault has its time pass
		c.dispatch = c.retire
		c.forgetOperands()
		return
	}
	if c.memo.here == 0 || !c.drainByMemo(t) {
		c.detachMemo()
		c.drain(t)
	}
	c.forgetOperands()
}

// drain is Drain of the models' state.
func (c *Core) drain(t ticks) {
	d := max(c.retire, c.dispatch, c.drained) + t
	c.allDone(d)
	c.moved, c.streams = false, false
}

// allDone has everything in flight be done at a time, and the cycle of that time retire as many as any other.
func (c *Core) allDone(t ticks) {
	c.retire, c.dispatch = t, t
	if c.pipes != nil {
		c.pipes.retired = 0
	}
}

// forgetOperands drops delays and outcomes that no instruction was charged for.
func (c *Core) forgetOperands() {
	c.acc[between] = access{}
	c.loop.reset()
	c.outcome = 0
}

// DrainAccesses waits for the loads that were made between two instructions.
func (c *Core) DrainAccesses() {
	c.applyInputs()
	c.Drain(c.acc[between].miss)
}

// ChargeWalk charges the walk of page tables for a translation that no TLB has: the loads that the
// walker makes go through the caches. Entries of page tables are cached as data are, so a second
// walk to the same table is cheaper. Paging-structure caches are left out.
func (c *Core) ChargeWalk(refs *mmu.Refs, exec bool) {
	if c.untimed.on {
		return
	}
	cost := c.ev[evTLBWalk]
	for i := range refs.N {
		if c.Memory.Holds(refs.PA[i], 8) {
			cost += c.lookup(refs.PA[i])
		}
	}
	if exec {
		c.Counts.ITLBMisses++
	} else {
		c.Counts.DTLBMisses++
	}
	c.chargeTranslation(cost, exec)
}

// chargeTranslation has the running instruction wait for a translation.
func (c *Core) chargeTranslation(cost ticks, exec bool) {
	if c.untimed.on {
		return
	}
	if exec {
		c.step.Stalls.ITLB += cost
		c.holdUp(cost)
		return
	}
	c.step.Stalls.DTLB += cost
	c.delay(inMiss, cost)
}

// backTLBs puts the TLB of the second level behind the others, where there is one.
func (c *Core) backTLBs(cfg *cpus.Config, sizes mmu.PageSizes) {
	if cfg.TLB2.Entries == 0 {
		return
	}
	second := mmu.NewTLB(cfg.TLB2.TLBConfig, sizes)
	c.ITLB.Back(second)
	c.DTLB.Back(second)
	c.tlb2Lat = cfg.TLB2.Latency
}

// FindPage returns the translation of va that a TLB has, or the one behind it, whose latency it charges; or nil.
func (c *Core) FindPage(t *mmu.TLB, va uint64, exec bool) *mmu.Page {
	p := t.Find(va)
	if p == nil {
		if p = t.FindBehind(va); p != nil {
			c.chargeTranslation(c.tlb2Lat, exec)
		}
	}
	return p
}

package x86

import (
	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// ticks shortens the unit of the cost model.
type ticks = clock.Ticks

// price is a cpus.Cost made ready for the hot path.
type price struct {
	issue, latency, occupancy ticks
	port                      uint8
	serialize                 bool
	first                     bool // begins a decode group
	inOrder                   bool // accountInOrder places it
}

// Ports of the cost model. noPort is never waited for.
const (
	noPort = iota
	portALU
	portLoad
	portStore
	portBranch
	ports
)

var portNames = [ports]string{"", "alu", "load", "store", "branch"}

// forwards is the number of recent stores whose data a load may have to wait for.
const forwards = 64

type forward struct {
	key    uint64 // physical address / 8, plus one
	bytes  uint64 // mask of the bytes written there
	ready  ticks  // its data can be forwarded
	commit ticks  // it is in the cache
}

// timing is the cost model: when instructions issue, complete and retire.
//
// In the window model an instruction issues when a slot is free and the one Window places before
// it has retired; it starts when its operands are ready and its port has bandwidth, and retires in
// order. In the throughput model it issues when its predecessor has retired and waits for its own
// memory only. Both meet the same caches, TLBs and predictors.
type timing struct {
	retire   ticks // the last instruction retired
	dispatch ticks // the next instruction may issue
	mark     ticks // accounted up to here
	slot     ticks // one issue slot
	ready    [32]ticks
	port     [8]ticks
	ring     [cpus.MaxWindow]ticks // retirement of the last rob instructions
	rob      int
	at       int

	acc      [accesses]access
	idx      int   // of the running instruction in its block, and of its entry in acc
	extra    ticks // time that a repeated instruction adds itself
	redirect bool  // the instruction was mispredicted
	taken    bool  // it was a taken branch
	entering bool  // the next block is entered by a branch

	fetchMask uint64 // bytes of a fetch window less one; zero when fetch is not modelled
	fetched   ticks  // the last window was fetched
	lead      ticks  // how far fetch may run ahead of issue
	window    bool
	slack     ticks      // what the store buffer hides
	drained   ticks      // when the last store reaches the cache
	cost      [256]price // by class
	ev        [events]ticks
	occLoad   ticks
	loadUse   ticks
	occStor   ticks
	fwd       [forwards]forward

	l1i, l1d, l2         *mmu.Cache
	iRecent, dRecent     []uint32
	sRecent              []uint32 // dRecent, of lines that may be written; the same slice on one CPU
	iMask, dMask         uint32
	dShift               uint
	l1Lat, l2Lat, memLat ticks
	predictor
	ctr   cpus.Counters
	count uint64 // instructions not yet booked
	ctx   uint8  // exception context
	ctxs  []uint8
	phase uint8
}

// access is what the memory operands of one instruction met.
type access struct {
	miss  ticks  // delay of its loads beyond the L1 latency
	missW ticks  // delay of its stores on their way to the cache
	load  uint64 // eight-byte unit that it read, plus one; zero when it read nothing
	store uint64 // and wrote
	from  uint64 // masks of the bytes in those units
	to    uint64
}

// accesses bounds the instructions of a block; the last entry is for accesses between instructions.
const (
	accesses = 128
	between  = accesses - 1
)

// freshPhase marks time after an exception's delivery, which belongs to the handler's first block.
const freshPhase = 255

func (t *timing) init(cfg *cpus.Config) {
	t.slot = clock.PerCycle / clock.Ticks(cfg.Width)
	t.rob = cfg.Window
	t.idx = between
	if f := cfg.FrontEnd.FetchBytes; f != 0 {
		t.fetchMask = uint64(f - 1)
	}
	t.lead = t.slot * ticks(cfg.FrontEnd.Queue)
	t.window = cfg.Model == cpus.Window
	for i, n := range classNames {
		t.cost[i] = t.price(cfg, cfg.Classes[n])
	}
	t.cost[clRepStart].inOrder = true
	for i, n := range eventNames {
		t.ev[i] = cfg.Events[n]
	}
	t.loadUse = t.ev[evLoadUse]
	t.occLoad, t.occStor = cfg.Ports["load"], cfg.Ports["store"]
	t.slack = t.occStor * ticks(cfg.StoreBuffer)
	t.l1i, t.l1d, t.l2 = mmu.NewCache(cfg.L1I), mmu.NewCache(cfg.L1D), mmu.NewCache(cfg.L2)
	t.iRecent, t.iMask = t.l1i.Recent, t.l1i.Mask
	t.dRecent, t.dMask, t.dShift = t.l1d.Recent, t.l1d.Mask, t.l1d.Shift()
	t.sRecent = t.dRecent
	t.l1Lat, t.l2Lat, t.memLat = cfg.L1D.Latency, cfg.L2.Latency, cfg.Memory
	t.predictor.init(cfg.Predictor)
}

func (t *timing) price(cfg *cpus.Config, k cpus.Cost) price {
	p := price{issue: k.Issue, latency: k.Latency, occupancy: k.Occupancy, serialize: k.Serialize}
	if p.issue == 0 {
		p.issue = t.slot
	}
	for i, n := range portNames {
		if n == k.Port {
			p.port = uint8(i)
		}
	}
	if p.occupancy == 0 {
		p.occupancy = cfg.Ports[k.Port]
	}
	p.inOrder = k.Serialize || k.InOrder
	p.first = cfg.FrontEnd.ComplexFirst && p.issue > t.slot
	return p
}

// settle gives the executed instructions of the running block, up to n, their places in time. Blocks
// are executed first and timed after, because the two loops are faster apart.
func (c *CPU) settle(n int) {
	insts := c.cur.insts
	if !c.window {
		c.settleThroughput(n)
		return
	}
	if c.entering {
		c.enterWindow()
	}
	d, retire, at, done := c.dispatch, c.retire, c.at, ticks(0)
	for i := c.settled; i < n; i++ {
		in := &insts[i]
		k := &c.cost[in.class]
		if k.inOrder {
			c.dispatch, c.retire, c.at = d, retire, at
			c.accountInOrder(in, k, &c.acc[i&(accesses-1)])
			d, retire, at, done = c.dispatch, c.retire, c.at, c.retire
			continue
		}
		if in.flags&fWindow != 0 {
			c.fetched = max(c.fetched, d-c.lead) + clock.PerCycle
			d = max(d, c.fetched)
		}
		if k.first {
			d = (d + clock.PerCycle - 1) / clock.PerCycle * clock.PerCycle
		}
		d = max(d+k.issue, c.ring[at&(cpus.MaxWindow-1)])
		p := max(d, c.port[k.port&7])
		c.port[k.port&7] = p + k.occupancy
		if in.flags&fLoad != 0 {
			p = max(p, c.accountLoad(in, d, &c.acc[i&(accesses-1)]))
		}
		done = max(max(p, c.ready[in.s3&31]), max(c.ready[in.s1&31], c.ready[in.s2&31])) + k.latency
		c.ready[in.o1&31] = done
		c.ready[in.o2&31] = done
		if in.flags&fStore != 0 {
			p := max(c.port[portStore], d)
			c.port[portStore] = p + c.occStor
			done = max(done, p, c.ready[in.base&31], c.ready[in.index&31])
			c.commit(done, max(retire+c.slot, done)+c.ev[evCommit], &c.acc[i&(accesses-1)])
			d = max(d, c.drained-c.slack)
		}
		retire = max(retire+c.slot, done)
		c.ring[at&(cpus.MaxWindow-1)] = retire
		at++
		if at >= c.rob {
			at = 0
		}
	}
	c.count += uint64(n - c.settled)
	c.dispatch, c.retire, c.at, c.settled = d, retire, at, n
	if c.redirect || c.taken {
		c.accountBranch(done)
	}
}

// settleThroughput is settle in the throughput model: an instruction takes its issue bandwidth, a load
// what it makes its successors wait, and misses all they cost.
func (c *CPU) settleThroughput(n int) {
	c.settleEach(n)
	if c.redirect || c.taken {
		c.accountBranch(c.retire)
		c.retire, c.entering = c.dispatch, false // nothing hides behind a branch here
	}
}

// settleBlock is settleThroughput of a whole block: only what is not known beforehand is looked at.
func (c *CPU) settleBlock(b *block) {
	at := max(c.dispatch, c.retire)
	for i := range b.tolls {
		t := &b.tolls[i]
		at += t.time
		a := &c.acc[t.at&(accesses-1)]
		if t.inOrder {
			in := &b.insts[t.at]
			c.dispatch, c.retire = at, at
			c.accountInOrder(in, &c.cost[in.class], a)
			at = c.retire
			continue
		}
		if t.flags&fLoad != 0 {
			at += a.miss
			a.miss = 0
		}
		if t.flags&fStore != 0 {
			c.drained = max(c.drained+c.occStor, at) + a.missW
			at = max(at, c.drained-c.slack)
			a.missW = 0
		}
	}
	at += b.rest
	n := len(b.insts)
	c.count += uint64(n)
	c.dispatch, c.retire, c.settled = at, at, n
	if c.taken && !c.redirect { // as accountBranch does, without what the window model needs
		c.fetched = max(c.fetched, at-c.lead) + c.ev[evTaken]
		at = max(at, c.fetched)
		c.dispatch, c.retire, c.taken = at, at, false
	} else if c.redirect {
		c.accountBranch(at)
		c.retire, c.entering = c.dispatch, false
	}
}

// settleEach goes through the instructions one by one.
func (c *CPU) settleEach(n int) {
	insts := c.cur.insts
	at := max(c.dispatch, c.retire)
	for i := c.settled; i < n; i++ {
		in := &insts[i]
		k := &c.cost[in.class]
		if k.inOrder {
			c.dispatch, c.retire = at, at
			c.accountInOrder(in, k, &c.acc[i&(accesses-1)])
			at = c.retire
			continue
		}
		at += k.issue
		if in.flags&fLoad != 0 {
			a := &c.acc[i&(accesses-1)]
			at += a.miss + c.loadUse
			a.miss = 0
		}
		if in.flags&fStore != 0 {
			a := &c.acc[i&(accesses-1)]
			c.drained = max(c.drained+c.occStor, at) + a.missW
			at = max(at, c.drained-c.slack)
			a.missW = 0
		}
	}
	c.count += uint64(n - c.settled)
	c.dispatch, c.retire, c.settled = at, at, n
}

// toll prepares a block for settleBlock.
func (c *CPU) toll(b *block) {
	for i := range b.insts {
		in := &b.insts[i]
		k := &c.cost[in.class]
		t := toll{at: uint8(i), flags: in.flags & (fLoad | fStore), inOrder: k.inOrder}
		if !k.inOrder {
			b.rest += k.issue
			if in.flags&fLoad != 0 {
				b.rest += c.loadUse
			}
		}
		if t.flags != 0 || t.inOrder {
			t.time, b.rest = b.rest, 0
			b.tolls = append(b.tolls, t)
		}
	}
}

// enterWindow fetches the window that a branch landed in, when its first instruction does not begin one.
func (c *CPU) enterWindow() {
	c.entering = false
	if c.cur.enter {
		c.fetched = max(c.fetched, c.dispatch-c.lead) + clock.PerCycle
		c.dispatch = max(c.dispatch, c.fetched)
	}
}

// accountLoad returns when a load's value arrives.
func (c *CPU) accountLoad(in *inst, d ticks, a *access) ticks {
	p := max(c.port[portLoad], d)
	c.port[portLoad] = p + c.occLoad
	at := max(p, c.ready[in.base&31], c.ready[in.index&31])
	start := at + c.l1Lat + a.miss
	if f := &c.fwd[a.load&(forwards-1)]; f.key == a.load && f.commit > at {
		switch {
		case a.from&^f.bytes == 0:
			start = max(start, f.ready+c.ev[evForward])
		case a.from&f.bytes != 0: // part of it is still on its way
			start = max(start, f.commit+c.l1Lat)
		}
	}
	a.miss, a.load = 0, 0
	return start
}

// commit sends a store on its way to the cache, which it reaches in order, at the earliest when
// says: issue waits when more are on their way than the buffer holds.
func (c *CPU) commit(data, when ticks, a *access) {
	c.drained = max(c.drained+c.occStor, when) + a.missW
	if a.store != 0 {
		c.fwd[a.store&(forwards-1)] = forward{a.store, a.to, data, c.drained}
	}
	a.missW, a.store = 0, 0
}

// accountBranch redirects the front end after a branch: a bubble when it was predicted and taken, a
// refill from the moment it was resolved when it was not predicted.
func (c *CPU) accountBranch(done ticks) {
	if c.redirect {
		c.step.Stalls.Mispredict += c.ev[evMispredict]
		c.dispatch = max(c.dispatch, done) + c.ev[evMispredict]
		c.fetched = c.dispatch
	} else {
		c.fetched = max(c.fetched, c.dispatch-c.lead) + c.ev[evTaken]
		c.dispatch = max(c.dispatch, c.fetched)
	}
	c.entering = true
	c.redirect, c.taken = false, false
}

// accountInOrder places the instructions that neither model lets overlap.
func (c *CPU) accountInOrder(in *inst, k *price, a *access) {
	d := max(c.dispatch, c.retire)
	if k.serialize {
		d = max(d, c.drained)
	}
	cost := k.issue + c.extra
	if k.serialize {
		cost = max(k.issue, k.latency)
	}
	if in.flags&fLoad != 0 {
		cost += a.miss + c.loadUse
	}
	done := d + cost
	if in.flags&fStore != 0 {
		c.commit(done, done, a)
	}
	c.ready[in.o1&31], c.ready[in.o2&31] = done, done
	c.retire, c.dispatch = done, done
	c.ring[c.at&(cpus.MaxWindow-1)] = done
	c.at++
	if c.at >= c.rob {
		c.at = 0
	}
	*a, c.extra = access{}, 0
}

// drain waits for everything in flight and then lets t pass.
func (c *CPU) drain(t ticks) {
	d := max(c.retire, c.dispatch, c.drained) + t
	c.retire, c.dispatch = d, d
	c.acc[between] = access{}
	c.extra, c.redirect, c.taken = 0, false, false
}

// charge books the time since the last booking on the present phase of the guest's code.
func (c *CPU) charge() {
	i, j := c.ctx&7, c.phase
	if j >= cpus.MaxPhases {
		j = 0
	}
	c.ctr.Time[i][j] += c.retire - c.mark
	c.ctr.Count[i][j] += c.count
	c.ctr.Instructions += c.count
	c.mark, c.count = c.retire, 0
}

// setPhase books on the phase that ends and begins another.
func (c *CPU) setPhase(p uint8) {
	if c.phase != freshPhase {
		c.charge()
	}
	c.phase = p
}

// touchLoad sends a load through the caches.
func (c *CPU) touchLoad(pa, n uint64) {
	line := uint32(pa >> (c.dShift & 63))
	if c.dRecent[line&c.dMask] != line+1 {
		c.missLoad(pa)
	}
	if pa&63+n > 64 {
		c.splitLoad(pa)
	}
	a := &c.acc[c.idx&(accesses-1)]
	a.load, a.from = pa>>3+1, (1<<n-1)<<(pa&7)
}

// touchStore sends a store through the caches and notes its data for younger loads.
func (c *CPU) touchStore(pa, n uint64) {
	line := uint32(pa >> (c.dShift & 63))
	if c.sRecent[line&c.dMask] != line+1 {
		c.missStore(pa)
	}
	if pa&63+n > 64 {
		c.missStore(pa + n - 1)
		c.acc[c.idx&(accesses-1)].missW += c.ev[evSplit]
	}
	a := &c.acc[c.idx&(accesses-1)]
	a.store, a.to = pa>>3+1, (1<<n-1)<<(pa&7)
}

func (c *CPU) missLoad(pa uint64) {
	if d := c.lookup(pa) - c.l1Lat; d > 0 {
		c.acc[c.idx&(accesses-1)].miss += d
		c.step.Stalls.DCache += d
	}
}

func (c *CPU) missStore(pa uint64) {
	if d := c.lookupStore(pa) - c.l1Lat; d > 0 {
		c.acc[c.idx&(accesses-1)].missW += d
		c.step.Stalls.DCache += d
	}
}

func (c *CPU) splitLoad(pa uint64) {
	c.missLoad(pa + 64)
	c.acc[c.idx&(accesses-1)].miss += c.ev[evSplit]
	c.step.Stalls.DCache += c.ev[evSplit]
}

// lookup returns the load-to-use latency of data at pa and brings its line in.
func (c *CPU) lookup(pa uint64) ticks {
	if c.dir != nil {
		return c.lookupShared(pa)
	}
	if c.l1d.Touch(uint32(pa >> c.l1d.Shift())) {
		return c.l1Lat
	}
	c.ctr.L1DMisses++
	if c.l2.Touch(uint32(pa >> c.l2.Shift())) {
		return c.l2Lat
	}
	c.ctr.L2Misses++
	return c.memLat
}

// lookupStore is lookup for a store.
func (c *CPU) lookupStore(pa uint64) ticks {
	if c.dir != nil {
		return c.lookupOwned(pa)
	}
	return c.lookup(pa)
}

// missFetch brings a line into the instruction cache and stalls the front end.
func (c *CPU) missFetch(pa uint64) {
	if c.dir != nil {
		c.fetchShared(pa)
		return
	}
	if c.l1i.Touch(uint32(pa >> c.l1i.Shift())) {
		return
	}
	c.ctr.L1IMisses++
	d := c.memLat
	if c.l2.Touch(uint32(pa >> c.l2.Shift())) {
		d = c.l2Lat
	} else {
		c.ctr.L2Misses++
	}
	c.dispatch += d
	c.step.Stalls.ICache += d
}

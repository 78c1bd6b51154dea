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
	key   uint64 // physical address / 8, plus one
	ready ticks
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
	port     [ports]ticks
	ring     []ticks // retirement of the last Window instructions
	at       int

	miss     ticks // delay that the instruction's loads meet beyond the L1 latency
	missW    ticks // delay that its stores meet on their way to the cache
	extra    ticks // time that a repeated or privileged instruction adds itself
	fwdReady ticks // data of an older store that a load needs
	fwdKey   uint64
	redirect bool // the instruction was mispredicted
	taken    bool // it was a taken branch

	window  bool
	slack   ticks // what the store buffer hides
	cost    [classes]price
	ev      [events]ticks
	occLoad ticks
	occStor ticks
	fwd     [forwards]forward

	l1i, l1d, l2         *mmu.Cache
	iRecent, dRecent     []uint32
	iMask, dMask         uint32
	l1Lat, l2Lat, memLat ticks
	predictor
	ctr   cpus.Counters
	ctx   uint8 // exception context
	ctxs  []uint8
	phase uint8
}

func (t *timing) init(cfg *cpus.Config) {
	t.slot = clock.PerCycle / clock.Ticks(cfg.Width)
	t.ring = make([]ticks, cfg.Window)
	t.window = cfg.Model == cpus.Window
	for i, n := range classNames {
		t.cost[i] = t.price(cfg, cfg.Classes[n])
	}
	for i, n := range eventNames {
		t.ev[i] = cfg.Events[n]
	}
	t.occLoad, t.occStor = cfg.Ports["load"], cfg.Ports["store"]
	t.slack = t.occStor * ticks(cfg.StoreBuffer)
	t.l1i, t.l1d, t.l2 = mmu.NewCache(cfg.L1I), mmu.NewCache(cfg.L1D), mmu.NewCache(cfg.L2)
	t.iRecent, t.iMask = t.l1i.Recent, t.l1i.Mask
	t.dRecent, t.dMask = t.l1d.Recent, t.l1d.Mask
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
	return p
}

// account gives an executed instruction its place in time.
func (c *CPU) account(in *inst) {
	k := &c.cost[in.class]
	if !c.window || k.serialize || c.extra != 0 {
		c.accountInOrder(in, k)
		return
	}
	d := max(c.dispatch+k.issue, c.ring[c.at])
	start := d
	if in.flags&fLoad != 0 {
		p := max(c.port[portLoad], d)
		c.port[portLoad] = p + c.occLoad
		start = max(p, c.ready[in.base&31], c.ready[in.index&31]) + c.l1Lat + c.miss
		if c.fwdReady > start-c.l1Lat {
			start = c.fwdReady + c.ev[evForward]
		}
		c.miss, c.fwdReady = 0, 0
	}
	if k.port != noPort {
		p := max(c.port[k.port&7], d)
		c.port[k.port&7] = p + k.occupancy
		start = max(start, p)
	}
	start = max(start, c.ready[in.s1&31], c.ready[in.s2&31], c.ready[in.s3&31])
	done := start + k.latency
	c.ready[in.o1&31] = done
	c.ready[in.o2&31] = done
	if in.flags&fStore != 0 {
		d = c.accountStore(d, max(done, c.ready[in.base&31], c.ready[in.index&31]))
	}
	retire := max(c.retire+c.slot, done)
	c.ring[c.at] = retire
	c.at++
	if c.at == len(c.ring) {
		c.at = 0
	}
	c.retire = retire
	c.dispatch = d
	if c.redirect || c.taken {
		c.accountBranch(done)
	}
}

// accountStore sends a store on its way to the cache: the store port drains in order, and issue waits
// when more are on their way than the buffer holds.
func (c *CPU) accountStore(d, data ticks) ticks {
	p := max(c.port[portStore], d) + c.occStor + c.missW
	c.port[portStore] = p
	c.missW = 0
	if c.fwdKey != 0 {
		c.fwd[c.fwdKey&(forwards-1)] = forward{c.fwdKey, data}
		c.fwdKey = 0
	}
	return max(d, p-c.slack)
}

// accountBranch redirects the front end after a branch: a bubble when it was predicted and taken, a
// refill from the moment it was resolved when it was not predicted.
func (c *CPU) accountBranch(done ticks) {
	if c.redirect {
		c.step.Stalls.Mispredict += c.ev[evMispredict]
		c.dispatch = max(c.dispatch, done) + c.ev[evMispredict]
	} else {
		c.dispatch += c.ev[evTaken]
	}
	c.redirect, c.taken = false, false
}

// accountInOrder is the throughput model, and the rule for serializing instructions in both.
func (c *CPU) accountInOrder(in *inst, k *price) {
	d := max(c.dispatch, c.retire)
	if k.serialize {
		d = max(d, c.port[portStore])
	}
	cost := k.issue
	if k.serialize {
		cost = max(cost, k.latency)
	}
	cost += c.extra
	if in.flags&fLoad != 0 {
		cost += c.miss + c.ev[evLoadUse]
	}
	if in.flags&fStore != 0 {
		d = c.accountStore(d, d+cost)
	}
	done := d + cost
	c.ready[in.o1&31], c.ready[in.o2&31] = done, done
	c.retire, c.dispatch = done, done
	c.ring[c.at] = done
	c.at = (c.at + 1) % len(c.ring)
	c.miss, c.fwdReady, c.missW, c.extra = 0, 0, 0, 0
	if c.redirect || c.taken {
		c.accountBranch(done)
	}
}

// drain waits for everything in flight and then lets t pass.
func (c *CPU) drain(t ticks) {
	d := max(c.retire, c.dispatch, c.port[portStore]) + t
	c.retire, c.dispatch = d, d
	c.miss, c.missW, c.extra, c.fwdReady, c.fwdKey = 0, 0, 0, 0, 0
	c.redirect, c.taken = false, false
}

// charge books the time since the last booking, and n instructions, on a phase of the guest's code.
func (c *CPU) charge(n uint64) {
	i, j := c.ctx&7, c.phase&(cpus.MaxPhases-1)
	if i >= cpus.Contexts {
		i = cpus.OtherException
	}
	c.ctr.Time[i][j] += c.retire - c.mark
	c.ctr.Count[i][j] += n
	c.ctr.Instructions += n
	c.mark = c.retire
}

// touchLoad sends a load through the caches.
func (c *CPU) touchLoad(pa, n uint64) {
	line := uint32(pa >> c.l1d.Shift())
	if c.dRecent[line&c.dMask] != line+1 {
		c.missLoad(pa)
	}
	if pa&63+n > 64 {
		c.splitLoad(pa)
	}
	if f := &c.fwd[(pa>>3+1)&(forwards-1)]; f.key == pa>>3+1 && f.ready > c.fwdReady {
		c.fwdReady = f.ready
	}
}

// touchStore sends a store through the caches and notes its data for younger loads.
func (c *CPU) touchStore(pa, n uint64) {
	line := uint32(pa >> c.l1d.Shift())
	if c.dRecent[line&c.dMask] != line+1 {
		c.missStore(pa)
	}
	if pa&63+n > 64 {
		c.missStore(pa + n - 1)
		c.missW += c.ev[evSplit]
	}
	c.fwdKey = pa>>3 + 1
}

func (c *CPU) missLoad(pa uint64) {
	if d := c.lookup(pa) - c.l1Lat; d > 0 {
		c.miss += d
		c.step.Stalls.DCache += d
	}
}

func (c *CPU) missStore(pa uint64) {
	if d := c.lookup(pa) - c.l1Lat; d > 0 {
		c.missW += d
		c.step.Stalls.DCache += d
	}
}

func (c *CPU) splitLoad(pa uint64) {
	c.missLoad(pa + 64)
	c.miss += c.ev[evSplit]
	c.step.Stalls.DCache += c.ev[evSplit]
}

// lookup returns the load-to-use latency of data at pa and brings its line in.
func (c *CPU) lookup(pa uint64) ticks {
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

// missFetch brings a line into the instruction cache and stalls the front end.
func (c *CPU) missFetch(pa uint64) {
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

package engine

import (
	"cmp"
	"slices"

	"kprobesim/cpus"
	"kprobesim/mmu"
)

// prefetcher brings lines into the data caches before a load asks for them. Tags change when a prefetch is sent, and
// inFlight has when the line is there: a load that comes earlier waits for the rest. Prefetchers see what misses the
// first level. A line that waits for its load in inFlight misses too, so that one prefetch leads to the next.
//
// What it knows follows from what was executed and when, as caches do. The cost models learn of it as a delay of a load.
type prefetcher struct {
	prefetchShape `state:"-"`

	inFlight     []prefetched
	last         int        // place of the last one in inFlight
	handed       [3]handing // of the second level, the third and memory
	next, stream streams
	strides      []stride
	wrong        wrongPaths
}

// prefetchShape is a prefetcher's description.
type prefetchShape struct {
	ahead, farAhead int         // lines of next and stream
	most            int64       // bytes of a stride
	paired, crosses bool        // lines of a pair go together; large pages are no pages of 4 KiB
	inPage          uint32      // lines of a page less one
	wrongPath       uint64      // a branch over fewer bytes has one
	perLine         [3][2]ticks // between two lines from the second level, the third and memory: of stores, of loads
}

// handing has when a line may be handed over again to an access, and to a prefetcher. An access waits for other accesses alone, and a
// prefetch for all lines: demands come first.
type handing struct{ access, ahead ticks }

// prefetched is a line that was sent for.
type prefetched struct {
	tag  uint32 // line plus one, or zero
	near bool   // it is for the first level
	at   ticks  // when it is there
}

// streams are pages whose lines are asked for.
type streams struct {
	pages []stream
	last  int
}

// stream is one of them.
type stream struct {
	page uint32 // number plus one, or zero
	at   uint32 // the line that missed last
	far  uint32 // the last one that was sent for
	step int32  // 1 or -1 once a direction is known
}

// stride holds the last load of an instruction and how far the one before was.
type stride struct{ pc, pa, by uint64 }

// initPrefetch prepares prefetchers, when the description has any.
func (d *dataPath) initPrefetch(of *cpus.Config) {
	cfg := &of.Prefetch
	if *cfg == (cpus.Prefetch{}) {
		return
	}
	d.prefetcher = &prefetcher{
		prefetchShape: prefetchShape{
			ahead: cfg.Next.Ahead, farAhead: cfg.Stream.Ahead, most: int64(cfg.Stride.Most), paired: cfg.Pair.Bytes != 0, crosses: cfg.CrossesPages,
			inPage: 1<<(pageShift-d.dShift) - 1, wrongPath: uint64(cfg.WrongPath),
		},
		inFlight: make([]prefetched, cfg.InFlight),
		next:     streams{pages: make([]stream, cfg.Next.Streams)}, stream: streams{pages: make([]stream, cfg.Stream.Streams)},
		strides: make([]stride, cfg.Stride.Entries),
	}
	for level := range of.PerLine {
		d.prefetcher.perLine[level] = [2]ticks{cmp.Or(of.PerStored[level], of.PerLine[level]), of.PerLine[level]}
	}
}

// sound reports whether places are inside of their tables.
func (p *prefetcher) sound() bool {
	inside := func(at, n int) bool { return at >= 0 && at < max(n, 1) }
	return p == nil || len(p.inFlight) > 0 && p.wrong.n >= 0 && p.wrong.n <= len(p.wrong.paths) && inside(p.last, len(p.inFlight)) && inside(p.next.last, len(p.next.pages)) &&
		inside(p.stream.last, len(p.stream.pages)) && len(p.strides)&(len(p.strides)-1) == 0
}

// prefetches tells the prefetchers of an access that missed the first level and took d, and returns what it takes with
// what they had sent for before.
func (c *Core) prefetches(pa uint64, load bool, d ticks) ticks {
	p, line := c.prefetcher, c.line(pa)
	c.Settle()
	now := c.addressed()
	if a := &c.acc[c.idx&(accesses-1)]; c.idx != between { // an instruction of many accesses makes one behind the other
		now += a.miss + a.missW + a.own
	}
	early := ticks(0)
	if load && p.wrong.n > 0 {
		early = c.early(now)
		now -= early
	}
	found, asked := p.find(line), max(now, c.pipes.freed())
	second := d == c.l2Lat // where a line stays that was sent for
	d += c.lineWaits(d, asked, load, false)
	switch {
	case found == nil || !second:
	case found.near && load:
		d = max(found.at-asked, 0) + c.l1Lat
	default:
		d = max(found.at-asked+c.l1Lat, d)
	}
	if found != nil {
		*found = prefetched{}
	}
	if p.paired && !second {
		c.sendFor(line^1, false, load, now)
	}
	c.followStream(&p.stream, line, p.farAhead, false, load, now)
	if load {
		c.followStream(&p.next, line, p.ahead, true, true, now)
		c.stride(pa, now)
		p.wrong.arrives, p.wrong.load = now+d, c.Completed()
	}
	return max(d-early, c.l1Lat)
}

// addressed is when the running access knows its address: what it takes counts from then on. It is dispatched behind the instruction before. In
// order it begins behind everything before it.
func (c *Core) addressed() ticks {
	if !c.window {
		return max(c.retire, c.dispatch)
	}
	c.restoreState() // for buffers of misses, too
	soon := c.dispatch + c.leastIssue
	if c.idx == between {
		return soon
	}
	op := &c.cur.ops[c.idx]
	return max(soon, c.ready[c.pointer(op.Base)&regMask], c.ready[op.Index&regMask])
}

// find returns a line that was sent for and not asked for since, or nil.
func (p *prefetcher) find(line uint32) *prefetched {
	if i := slices.IndexFunc(p.inFlight, func(f prefetched) bool { return f.tag == line+1 }); i >= 0 {
		return &p.inFlight[i]
	}
	return nil
}

// sendFor brings a line into the second level, and for near into the first when a load asks for it. A load has led to it, or a
// store. It reports false when too many are on their way.
func (c *Core) sendFor(line uint32, near, load bool, now ticks) bool {
	p := c.prefetcher
	pa := uint64(line) << (c.dShift & 63)
	if f := p.find(line); f != nil {
		f.near = f.near || near
		return true
	}
	if c.l1d.Has(line) || !near && c.l2.Has(line) || !c.Memory.Holds(pa, 1) {
		return true
	}
	at := p.last + 1
	if at == len(p.inFlight) {
		at = 0
	}
	if f := &p.inFlight[at]; f.tag != 0 && f.at > now {
		return false
	}
	p.last = at
	d := c.bringAhead(pa)
	p.inFlight[at] = prefetched{line + 1, near, now + d + c.lineWaits(d, now, load, true)}
	return true
}

// lineWaits is how long a line that takes d waits for those before it from the same level. A load or a store has led to it, at once or
// by a prefetcher that runs ahead.
func (c *Core) lineWaits(d, now ticks, load, ahead bool) ticks {
	p, from, kind := c.prefetcher, 0, 0
	switch d {
	case c.memLat:
		from = 2
	case c.l3Lat:
		from = 1
	case c.l2Lat:
	default:
		return 0
	}
	if load {
		kind = 1
	}
	per, h := p.perLine[from][kind], &p.handed[from]
	switch {
	case per == 0:
		return 0
	case ahead:
		at := max(h.ahead, now)
		h.ahead = at + per
		return at - now
	}
	at := max(h.access, now)
	h.access, h.ahead = at+per, max(h.ahead, at)+per
	return at - now
}

// bringAhead brings a line into the second level, and returns what that takes. It is no miss of the guest.
func (c *Core) bringAhead(pa uint64) ticks {
	misses := c.Counts.L2Misses
	defer func() { c.Counts.L2Misses = misses }()
	if c.dir == nil {
		return c.lookupBehind(pa)
	}
	line := c.line(pa)
	d, missed := c.bringBehind(line)
	if missed && !c.sole && c.dir.Read(c.Num, line) == mmu.Transfer {
		d = max(d, c.occupy(line, c.ev[evTransfer]))
	}
	return d
}

// followStream has a stream go on with a line that missed, two lines at a time at most.
func (c *Core) followStream(s *streams, line uint32, ahead int, near, load bool, now ticks) {
	if len(s.pages) == 0 {
		return
	}
	inPage := c.prefetcher.inPage
	page := line/(inPage+1) + 1
	i := slices.IndexFunc(s.pages, func(x stream) bool { return x.page == page })
	if i < 0 && c.prefetcher.crosses { // the stream that has sent for lines here
		if i = slices.IndexFunc(s.pages, func(x stream) bool { return x.page+uint32(x.step) == page && x.far/(inPage+1)+1 == page }); i >= 0 {
			s.pages[i].page = page
		}
	}
	if i < 0 {
		if s.last++; s.last >= len(s.pages) {
			s.last = 0
		}
		s.pages[s.last] = stream{page: page, at: line, far: line}
		return
	}
	x := &s.pages[i]
	step := int32(1)
	switch {
	case line == x.at:
		return
	case line < x.at:
		step = -1
	}
	if x.at = line; x.step != step {
		x.step, x.far = step, line
	}
	if int32(x.far-line)*step < 0 {
		x.far = line
	}
	for range 2 {
		to := x.far + uint32(step)
		if int(int32(to-line)*step) > ahead || !c.follows(line, to) || !c.sendFor(to, near, load, now) {
			return
		}
		x.far = to
	}
}

// stride follows the load of the running instruction.
func (c *Core) stride(pa uint64, now ticks) {
	p := c.prefetcher
	if len(p.strides) == 0 || c.idx == between {
		return
	}
	pc := c.R[PC]
	s := &p.strides[(pc^pc>>8)&uint64(len(p.strides)-1)]
	by := pa - s.pa
	if s.pc != pc {
		*s = stride{pc: pc, pa: pa}
		return
	}
	known := by == s.by && by != 0 && max(int64(by), -int64(by)) <= p.most
	s.pa, s.by = pa, by
	if to := pa + by; known && c.follows(c.line(pa), c.line(to)) {
		c.sendFor(c.line(to), true, true, now)
	}
}

// follows reports whether a prefetcher gets from a line to another one: within 4 KiB, or in a large page.
func (c *Core) follows(line, to uint32) bool {
	p, shift := c.prefetcher, c.dShift&63
	return line&^p.inPage == to&^p.inPage || p.crosses && c.DTLB.Spans(uint64(line)<<shift, uint64(to)<<shift)
}

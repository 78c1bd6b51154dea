package races

import (
	"math"

	"kprobesim/cpus"
)

// footprint has what a stretch of execution has to do with others.
type footprint struct {
	words map[uint64]bool // physical addresses of memory that was accessed, in words; true for one that was written
	// known is of what the checker knows: a window has what was changed, a segment what was looked at.
	known knowledge
	alone bool // it is never independent of anything: see footprints
}

// knowledge has a bit for each thing beside memory by which the checker judges.
type knowledge uint8

const (
	ofProbes knowledge = 1 << iota // what is registered and enabled
	ofSlots                        // which slots and detour buffers are in use, and who has synchronized since
	ofStores                       // the same of stores into text
	ofAll    = ofProbes | ofSlots | ofStores
)

func newFootprint() *footprint { return &footprint{words: map[uint64]bool{}} }

// access notes some bytes of memory.
func (f *footprint) access(pa uint64, n int, write bool) {
	for w := pa / wordSize; w <= (pa+uint64(n)-1)/wordSize; w++ {
		f.words[w] = f.words[w] || write
	}
}

// independent reports whether two stretches of different CPUs do the same in either order: none writes what the other accesses.
func (f *footprint) independent(o *footprint) bool {
	return !f.alone && !o.alone && f.known&o.known == 0 && f.apart(o)
}

// apart reports whether neither writes into memory that the other accesses.
func (f *footprint) apart(o *footprint) bool {
	if len(f.words) > len(o.words) {
		f, o = o, f
	}
	for w, wrote := range f.words {
		if others, ok := o.words[w]; ok && (wrote || others) {
			return false
		}
	}
	return true
}

// window has the footprint of all other CPUs from a preemption until the preempted CPU went on.
type window struct {
	cpu int
	footprint
	closed bool
	from   int // the number of points that had been passed when it began
	to     int // and when it ended
}

// allows reports whether a segment of the window's CPU does the same in front of the window and behind it.
func (w *window) allows(seg *footprint) bool { return w.closed && w.independent(seg) }

// footprints are written down in a schedule of a plan: the hot points and the window of each preemption, and the segments of each CPU where
// they are asked for.
//
// A segment that calls into Go, accesses a device or ends a turn is independent of nothing: Go may look at all of the kernel, and at the time.
// A window is so after an interrupt to the preempted CPU.
type footprints struct {
	t        *trial // nil in a test that tells of accesses itself
	sees     bool   // whether what CPUs have to do with each other is all that is seen here
	from     int    // preemptions of the plan that have no windows
	segments bool

	points  []hotPoint
	cut     [maxCPUs][]*footprint // segments of each CPU; the first one begins with the schedule
	windows []*window
	open    int
	on      bool
	last    int     // the CPU that executes
	changes changes // of what the checker knows, at the last point
	syncs   [maxCPUs]uint64
}

// attach has a machine tell what goes on, before its first instruction.
func (x *footprints) attach(t *trial) {
	x.t = t
	// An instruction cache may be behind memory, and programs have address spaces of their own.
	x.sees = t.l.isa.CodeLine == 0 && len(t.l.s.Processes) == 0
	t.m.OnCall(func(int) { x.own(func(f *footprint) { f.alone = true }) })
	t.m.OnInterrupt(x.interrupted)
	t.m.WatchGo(x.goAccessed)
	t.watch(x, false)
	if x.segments {
		x.listen(true)
	}
}

// begin is called in front of the schedule.
func (x *footprints) begin() {
	if x == nil {
		return
	}
	x.last = -1
	if x.segments {
		for i := range x.cut {
			x.cut[i] = []*footprint{newFootprint()}
		}
	}
}

// listen has accesses told, or not: that costs time.
func (x *footprints) listen(on bool) {
	if x.on = on; x.t == nil {
		return
	}
	for i := range x.t.m.CPUs() {
		if on {
			x.t.m.CPU(i).Debug(x, cpus.Stops{Data: [][2]uint64{{0, math.MaxUint64}}, At: math.MaxInt64})
		} else {
			x.t.m.CPU(i).Debug(nil, cpus.Stops{})
		}
	}
}

// passes notes a hot point.
func (x *footprints) passes(h hotPoint) {
	if x == nil {
		return
	}
	x.settle()
	x.points = append(x.points, h)
	if x.segments {
		x.cut[h.cpu] = append(x.cut[h.cpu], newFootprint())
	}
}

// departs notes a preemption.
func (x *footprints) departs(h hotPoint) {
	if x == nil {
		return
	}
	w := &window{cpu: h.cpu, footprint: *newFootprint(), from: len(x.points)}
	w.alone = !x.sees
	if x.windows = append(x.windows, w); len(x.windows) <= x.from {
		w.closed = true // nobody asks for it
		return
	}
	if x.open++; !x.on {
		x.listen(true)
	}
}

// goesOn notes who has the next instructions.
func (x *footprints) goesOn(cpu int) {
	if x == nil {
		return
	}
	x.settle()
	x.last = cpu
	for _, w := range x.windows {
		if !w.closed && w.cpu == cpu {
			w.closed, w.to = true, len(x.points)
			x.open--
		}
	}
	if x.on && x.open == 0 && !x.segments {
		x.listen(false)
	}
	if x.t == nil {
		return
	}
	x.syncs[cpu] = x.t.m.CPU(cpu).Counters().ContextSyncs
}

// ends notes that the turn of the CPU that has executed is over. Time passes there, which everybody may notice.
func (x *footprints) ends() {
	if x != nil {
		x.own(func(f *footprint) { f.alone = true })
	}
}

// settle sees what the CPU that has run has changed without an access: the state of the checker, and its own account of synchronizing, on which
// the checker's judgement of others' stores depends.
func (x *footprints) settle() {
	if x.last < 0 || x.t == nil {
		return
	}
	if now := x.t.checker.changes; now != x.changes {
		x.own(func(f *footprint) { f.alone = true })
		x.others(x.last, func(w *window) { w.known |= now.since(x.changes) })
		x.changes = now
	}
	if n := x.t.m.CPU(x.last).Counters().ContextSyncs; n != x.syncs[x.last] {
		x.syncs[x.last] = n
		x.own(func(f *footprint) { f.known |= ofSlots | ofStores })
	}
}

// own does something to the segment of the CPU that executes.
func (x *footprints) own(f func(*footprint)) {
	if x.segments && x.last >= 0 && (x.t == nil || x.t.e.active) {
		all := x.cut[x.last]
		f(all[len(all)-1])
	}
}

// others does something to the open windows of all CPUs but one.
func (x *footprints) others(cpu int, f func(*window)) {
	if x.open == 0 {
		return
	}
	for _, w := range x.windows {
		if !w.closed && w.cpu != cpu {
			f(w)
		}
	}
}

// interrupted notes an interrupt to a CPU.
func (x *footprints) interrupted(cpu int) {
	for _, w := range x.windows {
		if w.cpu == cpu && !w.closed {
			w.alone = true
		}
	}
}

// Before and Reached implement cpus.Debugger.
func (x *footprints) Before(int)  {}
func (x *footprints) Reached(int) {}

// Accessed implements cpus.Debugger.
func (x *footprints) Accessed(cpu int, va uint64, n int, write bool) {
	x.access(cpu, cpu, va, n, write)
}

// goAccessed is told of what Go reads and writes for a CPU. It reads addresses of programs by way of some CPU, which is not known here.
func (x *footprints) goAccessed(cpu int, va uint64, n int, write bool) {
	if x.open == 0 {
		return
	}
	if bits := x.t.l.im.Bits; va>>(bits-1)&1 == 0 {
		x.others(cpu, func(w *window) { w.alone = true })
		return
	}
	x.access(cpu, 0, va, n, write)
}

// access notes an access of a CPU, to an address as another one translates it.
func (x *footprints) access(cpu, as int, va uint64, n int, write bool) {
	const page = 4096
	for n > 0 && x.t.e.active {
		here := min(n, int(page-va%page))
		pa, ok := x.t.m.CPU(as).Translate(va)
		if !ok || pa+uint64(here) > uint64(x.t.l.s.Memory) {
			x.own(func(f *footprint) { f.alone = true })
			x.others(cpu, func(w *window) { w.alone = w.alone || !ok })
		} else {
			x.own(func(f *footprint) { f.access(pa, here, write) })
			x.others(cpu, func(w *window) { w.access(pa, here, write) })
		}
		va += uint64(here)
		n -= here
	}
}

// Step implements cpus.Observer. Hot code is read as it is executed, and judged by what the checker knows.
func (x *footprints) Step(s *cpus.Step) {
	x.t.checker.Step(s)
	if class := x.t.checker.code.at(s.PC); x.on && class != plainCode && class != spinCode {
		x.access(s.CPU, s.CPU, s.PC, len(s.Code), false)
		if known := x.t.checker.judgedBy(class, s.PC); known != 0 {
			x.own(func(f *footprint) { f.known |= known })
		}
	}
}

// judgedBy says by which knowledge the checker judges an instruction. In text that is all of it where a probe may be near, and the probes where
// a call begins.
func (c *checker) judgedBy(class class, pc uint64) knowledge {
	switch class {
	case slotCode, detourCode:
		return ofSlots
	case returnCode:
		return ofProbes
	case textCode, handlerCode:
		t := c.textAt(pc)
		for _, p := range c.calls.probes {
			if t == nil || p.addr-pc+t.reach() <= 2*t.reach() {
				return ofAll
			}
		}
		if pc == t.start || class == handlerCode {
			return ofProbes
		}
	}
	return 0
}

// changes count what has changed of what the checker knows.
type changes struct{ probes, slots, stores uint64 }

// since says what has changed since an earlier count.
func (c changes) since(o changes) (k knowledge) {
	if c.probes != o.probes {
		k |= ofProbes | ofStores // what is told of a probe promises that its stores are seen
	}
	if c.slots != o.slots {
		k |= ofSlots
	}
	if c.stores != o.stores {
		k |= ofStores
	}
	return k
}

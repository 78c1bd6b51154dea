package engine

import (
	"encoding/binary"
	"unsafe"

	"kprobesim/cpus"
	"kprobesim/mmu"
)

// Width is the type of an operand in memory.
type Width interface {
	uint8 | uint16 | uint32 | uint64
}

// dataPath is the way of data: micro-TLB entries in front of the TLB, and the caches.
type dataPath struct {
	ram      []byte   `state:"-"`
	codeMap  []uint64 `state:"-"`
	microGen uint64   // of micro, in the bits above any page number; never zero
	tlbGen   uint64   // the TLB's generation that micro is of

	iRecent, dRecent     []uint32
	sRecent              []uint32 // dRecent, of lines that may be written; the same slice on one CPU
	iMask, dMask         uint32
	dShift               uint
	lineMask             uint64 // bytes of a line of the L1D, less one
	l1Lat, l2Lat, memLat ticks
	l3Lat, tlb2Lat       ticks
	l1i, l1d, l2, l3     *mmu.Cache  // l3 may be nil
	levels               *mmu.Levels `state:"-"` // these
	direct               *mmu.Levels `state:"-"` // levels, if a load that misses goes there and asks nobody else; or nil
	latencies            [4]ticks    // by the number of levels that a load misses
	writeAround          bool        // a store that misses l1d leaves it alone
	swapped              bool        `state:"-"` // the most significant byte of an operand comes first
	prefetcher           *prefetcher // of a core that has any, or nil
	asks                 uint64      `state:"-"` // kind of the delay of a store whose line is not there
	sentStores                       // for the window model
	loadColumns
}

// microEntry is a translation kept in front of the data TLB. Tags are the virtual page number plus
// the generation. Replacement in the TLB is first in, first out, so that a hit here, of which the TLB
// does not learn, changes nothing.
type microEntry struct {
	read, write uint64
	base        uint64         // physical address of the page
	page        unsafe.Pointer // which is RAM
}

// at is where the byte at an offset in the page is. It is no index into an array, for which the host would read the
// first byte of the page too: the first lines of all pages share few sets of the host's caches.
func (e *microEntry) at(off uint64) unsafe.Pointer { return unsafe.Add(e.page, off) }

// clearMicro empties the micro-TLB. Each entry has some page of RAM, so that a place in it is one before anybody has looked
// whether the entry is the right one.
func (c *Core) clearMicro() {
	for i := range c.micro {
		c.micro[i] = microEntry{page: unsafe.Pointer(unsafe.SliceData(c.ram))}
	}
}

// microEntries are enough for every page of a working set that a cache can hold. Host speed is all
// that it decides.
const microEntries = 2048

// The smallest page of every instruction set is the granule of translations.
const (
	pageShift = 12
	pageBytes = 1 << pageShift
	pageMask  = pageBytes - 1
)

// access has the delays and stores that the memory operands of one instruction found.
type access struct {
	miss  ticks  // delay of its loads beyond the L1 latency
	missW ticks  // delay of its stores on their way to the cache
	own   ticks  // the same of the line that its store asks for, of a core with a store queue
	store uint64 // number of its own store; one that has its time when it stored nothing
	match uint8  // what its load found among the stores before it
	load  uint8  // number of the store that it found, modulo forwards
	pair  bool   // its own store lies in the line, or the block, of the store before it
	// columns has the loads before its own that read a column of its own, as noteColumns finds them.
	columns uint32
}

// accesses bounds the instructions of a block; the last entry is for accesses between instructions.
const (
	accesses = 128
	between  = accesses - 1
)

func (d *dataPath) init(cfg *cpus.Config, mem *mmu.Memory) {
	d.l1i, d.l1d, d.l2 = mmu.NewCache(cfg.L1I), mmu.NewCache(cfg.L1D), mmu.NewCacheBehind(cfg.L2)
	if cfg.L3 != (mmu.CacheConfig{}) {
		d.l3, d.l3Lat = mmu.NewCacheBehind(cfg.L3), cfg.L3.Latency
	}
	d.writeAround = cfg.L1D.WriteAround
	d.iRecent, d.iMask = d.l1i.Recent, d.l1i.Mask
	d.dRecent, d.dMask, d.dShift = d.l1d.Recent, d.l1d.Mask, d.l1d.Shift()
	d.lineMask = 1<<d.dShift - 1
	d.sRecent = d.dRecent
	d.l1Lat, d.l2Lat, d.memLat = cfg.L1D.Latency, cfg.L2.Latency, cfg.Memory
	d.levels = mmu.NewLevels(d.l1i, d.l1d, d.l2, d.l3, mem)
	d.levels.Inclusive, d.levels.Exclusive = cfg.L3.Inclusive, cfg.L3.Exclusive
	d.initPrefetch(cfg)
	d.latencies = [4]ticks{d.l1Lat, d.l2Lat, d.l3Lat, d.memLat}
}

// get and put access RAM with the least significant byte first. An instruction set of the other order
// swaps what it loads and stores.
func get[T Width](m []byte, pa uint64) T {
	var v T
	switch unsafe.Sizeof(v) {
	case 8:
		return T(binary.LittleEndian.Uint64(m[pa:]))
	case 4:
		return T(binary.LittleEndian.Uint32(m[pa:]))
	case 2:
		return T(binary.LittleEndian.Uint16(m[pa:]))
	}
	return T(m[pa])
}

func put[T Width](m []byte, pa uint64, v T) {
	switch unsafe.Sizeof(v) {
	case 8:
		binary.LittleEndian.PutUint64(m[pa:], uint64(v))
	case 4:
		binary.LittleEndian.PutUint32(m[pa:], uint32(v))
	case 2:
		binary.LittleEndian.PutUint16(m[pa:], uint16(v))
	default:
		m[pa] = byte(v)
	}
}

// getAt and putAt are get and put at a place in RAM.
func getAt[T Width](p unsafe.Pointer) T {
	var v T
	switch unsafe.Sizeof(v) {
	case 8:
		return T(binary.LittleEndian.Uint64((*[8]byte)(p)[:]))
	case 4:
		return T(binary.LittleEndian.Uint32((*[4]byte)(p)[:]))
	case 2:
		return T(binary.LittleEndian.Uint16((*[2]byte)(p)[:]))
	}
	return T(*(*byte)(p))
}

func putAt[T Width](p unsafe.Pointer, v T) {
	switch unsafe.Sizeof(v) {
	case 8:
		binary.LittleEndian.PutUint64((*[8]byte)(p)[:], uint64(v))
	case 4:
		binary.LittleEndian.PutUint32((*[4]byte)(p)[:], uint32(v))
	case 2:
		binary.LittleEndian.PutUint16((*[2]byte)(p)[:], uint16(v))
	default:
		*(*byte)(p) = byte(v)
	}
}

// Load reads memory at a virtual address, the least significant byte first. When ok is false an
// exception is pending and the instruction must have no effect.
func Load[T Width](c *Core, va uint64) (v T, ok bool) {
	n := uint64(unsafe.Sizeof(v))
	at, pa, rare := c.LoadPlace(va, n)
	if rare != 0 {
		return loadRarely[T](c, va)
	}
	v = getAt[T](at) // first: the host may wait for it while it looks tags up
	if !c.Reads(pa) {
		c.loadOther(pa, n, c.ordered(uint64(v), n))
	} else if c.MayFind(pa, n) { // what touchLoad does, in line as far as it is frequent
		c.findStore(pa, n)
	}
	if c.columnsMatter() {
		c.noteColumns(pa, n)
	}
	return v, true
}

// LoadPlace finds an operand of n bytes that is aligned and lies in a page of which a micro-TLB entry knows: where the host
// has it, and its physical address. Any other one is rare, and Load's.
func (c *Core) LoadPlace(va, n uint64) (at unsafe.Pointer, pa, rare uint64) {
	e := &c.micro[va>>pageShift&(microEntries-1)]
	off := va & pageMask
	return e.at(off), e.base + off, e.read ^ (va>>pageShift + c.microGen) | va&(n-1)
}

// Reads reports whether a load finds its line as the last one that its set used, which changes nothing.
func (c *Core) Reads(pa uint64) bool {
	line := uint32(pa >> (c.dShift & 63))
	return *recent(c.dRecent, line&c.dMask) == line+1
}

// recent is an element of Core.dRecent or Core.sRecent, whose mask has been applied.
func recent(lines []uint32, i uint32) *uint32 {
	return (*uint32)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(lines)), uint64(i)*4))
}

// MayFind reports whether an aligned load must look for a store before it, which is then for Find. It lies in one unit of
// sentStores, or in two.
func (c *Core) MayFind(pa, n uint64) bool {
	if !c.window || !c.storesMatter() {
		return false
	}
	number := c.sent[pa>>2&(sentUnits-1)].number
	if n == 8 {
		number = max(number, c.sent[(pa>>2+1)&(sentUnits-1)].number)
	}
	return int64(number-c.placed+c.live) > 0
}

// Find looks for the store that a load has to wait for.
func (c *Core) Find(pa, n uint64) { c.findStore(pa, n) }

// Bring is for a load of n bytes for which Reads does not hold. The guest reads v.
func (c *Core) Bring(pa, n, v uint64) { c.loadOther(pa, n, v) }

// Store writes memory at a virtual address, with Load's convention.
func Store[T Width](c *Core, va uint64, v T) bool {
	n := uint64(unsafe.Sizeof(v))
	at, pa, rare := c.StorePlace(va, n)
	if rare != 0 {
		return storeRarely(c, va, v)
	}
	// What storeRAM does. Each rare case leaves here, so that nothing is kept across its call.
	if !c.Writes(pa) {
		c.storeRAM(pa, uint64(v), n)
		return true
	}
	putAt(at, v)
	if c.Decoded(pa) {
		c.DropStored(pa, n)
	} else if c.Sends() {
		c.Send(pa, n)
	}
	return true
}

// StorePlace is LoadPlace of a store.
func (c *Core) StorePlace(va, n uint64) (at unsafe.Pointer, pa, rare uint64) {
	e := &c.micro[va>>pageShift&(microEntries-1)]
	off := va & pageMask
	return e.at(off), e.base + off, e.write ^ (va>>pageShift + c.microGen) | va&(n-1)
}

// Writes reports whether a store finds its line as the last one that its set used, and may write it.
func (c *Core) Writes(pa uint64) bool {
	line := uint32(pa >> (c.dShift & 63))
	return *recent(c.sRecent, line&c.dMask) == line+1
}

// Decoded reports whether a store may have changed code, which is then for DropStored.
func (c *Core) Decoded(pa uint64) bool {
	return c.codeMap[pa>>pageShift]>>(pa>>mmu.GranuleShift&63)&1 != 0
}

// Sends reports whether there is somebody whom Send tells of a store.
func (c *Core) Sends() bool { return c.window }

// storeRAM writes n bytes to RAM, by way of the caches.
//
//go:noinline
func (c *Core) storeRAM(pa, v, n uint64) {
	c.touchOwnLines(pa, n)
	if c.buffer != nil {
		c.bufferStore(pa, v, n)
		return
	}
	switch n {
	case 1:
		put(c.ram, pa, uint8(v))
	case 2:
		put(c.ram, pa, uint16(v))
	case 4:
		put(c.ram, pa, uint32(v))
	default:
		put(c.ram, pa, v)
	}
	c.DropStored(pa, n)
}

// Send notes a store's data for younger loads.
func (c *Core) Send(pa, n uint64) { c.send(pa, n) }

// DropStored tells of a store of n bytes, which may be code.
func (c *Core) DropStored(pa, n uint64) {
	if c.window {
		c.send(pa, n)
	}
	first, last := pa>>mmu.GranuleShift, (pa+n-1)>>mmu.GranuleShift
	if c.Memory.HasCode(first) {
		c.Memory.DropCode(pa)
	}
	if last != first && c.Memory.HasCode(last) {
		c.Memory.DropCode(last << mmu.GranuleShift)
	}
}

// loadRarely is Load of what LoadPlace does not find. An operand that is not aligned may still lie in a page that a
// micro-TLB entry knows.
//
//go:noinline
func loadRarely[T Width](c *Core, va uint64) (v T, ok bool) {
	e, n := &c.micro[va>>pageShift&(microEntries-1)], uint64(unsafe.Sizeof(v))
	off := va & pageMask
	if e.read != va>>pageShift+c.microGen || off > pageBytes-n {
		return loadSlow[T](c, va)
	}
	v = getAt[T](e.at(off))
	c.touchLoad(e.base+off, n)
	return v, true
}

// storeRarely is loadRarely of a store.
//
//go:noinline
func storeRarely[T Width](c *Core, va uint64, v T) bool {
	e, n := &c.micro[va>>pageShift&(microEntries-1)], uint64(unsafe.Sizeof(v))
	off := va & pageMask
	if e.write != va>>pageShift+c.microGen || off > pageBytes-n {
		return storeSlow(c, va, v)
	}
	c.storeRAM(e.base+off, uint64(v), n)
	return true
}

// loadSlow handles what no micro-TLB entry answers: misses, page crossings, devices, watchpoints.
func loadSlow[T Width](c *Core, va uint64) (v T, ok bool) {
	n := int(unsafe.Sizeof(v))
	if va&pageMask > pageBytes-uint64(n) {
		return loadCross[T](c, va)
	}
	pa, ok := c.translator.DataAddress(va, false)
	if !ok {
		return 0, false
	}
	if !c.allows(va, n, false) {
		return 0, false
	}
	if !c.Memory.Holds(pa, n) {
		return T(c.loadDevice(pa, n)), true
	}
	c.noteRead(va, pa)
	c.touchLoad(pa, uint64(n))
	c.bufferLoad(pa, n)
	return get[T](c.ram, pa), true
}

// loadCross reads an operand that lies in two pages, byte by byte after both translations hold.
func loadCross[T Width](c *Core, va uint64) (v T, ok bool) {
	n := uint64(unsafe.Sizeof(v))
	var b [8]byte
	for i := range n {
		x, ok := Load[uint8](c, (va+i)&c.AddrMask)
		if !ok {
			return 0, false
		}
		b[i] = x
	}
	c.delay(inMiss, c.ev[evSplit])
	c.step.Stalls.Split += c.ev[evSplit]
	return T(binary.LittleEndian.Uint64(b[:])), true
}

func storeSlow[T Width](c *Core, va uint64, v T) bool {
	n := int(unsafe.Sizeof(v))
	if va&pageMask > pageBytes-uint64(n) {
		return storeCross(c, va, uint64(v), n)
	}
	pa, ok := c.translator.DataAddress(va, true)
	if !ok {
		return false
	}
	if !c.allows(va, n, true) {
		return false
	}
	if !c.Memory.Holds(pa, n) {
		c.StoreDevice(pa, n, uint64(v))
		return true
	}
	c.noteWrite(va, pa)
	c.storeRAM(pa, uint64(v), uint64(n))
	return true
}

// storeCross writes an operand that lies in two pages; both are translated, and looked at by who watches,
// before any byte changes.
func storeCross(c *Core, va, v uint64, n int) bool {
	for _, at := range [...]uint64{va, secondPage(va, uint64(n)) & c.AddrMask} {
		if _, ok := c.translator.DataAddress(at, true); !ok {
			return false
		}
	}
	if !c.allows(va, n, true) || !c.allows(secondPage(va, uint64(n))&c.AddrMask, int(va+uint64(n))&pageMask, true) {
		return false
	}
	for i := range n {
		if !Store(c, (va+uint64(i))&c.AddrMask, uint8(v>>(8*uint(i)))) {
			return false
		}
	}
	c.delay(inMissW, c.ev[evSplitPage])
	c.step.Stalls.Split += c.ev[evSplitPage]
	return true
}

// loadDevice reads a register of a device, which takes the time of memory, since no cache holds it.
// Where no device is, all bits are ones, as on a bus that nobody drives.
func (c *Core) loadDevice(pa uint64, n int) uint64 {
	c.drainOrdered()
	c.delay(inMiss, c.memLat)
	c.Settle()
	if c.Bus.Device == nil {
		return ^uint64(0)
	}
	return c.Bus.Device.Load(pa, n)
}

// StoreDevice writes to a device at a physical address. What the device does may bring events nearer, so
// the machine looks at its queue before the next instruction. A store is posted: it costs its
// instruction and no more.
func (c *Core) StoreDevice(pa uint64, n int, v uint64) {
	c.drainOrdered()
	if c.Bus.Device != nil {
		c.Settle()
		c.Bus.Device.Store(pa, n, v)
		c.Check |= CheckInterrupts
		c.Exit(cpus.Exit{Reason: cpus.Limit})
	}
}

// LoadPort reads an I/O port, of instruction sets that have a space of addresses for devices alone. What
// it takes is the price of the instruction. Where no device is, all bits are ones.
func (c *Core) LoadPort(port uint16, n int) uint64 {
	c.DrainStores()
	if c.Bus.Ports == nil {
		return ^uint64(0)
	}
	c.Settle()
	v := c.Bus.Ports.Load(uint64(port), n)
	c.Check |= CheckInterrupts
	c.Exit(cpus.Exit{Reason: cpus.Limit}) // a read too may bring an event nearer
	return v
}

// StorePort writes an I/O port, as StoreDevice does a register.
func (c *Core) StorePort(port uint16, n int, v uint64) {
	c.DrainStores()
	if c.Bus.Ports != nil {
		c.Settle()
		c.Bus.Ports.Store(uint64(port), n, v)
		c.Check |= CheckInterrupts
		c.Exit(cpus.Exit{Reason: cpus.Limit})
	}
}

// LoadForStore reads an operand that will be written back. The fault of the write comes first: a
// read-modify-write instruction checks before its load, as hardware does. A locked one takes the line.
func LoadForStore[T Width](c *Core, va uint64) (v T, ok bool) {
	e := &c.micro[va>>pageShift&(microEntries-1)]
	off := va & pageMask
	if e.write != va>>pageShift+c.microGen || off > pageBytes-uint64(unsafe.Sizeof(v)) {
		if !c.prepareStore(va, uint64(unsafe.Sizeof(v))) {
			return 0, false
		}
		return Load[T](c, va)
	}
	pa := e.base + off
	if c.claims() {
		c.claim(pa, uint64(unsafe.Sizeof(v)))
	}
	c.touchLoad(pa, uint64(unsafe.Sizeof(v)))
	return get[T](c.ram, pa), true
}

// secondPage is the beginning of the page in which an operand of n bytes ends: the address that a fault of
// its second part reports.
func secondPage(va, n uint64) uint64 { return (va + n - 1) &^ pageMask }

// prepareStore translates an operand of n bytes for a store. The instruction set sees both pages of
// an operand that lies in two before the first byte is read.
func (c *Core) prepareStore(va, n uint64) bool {
	if c.isLocked() {
		c.DrainStores()
	}
	second := secondPage(va, n) & c.AddrMask
	pa, ok := c.translator.DataAddress(va, true)
	if !ok {
		return false
	}
	if va>>pageShift != second>>pageShift {
		_, ok = c.translator.DataAddress(second, true)
		return ok
	}
	if c.claims() && c.Memory.Holds(pa, int(n)) {
		c.claim(pa, n)
	}
	return true
}

// noteRead and noteWrite keep a translation in front of the TLB, unless bytes of its page are watched.
func (c *Core) noteRead(va, pa uint64) {
	if (!c.watching || !c.near(va)) && !c.tracks() {
		c.note(va, pa).read = va>>pageShift + c.microGen
	}
}

func (c *Core) noteWrite(va, pa uint64) {
	if (!c.watching || !c.near(va)) && c.buffer == nil {
		c.note(va, pa).write = va>>pageShift + c.microGen
	}
}

// note makes the entry of a page its own; another page's rights go.
func (c *Core) note(va, pa uint64) *microEntry {
	e := &c.micro[va>>pageShift&(microEntries-1)]
	tag := va>>pageShift + c.microGen
	if page := pa &^ pageMask; e.base != page || e.read != tag && e.write != tag {
		*e = microEntry{base: page, page: unsafe.Pointer((*[pageBytes]byte)(c.ram[page:]))}
	}
	return e
}

// Refilled drops micro-TLB entries when the data TLB has replaced one of its own.
func (c *Core) Refilled() {
	if c.DTLB.Generation != c.tlbGen {
		c.tlbGen = c.DTLB.Generation
		c.ForgetData()
	}
}

package mmu

import "math/bits"

// Past has the last stores of all CPUs of a machine whose memory is weakly ordered, in the order in which they became the newest ones
// of their places. A CPU's stores leave its buffer in any order that keeps stores of one place in order and does not cross a barrier. A
// store that has left may still not be seen by some CPUs: a load may be older than one before it. A CPU that does not see a store
// finds what was there before, and never goes back behind what it has seen of a place.
//
// So there is one order of stores for all CPUs, and a load has a place in it, in which it may lie before loads and stores that are older in
// the program. No load comes behind a younger store, and no CPU sees a store of another one before a third does but by such a load.
//
// What a CPU stores to a page that no other one has read yet, its stack for instance, cannot be seen. It is not in the window, and waits only
// for stores that it must not pass. The first load from a page sees all stores.
type Past struct {
	mem     *Memory
	buffers []*StoreBuffer
	log     [pastStores]pastStore // store t at t % pastStores
	last    uint64                // the number of stores
	readers []uint64              // of each page: bits of the CPUs that have read it, and logged
}

// logged is the bit of a page of which the window has had stores.
const logged = 1 << 63

const pageShift = 12

// pastStores is the size of the window: all CPUs see what is older. It is the number of bits of weak.unseen.
const pastStores = 32

// pastStore is a store that has left its buffer. What Go has written is seen by all and may be of any length.
type pastStore struct {
	pa       uint64
	n        int
	old, now uint64
	by       int
	number   uint64
}

// overlaps reports whether a store has one of n bytes.
func overlaps(at uint64, of int, pa uint64, n int) bool {
	return at < pa+uint64(n) && pa < at+uint64(of)
}

// weak has the fields that a buffer of a Past needs beside.
type weak struct {
	past    *Past
	cpu     int
	epoch   uint64 // barriers so far; stores of one epoch are not ordered among each other
	stored  uint64 // stores so far
	unseen  uint32 // bits of Past.log: stores of other CPUs that this one does not see
	depends uint64 // of the running instruction, see Depend
	blind   func() // told when the first store is unseen
	lost    func(pa uint64, n int)
}

// orderedStore says how a store is ordered among others of its CPU.
type orderedStore struct {
	epoch  uint64
	number uint64 // of the CPU's stores, from 1
	view   uint64 // what a load that finds it depends on
	behind bool   // an older one that was held had bytes of it
}

// NewPast makes a window for a machine.
func NewPast(mem *Memory) *Past {
	p := &Past{mem: mem, readers: make([]uint64, mem.Size()>>pageShift+1)}
	mem.OnWrite(p.written)
	return p
}

// Buffer makes the buffer of the next CPU.
func (p *Past) Buffer(room int, code [][2]uint64) *StoreBuffer {
	b := NewStoreBuffer(p.mem, room, code)
	b.past, b.cpu = p, len(p.buffers)
	p.buffers = append(p.buffers, b)
	return b
}

// Tell has blind called when there is a first store that the CPU does not see, and lost with the place of each store of others.
func (b *StoreBuffer) Tell(blind func(), lost func(pa uint64, n int)) { b.blind, b.lost = blind, lost }

// written notes what somebody else than a CPU has written, which all see.
func (p *Past) written(pa uint64, n int) {
	p.add(pastStore{pa: pa, n: n, by: -1})
	for _, b := range p.buffers {
		b.see(p.overlapping(pa, n, b.unseen))
		if b.lost != nil {
			b.lost(pa, n)
		}
	}
}

// add makes a store the newest one. The oldest one leaves the window.
func (p *Past) add(s pastStore) (bit uint32) {
	bit = 1 << ((p.last + 1) % pastStores)
	for _, b := range p.buffers {
		b.see(b.unseen & bit)
	}
	p.last++
	p.log[p.last%pastStores] = s
	return bit
}

// overlapping picks out of some stores the ones that have one of n bytes.
func (p *Past) overlapping(pa uint64, n int, some uint32) (all uint32) {
	for ; some != 0; some &= some - 1 {
		i := bits.TrailingZeros32(some)
		if s := &p.log[i]; overlaps(s.pa, s.n, pa, n) {
			all |= 1 << i
		}
	}
	return all
}

// oldest is the first of some stores, by its number in the order of all.
func (p *Past) oldest(some uint32) uint64 {
	first := p.last + 1
	return first + uint64(bits.TrailingZeros32(bits.RotateLeft32(some, -int(first%pastStores)))) - pastStores
}

// newest is the last of some stores.
func (p *Past) newest(some uint32) uint64 {
	first := p.last + 1
	return first - 1 - uint64(bits.LeadingZeros32(bits.RotateLeft32(some, -int(first%pastStores))))
}

// upTo are the stores with numbers up to t.
func (p *Past) upTo(t uint64) uint32 {
	newer := p.last - min(t, p.last)
	if newer >= pastStores {
		return 0
	}
	return ^bits.RotateLeft32(1<<newer-1, int((t+1)%pastStores))
}

// order notes of a store how it is ordered.
func (b *StoreBuffer) order(pa uint64, n int) orderedStore {
	b.stored++
	s := orderedStore{b.epoch, b.stored, b.depends, false}
	for i := range b.held {
		s.behind = s.behind || overlaps(b.held[i].pa, b.held[i].n, pa, n)
	}
	return s
}

// Stored is the number of stores so far.
func (b *StoreBuffer) Stored() uint64 { return b.stored }

// storeWeak reports whether a store is held: others can see it, or it may not leave at once.
func (b *StoreBuffer) storeWeak(pa uint64, n int) bool {
	if !b.private(pa) || len(b.held) > 0 && b.held[0].epoch != b.epoch {
		return true
	}
	for i := range b.held {
		if overlaps(b.held[i].pa, b.held[i].n, pa, n) {
			return true
		}
	}
	b.past.outdate(pa, n)
	return false
}

// outdate has all CPUs see what the window has of n bytes, where something newer is not to be in it.
func (p *Past) outdate(pa uint64, n int) {
	if p.readers[pa>>pageShift]&logged == 0 {
		return
	}
	for _, b := range p.buffers {
		b.see(p.overlapping(pa, n, b.unseen))
	}
}

// private reports whether no other CPU has read a page.
func (b *StoreBuffer) private(pa uint64) bool {
	return b.past.readers[pa>>pageShift]&^(1<<b.cpu|logged) == 0
}

// storeCode lets a store into code be seen by all.
func (b *StoreBuffer) storeCode(pa uint64, n int) {
	b.DrainLast()
	for _, o := range b.past.buffers {
		o.see(b.past.overlapping(pa, n, o.unseen))
	}
}

// still has f change what CPUs see. The CPU that has its turn sees it afterwards.
func (b *StoreBuffer) still(f func()) {
	shown := b.shown
	if shown {
		b.Hide()
	}
	f()
	if shown {
		b.Show()
	}
}

// drainAt lets store i leave. The CPU itself sees what was at its place before, and so what is older there. In its turn memory
// is as it sees it, and stays so.
func (b *StoreBuffer) drainAt(i int) {
	p, private := b.past, b.private(b.held[i].pa)
	if private {
		p.outdate(b.held[i].pa, b.held[i].n)
	} else {
		b.see(p.overlapping(b.held[i].pa, b.held[i].n, b.unseen))
	}
	s := b.held[i]
	b.held = append(b.held[:i], b.held[i+1:]...)
	old := s.old
	if !b.shown {
		old = b.mem.swap(s.pa, s.now, s.n)
	}
	if private {
		return
	}
	p.readers[s.pa>>pageShift] |= logged
	bit := p.add(pastStore{s.pa, s.n, old, s.now, b.cpu, s.number})
	for _, o := range p.buffers {
		if o != b {
			o.miss(bit, &s)
		}
	}
}

// miss is told of a store of another CPU.
func (b *StoreBuffer) miss(bit uint32, s *heldStore) {
	b.unseen |= bit
	if b.unseen == bit && b.blind != nil {
		b.blind()
	}
	if b.lost != nil {
		b.lost(s.pa, s.n)
	}
}

// mayLeave reports whether store i may leave before those that are older: no barrier stands between, and none has a byte of it.
func (b *StoreBuffer) mayLeave(i int) bool {
	s := &b.held[i]
	for j := 0; s.behind && j < i; j++ {
		if overlaps(b.held[j].pa, b.held[j].n, s.pa, s.n) {
			return false
		}
	}
	return s.epoch == b.held[0].epoch
}

// DrainWhere lets stores leave that may and of which f says so by their numbers.
func (b *StoreBuffer) DrainWhere(f func(number uint64) bool) {
	for i := 0; i < len(b.held); {
		if b.mayLeave(i) && f(b.held[i].number) {
			b.drainAt(i)
		} else {
			i++
		}
	}
}

// SeeWhere has the CPU see stores of which f says so by their CPUs and numbers, the oldest first.
func (b *StoreBuffer) SeeWhere(f func(by int, number uint64) bool) {
	for left := b.unseen; left != 0; left &= b.unseen {
		t := b.past.oldest(left) % pastStores
		left &^= 1 << t
		if s := &b.past.log[t]; f(s.by, s.number) {
			b.see(1 << t)
		}
	}
}

// DrainLast lets the youngest store leave, and before it those that it must not pass.
func (b *StoreBuffer) DrainLast() {
	last := len(b.held) - 1
	if last < 0 {
		return
	}
	first := uint64(1) << last // those that leave, by bits
	for j := last - 1; j >= 0; j-- {
		must := b.held[j].epoch != b.held[last].epoch
		for k := j + 1; k <= last && !must; k++ {
			must = first>>k&1 != 0 && overlaps(b.held[j].pa, b.held[j].n, b.held[k].pa, b.held[k].n)
		}
		if must {
			first |= 1 << j
		}
	}
	for gone := 0; first != 0; gone++ {
		i := bits.TrailingZeros64(first)
		first &= first - 1
		b.drainAt(i - gone)
	}
}

// Order is a barrier between the stores before it and those behind it.
func (b *StoreBuffer) Order() { b.epoch++ }

// Unseen reports whether there are stores that the CPU does not see.
func (b *StoreBuffer) Unseen() bool { return b.unseen != 0 }

// SeeAll has the CPU see every store.
func (b *StoreBuffer) SeeAll() { b.see(b.unseen) }

// SeeUpTo has it see the stores with numbers up to t in the order of all.
func (b *StoreBuffer) SeeUpTo(t uint64) {
	if b.unseen != 0 {
		b.see(b.past.upTo(t))
	}
}

// Newest has all CPUs see what this one has stored to n bytes, and this one what the others have.
func (b *StoreBuffer) Newest(pa uint64, n int) {
	for i := len(b.held) - 1; i >= 0; i-- {
		if overlaps(b.held[i].pa, b.held[i].n, pa, n) {
			b.drainUpTo(i)
			break
		}
	}
	b.see(b.past.overlapping(pa, n, b.unseen))
}

// drainUpTo lets store i leave behind all that are older.
func (b *StoreBuffer) drainUpTo(i int) { b.Drain(i + 1) }

// see has the CPU see some stores, and those before them that have bytes of theirs.
func (b *StoreBuffer) see(some uint32) {
	if some &= b.unseen; some == 0 {
		return
	}
	p := b.past
	for left := some; left != 0; {
		t := p.newest(left)
		s := &p.log[t%pastStores]
		left &^= 1 << (t % pastStores)
		older := p.overlapping(s.pa, s.n, b.unseen&^some&p.upTo(t))
		left, some = left|older, some|older
	}
	if b.shown && some == b.unseen && !b.covers(some) {
		b.remember()
		b.unseen = 0
		return
	}
	b.still(func() { b.unseen &^= some })
}

// covers reports whether a store that is held has a byte of some others.
func (b *StoreBuffer) covers(some uint32) bool {
	for i := range b.held {
		if b.past.overlapping(b.held[i].pa, b.held[i].n, some) != 0 {
			return true
		}
	}
	return false
}

// Depend says what the address of the loads of the running instruction depends on, and what it stores: stores of the order of all up to
// a number.
func (b *StoreBuffer) Depend(on uint64) { b.depends = on }

// Depends returns it.
func (b *StoreBuffer) Depends() uint64 { return b.depends }

// Touch is told of a load from a page, and has the CPU see all stores if it is the first.
func (b *StoreBuffer) Touch(pa uint64) {
	if at := &b.past.readers[pa>>pageShift]; *at>>b.cpu&1 == 0 {
		*at |= 1 << b.cpu
		b.SeeAll()
	}
}

// Load is told of a load of n bytes before it is made. The CPU sees every store to them that its address depends on. The result is for instructions
// that use the value: the store that has made it, or what that depends on if no other CPU sees it yet.
func (b *StoreBuffer) Load(pa uint64, n int) (view uint64) {
	p := b.past
	all := p.overlapping(pa, n, ^uint32(0))
	b.see(all & p.upTo(b.depends))
	for i := len(b.held) - 1; i >= 0; i-- {
		if s := &b.held[i]; s.pa <= pa && pa+uint64(n) <= s.pa+uint64(s.n) {
			return max(s.view, b.depends)
		}
	}
	if all &^= b.unseen; all == 0 {
		return max(b.depends, max(p.last, pastStores)-pastStores)
	}
	return max(b.depends, p.newest(all))
}

// forget takes out of memory what the CPU does not see, the newest first. It is for Show.
func (b *StoreBuffer) forget() {
	for left := b.unseen; left != 0; {
		t := b.past.newest(left) % pastStores
		s := &b.past.log[t]
		b.mem.swap(s.pa, s.old, s.n)
		left &^= 1 << t
	}
}

// remember puts it back, the oldest first.
func (b *StoreBuffer) remember() {
	for left := b.unseen; left != 0; {
		t := b.past.oldest(left) % pastStores
		s := &b.past.log[t]
		b.mem.swap(s.pa, s.now, s.n)
		left &^= 1 << t
	}
}

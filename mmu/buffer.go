package mmu

// StoreBuffer holds stores of one CPU that the others do not see yet, the oldest first, as total store order has it, or in the weaker
// order of a Past. One CPU executes at a time where there are such buffers. So what a CPU sees of memory is memory itself: its
// stores are put there when its turn begins, and taken back when it ends. A load of its own finds the youngest of them.
type StoreBuffer struct {
	mem   *Memory
	room  int
	code  [][2]uint64 // stores there do not wait
	held  []heldStore
	shown bool // the stores stand in memory, as their CPU has its turn
	weak       // of a Past
}

// heldStore is a store of up to eight bytes, and what they were before it. old is of the time when the store was put into memory.
type heldStore struct {
	pa       uint64
	n        int
	old, now uint64
	orderedStore
}

// NewStoreBuffer makes a buffer that holds so many stores at most. Stores into ranges of code do not wait, nor do those before
// them: what other CPUs may have fetched of code is for those who change it to say.
func NewStoreBuffer(mem *Memory, room int, code [][2]uint64) *StoreBuffer {
	return &StoreBuffer{mem: mem, room: room, code: code, held: make([]heldStore, 0, room)}
}

// Held is the number of stores that other CPUs do not see.
func (b *StoreBuffer) Held() int { return len(b.held) }

// Store takes the low n bytes of v, which a CPU stores in its turn. The oldest store makes room.
func (b *StoreBuffer) Store(pa, v uint64, n int) {
	if b.past != nil && !b.storeWeak(pa, n) {
		b.mem.swap(pa, v, n)
		return
	}
	if len(b.held) == b.room {
		b.Drain(1)
	}
	b.held = append(b.held, heldStore{pa: pa, n: n, old: b.mem.swap(pa, v, n), now: v, orderedStore: b.order(pa, n)})
	if !b.isCode(pa) {
		return
	}
	if b.past != nil {
		b.storeCode(pa, n)
	} else {
		b.DrainAll()
	}
}

func (b *StoreBuffer) isCode(pa uint64) bool {
	for _, at := range b.code {
		if pa-at[0] < at[1]-at[0] {
			return true
		}
	}
	return b.past != nil && b.mem.HasCode(pa>>GranuleShift)
}

// Show begins a turn of the CPU.
func (b *StoreBuffer) Show() {
	b.forget()
	for i := range b.held {
		s := &b.held[i]
		s.old = b.mem.swap(s.pa, s.now, s.n)
	}
	b.shown = true
}

// Hide ends it.
func (b *StoreBuffer) Hide() {
	for i := len(b.held) - 1; i >= 0; i-- {
		b.mem.swap(b.held[i].pa, b.held[i].old, b.held[i].n)
	}
	b.remember()
	b.shown = false
}

// Drain lets all CPUs see the oldest n stores, or all that there are. The rest moves down: nothing is allocated for a store.
func (b *StoreBuffer) Drain(n int) {
	n = min(n, len(b.held))
	if b.past != nil {
		for range n {
			b.drainAt(0)
		}
		return
	}
	if !b.shown {
		for i := range b.held[:n] {
			b.mem.swap(b.held[i].pa, b.held[i].now, b.held[i].n)
		}
	}
	b.held = b.held[:copy(b.held, b.held[n:])]
}

// DrainAll lets all CPUs see every store.
func (b *StoreBuffer) DrainAll() { b.Drain(len(b.held)) }

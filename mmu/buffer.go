package mmu

import "encoding/binary"

// StoreBuffer holds stores of one CPU that the others do not see yet, the oldest first, as total store order has it.
// One CPU executes at a time where there are such buffers. So what a CPU sees of memory is memory itself: its stores are put
// there when its turn begins, and taken back when it ends. A load of its own finds the youngest of them.
type StoreBuffer struct {
	mem   *Memory
	room  int
	code  [][2]uint64 // stores there do not wait
	held  []heldStore
	shown bool // the stores stand in memory, as their CPU has its turn
}

// heldStore is a store of up to eight bytes, and what they were before it. old is of the time when the store was put into memory.
type heldStore struct {
	pa       uint64
	n        int
	old, now [8]byte
}

// NewStoreBuffer makes a buffer that holds so many stores at most. Stores into ranges of code do not wait, nor do those before
// them: what other CPUs may have fetched of code is for those who change it to say.
func NewStoreBuffer(mem *Memory, room int, code [][2]uint64) *StoreBuffer {
	return &StoreBuffer{mem: mem, room: room, code: code}
}

// Held is the number of stores that other CPUs do not see.
func (b *StoreBuffer) Held() int { return len(b.held) }

// Store takes the low n bytes of v, which a CPU stores in its turn. The oldest store makes room.
func (b *StoreBuffer) Store(pa, v uint64, n int) {
	if len(b.held) == b.room {
		b.Drain(1)
	}
	s := heldStore{pa: pa, n: n}
	binary.LittleEndian.PutUint64(s.now[:], v)
	b.put(&s)
	b.held = append(b.held, s)
	for _, at := range b.code {
		if pa-at[0] < at[1]-at[0] {
			b.DrainAll()
		}
	}
}

// put stores into memory and keeps what was there.
func (b *StoreBuffer) put(s *heldStore) {
	copy(s.old[:s.n], b.mem.Bytes(s.pa, s.n))
	b.mem.Write(s.pa, s.now[:s.n])
}

// Show begins a turn of the CPU.
func (b *StoreBuffer) Show() {
	for i := range b.held {
		b.put(&b.held[i])
	}
	b.shown = true
}

// Hide ends it.
func (b *StoreBuffer) Hide() {
	for i := len(b.held) - 1; i >= 0; i-- {
		b.mem.Write(b.held[i].pa, b.held[i].old[:b.held[i].n])
	}
	b.shown = false
}

// Drain lets all CPUs see the oldest n stores, or all that there are.
func (b *StoreBuffer) Drain(n int) {
	n = min(n, len(b.held))
	for i := range b.held[:n] {
		if !b.shown {
			b.put(&b.held[i])
		}
	}
	b.held = b.held[n:]
	if len(b.held) == 0 {
		b.held = nil
	}
}

// DrainAll lets all CPUs see every store.
func (b *StoreBuffer) DrainAll() { b.Drain(len(b.held)) }

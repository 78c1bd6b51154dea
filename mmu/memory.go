package mmu

import (
	"encoding/binary"

	"kprobesim/internal/encoding"
)

// GranuleShift is the logarithm of the granule in which decoded code is tracked, 64 bytes: at most a line
// of any cache, so that a store does not drop code that lies beside it.
const GranuleShift = 6

// Memory is physical RAM from address zero.
//
// A CPU that keeps decoded copies of code marks the lines they came from with MarkCode and is told
// through OnCodeStore when one of them is written. Tracking is per line and not per page because
// probes patch text that shares its page with stacks and data.
type Memory struct {
	ram   []byte
	code  []uint64
	drops []func(pa uint64)
	write []func(pa uint64, n int)
	// zeroed makes more memory of the host, which is there as long as the RAM.
	zeroed func(size int) []byte
}

// NewMemory returns size bytes of zeroed RAM; size is rounded up to a page.
func NewMemory(size int) *Memory {
	return NewMemoryOf(func(size int) []byte { return make([]byte, size) }, size)
}

// NewMemoryOf is NewMemory with RAM that zeroed makes, so many bytes that are all zero.
func NewMemoryOf(zeroed func(size int) []byte, size int) *Memory {
	size = (size + 0xfff) &^ 0xfff
	return &Memory{ram: zeroed(size), code: make([]uint64, size>>(GranuleShift+6)+1), zeroed: zeroed}
}

// Size returns the bytes of RAM.
func (m *Memory) Size() int { return len(m.ram) }

// Raw returns the RAM itself. A CPU reads it directly; before it writes it must ask HasCode.
func (m *Memory) Raw() []byte { return m.ram }

// CodeMap returns the bitmap behind HasCode, one bit a line, for the fast path of a CPU.
func (m *Memory) CodeMap() []uint64 { return m.code }

// Holds reports whether the n bytes at pa are RAM.
func (m *Memory) Holds(pa uint64, n int) bool {
	return pa < uint64(len(m.ram)) && uint64(n) <= uint64(len(m.ram))-pa
}

// Bytes returns n bytes at pa as a view that must not be written, or nil when they are not RAM.
func (m *Memory) Bytes(pa uint64, n int) []byte {
	if n < 0 || !m.Holds(pa, n) {
		return nil
	}
	return m.ram[pa : pa+uint64(n) : pa+uint64(n)]
}

// Load returns the value of 1, 2, 4 or 8 bytes at pa in a byte order; outside RAM it is all ones, as on
// a bus that nobody answers.
func (m *Memory) Load(order binary.ByteOrder, pa uint64, size int) uint64 {
	b := m.Bytes(pa, size)
	if b == nil {
		return ^uint64(0) >> (64 - 8*uint(size))
	}
	return encoding.Uint(order, b)
}

// Store writes the low size bytes of v at pa in a byte order; outside RAM it does nothing.
func (m *Memory) Store(order binary.ByteOrder, pa uint64, size int, v uint64) {
	var b [8]byte
	encoding.PutUint(order, b[:size], v)
	m.Write(pa, b[:size])
}

// Write copies b to pa; the part outside RAM is dropped.
func (m *Memory) Write(pa uint64, b []byte) {
	if pa >= uint64(len(m.ram)) || len(b) == 0 {
		return
	}
	n := copy(m.ram[pa:], b)
	for _, f := range m.write {
		f(pa, n)
	}
	m.dropLines(pa, n)
}

// swap stores the low n bytes of v, the least significant first, and returns what was there. All of it is RAM. A store
// buffer makes several for each turn of a CPU. They are a CPU's stores, of which OnWrite does not tell.
func (m *Memory) swap(pa, v uint64, n int) (old uint64) {
	b := m.ram[pa : pa+uint64(n)]
	old = encoding.Uint(binary.LittleEndian, b)
	encoding.PutUint(binary.LittleEndian, b, v)
	m.dropLines(pa, n)
	return old
}

// dropLines tells of code in lines that were written.
func (m *Memory) dropLines(pa uint64, n int) {
	for line := pa >> GranuleShift; line <= (pa+uint64(n)-1)>>GranuleShift; line++ {
		if m.HasCode(line) {
			m.DropCode(line << GranuleShift)
		}
	}
}

// HasCode reports whether somebody holds decoded copies of a line.
func (m *Memory) HasCode(line uint64) bool { return m.code[line>>6]>>(line&63)&1 != 0 }

// MarkCode notes that somebody holds decoded copies of the line at pa.
func (m *Memory) MarkCode(pa uint64) {
	if m.Holds(pa, 1) {
		line := pa >> GranuleShift
		m.code[line>>6] |= 1 << (line & 63)
	}
}

// DropCode tells every holder that the line at pa was written.
func (m *Memory) DropCode(pa uint64) {
	line := pa >> GranuleShift
	m.code[line>>6] &^= 1 << (line & 63)
	for _, f := range m.drops {
		f(pa)
	}
}

// OnWrite has f called behind every Write and Store. What a CPU stores does not go through these.
func (m *Memory) OnWrite(f func(pa uint64, n int)) { m.write = append(m.write, f) }

// OnCodeStore registers f to be called with an address in each marked line that is written.
func (m *Memory) OnCodeStore(f func(pa uint64)) { m.drops = append(m.drops, f) }

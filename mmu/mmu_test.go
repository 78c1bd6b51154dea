package mmu

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/internal/require"
)

func TestCacheConfigCheck(t *testing.T) {
	for _, cc := range []CacheConfig{
		{},
		{Size: 1000, Ways: 2, Line: 64},
		{Ways: 8, Line: 64},
		{Size: 3 << 29, Ways: 3, Line: 64},
		{Size: 64, Line: 64},
		{Size: 32 << 10, Ways: 33, Line: 64},
		{Size: 32 << 10, Ways: 8, Line: 48},
		{Size: 32 << 10, Ways: 8, Line: 64, WriteAround: true},
	} {
		require.That(t, cc.Check() != nil, "%+v passes", cc)
	}
	for line := -1; line <= 2048; line++ { // powers of two from 16 to 1024, in 1 to 32 ways
		for ways, ok := range map[int]bool{0: false, 1: true, 2: true, 32: true, 33: false} {
			good := ok && slices.Contains([]int{16, 32, 64, 128, 256, 512, 1024}, line)
			for size, fits := range map[int]bool{0: false, 3 * line * ways: true, 3*line*ways + 1: ways == 1 && line == 1, line*ways - 1: false} {
				cc := CacheConfig{Size: size, Ways: ways, Line: line}
				require.That(t, (cc.Check() == nil) == (good && fits), "%+v: %v", cc, cc.Check())
				require.That(t, cc.CheckFirst() != nil, "%+v passes as a first level", cc)
			}
			cc := CacheConfig{Size: 4 * line * ways, Ways: ways, Line: line}
			require.That(t, (cc.CheckFirst() == nil) == good, "%+v as a first level: %v", cc, cc.CheckFirst())
		}
	}
	for size, ok := range map[int]bool{1 << 30: true, 1<<30 + 1024: false} {
		require.Equal(t, CacheConfig{Size: size, Ways: 1, Line: 1024}.Check() == nil, ok, "%d bytes", size)
	}
}

// TestTLBConfigCheck takes so many ways that the rest is a power of two, of base and of large pages.
func TestTLBConfigCheck(t *testing.T) {
	for ways := range 40 {
		for shift := range 18 {
			for _, more := range []int{-1, 0, 1} {
				entries := ways<<shift + more
				good := false
				for sets := 1; sets <= 1<<16; sets *= 2 {
					good = good || ways > 0 && entries == ways*sets && entries <= 1<<16
				}
				for _, tc := range []TLBConfig{{entries, ways, 4, 4}, {4, 4, entries, ways}} {
					require.That(t, (tc.Check() == nil) == good, "%+v: %v", tc, tc.Check())
				}
			}
		}
	}
}

func TestTLBIsFirstInFirstOut(t *testing.T) {
	tl := NewTLB(TLBConfig{Entries: 8, Ways: 4, LargeEntries: 4, LargeWays: 4}, PageSizes{12, 21})
	page := func(n uint64) Page { return Page{VA: n << 13, PA: n << 12, Shift: 12} } // all in set 0
	for n := range uint64(4) {
		tl.Insert(page(n))
	}
	gen := tl.Generation
	for range 10 {
		tl.Find(0) // a hit does not make page 0 younger
	}
	require.That(t, tl.Generation == gen, "a hit changed the generation")
	tl.Insert(page(4))
	require.That(t, tl.Find(0) == nil && tl.Find(1<<13) != nil && tl.Find(4<<13) != nil, "the first page in was not the first out")
	require.That(t, tl.Generation != gen, "a replacement did not change the generation")
	tl.Insert(Page{VA: 1 << 21, PA: 3 << 21, Shift: 21, Global: true})
	p := tl.Find(1<<21 + 12345)
	require.That(t, p != nil && p.Offset(1<<21+12345) == 3<<21+12345, "a large page is not found")
	tl.Flush(false)
	require.That(t, tl.Find(1<<21) != nil && tl.Find(4<<13) == nil, "a flush keeps global pages and no others")
}

// TestWritesTell writes at random in each way, also past the end, and holds memory, what is told of code and of writes, and what is
// read, against a copy.
func TestWritesTell(t *testing.T) {
	const size = 1 << 13
	m, r := NewMemory(size-100), rand.New(rand.NewPCG(1, 1))
	require.Equal(t, m.Size(), size, "whole pages have bytes")
	raw, code := make([]byte, size), map[uint64]bool{}
	var dropped, written [][2]uint64
	for range 2 {
		m.OnCodeStore(func(pa uint64) { dropped = append(dropped, [2]uint64{pa >> GranuleShift}) })
		m.OnWrite(func(pa uint64, n int) { written = append(written, [2]uint64{pa, uint64(n)}) })
	}
	for range 20_000 {
		pa := r.Uint64N(size + 100)
		if r.IntN(2) == 0 {
			if m.MarkCode(pa); pa < size {
				code[pa>>GranuleShift] = true
			}
		}
		order := []binary.ByteOrder{binary.LittleEndian, binary.BigEndian}[r.IntN(2)]
		n, v := 1<<r.IntN(4), r.Uint64()
		b := make([]byte, 8)
		binary.LittleEndian.PutUint64(b, v)
		inside, got, old := pa+uint64(n) <= size, m.Load(order, pa, n), uint64(0)
		for i := range n {
			x := byte(0xff)
			if inside {
				x = raw[pa+uint64(i)]
			}
			if order == binary.ByteOrder(binary.LittleEndian) {
				old |= uint64(x) << (8 * i)
			} else {
				old = old<<8 | uint64(x)
			}
		}
		require.Need(t, got == old && m.Holds(pa, n) == inside && (m.Bytes(pa, n) != nil) == inside && m.Bytes(pa, -n) == nil, "%d bytes at %#x are %#x, want %#x", n, pa, got, old)
		dropped, written = nil, nil
		var wantWritten, wantDropped [][2]uint64
		switch how := r.IntN(3); {
		case how == 0 && inside:
			was := m.swap(pa, v, n)
			require.Need(t, was == old || order != binary.ByteOrder(binary.LittleEndian), "%d bytes at %#x were %#x, want %#x", n, pa, was, old)
		case how == 1:
			if b = b[:r.IntN(9)]; r.IntN(4) == 0 {
				b = make([]byte, 200)
			}
			n = len(b)
			m.Write(pa, b)
			wantWritten = [][2]uint64{{pa, min(uint64(n), size-min(pa, size))}}
		default:
			m.Store(order, pa, n, v)
			if order == binary.ByteOrder(binary.BigEndian) {
				slices.Reverse(b[:n])
			}
			wantWritten = [][2]uint64{{pa, min(uint64(n), size-min(pa, size))}}
		}
		if wantWritten != nil && wantWritten[0][1] == 0 {
			wantWritten = nil
		}
		if pa < size {
			copy(raw[pa:], b[:n])
			for line := pa >> GranuleShift; line<<GranuleShift < min(pa+uint64(n), size) && n > 0; line++ {
				if code[line] {
					wantDropped = append(wantDropped, [2]uint64{line}, [2]uint64{line})
				}
				delete(code, line)
			}
		}
		require.Need(t, bytes.Equal(m.Raw(), raw), "%d bytes at %#x: memory is another one", n, pa)
		require.Need(t, slices.Equal(dropped, wantDropped), "%d bytes at %#x: told of code in %x, want %x", n, pa, dropped, wantDropped)
		require.Need(t, slices.Equal(written, append(wantWritten, wantWritten...)), "%d bytes at %#x: told of %x, want %x", n, pa, written, wantWritten)
	}
}

// TestTurn compares the sets of a cache with a division.
func TestTurn(t *testing.T) {
	for _, sets := range []uint32{1, 2, 3, 5, 64, 1536, 24576, 1<<20 - 1, 1<<20 + 1} {
		c := Cache{shape: shape{sets: sets, part: ^uint64(0)/uint64(sets) + 1}}
		for _, near := range []uint32{0, 1 << 12, 1 << 20, sets, sets << 3, 1 << 31} {
			for line := near - 70; line != near+70; line++ { // across zero too
				got := c.set(line)
				require.Need(t, got == uint(line%sets), "line %d of %d sets goes to %d, want %d", line, sets, got, line%sets)
			}
		}
	}
}

package mmu

import (
	"encoding/binary"
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
	slices := CacheConfig{Size: 96 << 10, Ways: 8, Line: 64}
	if slices.Check() != nil || slices.CheckFirst() == nil {
		t.Errorf("%+v: %v, as a first level %v", slices, slices.Check(), slices.CheckFirst())
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

func TestMemoryTellsOfCodeStores(t *testing.T) {
	m := NewMemory(1 << 16)
	var dropped []uint64
	m.OnCodeStore(func(pa uint64) { dropped = append(dropped, pa) })
	m.MarkCode(0x1234)
	m.Store(binary.LittleEndian, 0x1240, 8, 1) // the next line
	m.Store(binary.LittleEndian, 0x123c, 4, 1)
	m.Store(binary.LittleEndian, 0x123c, 4, 1) // told once
	require.That(t, len(dropped) == 1 && dropped[0]>>GranuleShift == 0x1234>>GranuleShift, "told of %#x", dropped)
	require.That(t, m.Load(binary.LittleEndian, 1<<20, 4) == 0xffffffff && m.Bytes(1<<16-4, 8) == nil, "memory outside RAM")
	m.Store(binary.LittleEndian, 1<<20, 8, 1)
	m.Write(1<<16-2, []byte{1, 2, 3, 4})
	require.That(t, m.Load(binary.LittleEndian, 1<<16-2, 2) == 0x0201, "the part of a write inside RAM is lost")
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

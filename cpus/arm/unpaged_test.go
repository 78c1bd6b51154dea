package arm

import (
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// TestUnpaged begins with translation off and memory that begins at 2 GiB, and turns translation on: tables and pages have
// addresses from there on too.
func TestUnpaged(t *testing.T) {
	const base = 1 << 31
	w := newWorld(t, cpus.Throughput, nil)
	w.bus.Root = Unpaged(base)
	c := w.cpu()
	at := func(want uint64, find func(uint64) (uint64, bool), va uint64) {
		t.Helper()
		got, ok := find(va)
		require.That(t, ok && got == want, "%#x is at %#x, %t; want %#x", va, got, ok, want)
	}
	load := func(va uint64) (uint64, bool) { return c.DataAddress(va, false) }
	const device = 0x1c090000
	for _, find := range []func(uint64) (uint64, bool){load, c.CodeAddress, c.Translate} {
		at(0x1000, find, base+0x1000)
		at(base+device, find, device)
	}
	w.mem.Store(binary.LittleEndian, worldTables+0xc00*4, 4, base+0x300000|1<<sectionAP|entrySection)
	w.mem.Store(binary.LittleEndian, worldTables+0xc01*4, 4, base+worldTables+firstBytes|entryTable)
	w.mem.Store(binary.LittleEndian, worldTables+firstBytes+8*4, 4, device|1<<pageAP|entryPage)
	c.ttbr[0] = base + worldTables
	c.setSCTLR(c.sctlr | sctlrM)
	for _, find := range []func(uint64) (uint64, bool){load, c.CodeAddress, c.Translate} {
		at(0x300004, find, kernelMap+4)
		at(base+device+0x10, find, kernelMap+0x108010)
	}
}

// TestRemap holds that with TEX remap an entry names a type by TEX[0], C and B, and without it C alone says whether accesses
// are cached.
func TestRemap(t *testing.T) {
	w := newWorld(t, cpus.Throughput, nil)
	c := w.cpu()
	// Type 2 is normal memory, which the inner caches leave out in the fourth kind.
	c.prrr = 2<<2 | 1<<4 | 2<<6 | 2<<8 | 2<<14
	c.nmrr = 1<<2 | 1<<4 | 3<<8 | 2<<14
	const first = worldTables + 0x400*4
	for kind := range uint32(8) {
		tex, cb := kind>>2, kind&3<<2
		w.mem.Store(binary.LittleEndian, first, 4, uint64(tex<<12|cb|1<<sectionAP|entrySection))
		w.mem.Store(binary.LittleEndian, first+4, 4, worldTables+firstBytes*2|entryTable)
		w.mem.Store(binary.LittleEndian, worldTables+firstBytes*2, 4, uint64(tex<<6|cb|1<<pageAP|entryPage))
		for i := range uint64(16) {
			w.mem.Store(binary.LittleEndian, worldTables+firstBytes*2+4*(16+i), 4, uint64(tex<<12|cb|1<<pageAP|1))
		}
		for _, tre := range []uint32{0, sctlrTRE} {
			c.setSCTLR(c.sctlr&^sctlrTRE | tre)
			want := kind&2 != 0
			if tre != 0 {
				want = kind == 1 || kind == 4 || kind == 7
			}
			for _, va := range []uint64{0x40000000, 0x40100000, 0x40110000} {
				_, ok := c.DataAddress(va, false)
				page := c.FindPage(c.DTLB, va, false)
				require.That(t, ok && page != nil && page.Uncached == !want, "kind %d, remap %#x, %#x: %t, %+v", kind, tre, va, ok, page)
			}
		}
	}
}

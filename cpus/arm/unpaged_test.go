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

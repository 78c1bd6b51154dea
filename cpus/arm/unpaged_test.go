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
	// What is in a TLB goes when translation is switched off and on, and stays when something else changes.
	w.mem.Store(binary.LittleEndian, worldTables+0xc00*4, 4, base+0x400000|1<<sectionAP|entrySection)
	c.setSCTLR(c.sctlr ^ sctlrA)
	at(0x300004, load, kernelMap+4)
	c.setSCTLR(c.sctlr &^ sctlrM)
	c.setSCTLR(c.sctlr | sctlrM)
	at(0x400004, load, kernelMap+4)
}

// TestNoCode has the fetch of an address where no memory is end in a prefetch abort that names it.
func TestNoCode(t *testing.T) {
	c := newWorld(t, cpus.Throughput, nil).cpu()
	c.R[rPC] = 0x12345678
	c.NoCode()
	require.That(t, c.ifsr == fsrExternal && c.ifar == 0x12345678 && c.fault.vector == vecPrefetchAbort && c.fault.undone, "IFSR %#x, IFAR %#x, %+v", c.ifsr, c.ifar, c.fault)
}

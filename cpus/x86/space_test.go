package x86

import (
	"kprobesim/cpus"
	"kprobesim/mmu"
)

// Where tests have memory: all of it for data, and in 64-bit mode once more for code.
const (
	directMap = 0xffff880000000000
	kernelMap = 0xffffffff80000000
	lowMap    = 0xc0000000
)

// testMaps is an address space for tests, with a page of devices.
func testMaps(isa *cpus.ISA) []mmu.Mapping {
	if isa.Bits == 32 {
		return []mmu.Mapping{
			{VA: lowMap, Large: true, Writable: true, Exec: true, Limit: 512 << 20},
			{VA: 0xffffb000, PA: APICBase, Size: 0x1000, Writable: true, Uncached: true},
		}
	}
	return []mmu.Mapping{
		{VA: directMap, Large: true, Writable: true},
		{VA: kernelMap, Large: true, Writable: true, Exec: true, Limit: 512 << 20},
		{VA: 0xffffffffff5fd000, PA: APICBase, Size: 0x1000, Writable: true, Uncached: true},
	}
}

package pc

import (
	"debug/elf"
	"fmt"

	"kprobesim/cpus"
	"kprobesim/cpus/x86"
	"kprobesim/mmu"
	"kprobesim/sim"
)

// Board is a PC with one local APIC for each CPU.
type Board struct{}

// apicSize is the size of the page of an APIC's registers.
const apicSize = 0x1000

// The address spaces are as in kernels of 2010. In 64-bit mode all memory is at the direct map and
// the image at the top; in 32-bit mode both are the lowest memory, seen from 3 GiB up. The registers
// of the local APIC have a page of their own.
var spaces = map[elf.Machine]sim.Space{
	elf.EM_X86_64: {
		Maps: []mmu.Mapping{
			{VA: 0xffff880000000000, Large: true, Writable: true},
			{VA: 0xffffffff80000000, Large: true, Writable: true, Exec: true, Limit: 512 << 20},
			{VA: 0xffffffffff5fd000, PA: x86.APICBase, Size: apicSize, Writable: true, Uncached: true},
		},
		Heap: 0xffff880000000000,
	},
	elf.EM_386: {
		Maps: []mmu.Mapping{
			{VA: 0xc0000000, Large: true, Writable: true, Exec: true, Limit: 512 << 20},
			{VA: 0xffffb000, PA: x86.APICBase, Size: apicSize, Writable: true, Uncached: true},
		},
		Heap: 0xc0000000,
	},
}

// Space implements sim.Board.
func (Board) Space(isa *cpus.ISA) (sim.Space, error) {
	s, ok := spaces[isa.Machine]
	if !ok {
		return sim.Space{}, fmt.Errorf("a PC has no CPUs of %s", isa.Name)
	}
	return s, nil
}

// Build implements sim.Board.
func (Board) Build(m *sim.Backplane) sim.Hardware {
	b := &bus{m: m}
	for i := range m.CPUs() {
		b.apics = append(b.apics, newLAPIC(b.connect(i)))
	}
	return b
}

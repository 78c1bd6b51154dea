package pseries

import (
	"debug/elf"
	"fmt"

	"kprobesim/cpus"
	"kprobesim/mmu"
	"kprobesim/sim"
)

// Board is a logical partition.
type Board struct{}

// Places of the kernel's segments. Linear is where all memory is mapped by large pages, and where the image
// is linked. Slots is where the lowest memory is mapped once more, by pages of 4 KiB, as a kernel maps
// what it allocates for code.
const (
	Linear = 0xc000_0000_0000_0000
	Slots  = 0xd000_0000_0000_0000

	// slotsLimit bounds the second mapping, so that its page table fits into what a machine keeps for
	// tables. It covers the heap of a machine with sim.DefaultRAM.
	slotsLimit = 63 << 20
)

// The mapping by small pages comes first, because sim.Machine.Near takes the first one that code can be
// executed in.
var space = sim.Space{
	Maps: []mmu.Mapping{
		{VA: Slots, Writable: true, Exec: true, Limit: slotsLimit},
		{VA: Linear, Large: true, Writable: true, Exec: true},
	},
	Heap: Linear,
}

// Space implements sim.Board.
func (Board) Space(isa *cpus.ISA) (sim.Space, error) {
	if isa.Machine != elf.EM_PPC64 {
		return sim.Space{}, fmt.Errorf("a partition has no CPUs of %s", isa.Name)
	}
	return space, nil
}

// Build implements sim.Board.
func (Board) Build(m *sim.Backplane) sim.Hardware {
	p := &partition{m: m}
	for i := range m.CPUs() {
		p.cpus = append(p.cpus, newProcessor(p, i))
	}
	return p
}

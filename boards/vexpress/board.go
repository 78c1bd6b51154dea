package vexpress

import (
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"kprobesim/cpus"
	"kprobesim/mmu"
	"kprobesim/sim"
)

// Board is a Versatile Express board.
type Board struct{}

// Virtual addresses that a kernel finds mapped. Linear is where all memory is mapped by sections, and where the
// image is linked. Modules is where the lowest memory is mapped once more, by pages of 4 KiB, as a kernel maps
// what it allocates for code. Vectors is the page of the exception vectors with one behind it, which are the
// lowest two of RAM.
const (
	Modules = 0xbf000000
	Linear  = 0xc0000000
	Vectors = 0xffff0000

	Distributor     = 0xf8000000
	CPUInterface    = 0xf8001000
	Console         = 0xf8002000
	SystemRegisters = 0xf8003000
)

const (
	page         = 0x1000
	modulesLimit = 14 << 20  // what kernels keep for modules
	linearLimit  = 768 << 20 // what they map for good

	// inverted is the bit in which physical addresses differ from TC2's.
	inverted = 1 << 31
)

// Physical addresses of devices.
const (
	systemBase      = 0x1c010000 ^ inverted
	consoleBase     = 0x1c090000 ^ inverted
	distributorBase = 0x2c001000 ^ inverted
	interfaceBase   = 0x2c002000 ^ inverted
	interfaceSize   = 2 * page // the register at the end has a page of its own
)

// The mapping by small pages comes first, because sim.Machine.Near takes the first one that code can be
// executed in.
var space = sim.Space{
	Maps: []mmu.Mapping{
		{VA: Modules, Writable: true, Exec: true, Limit: modulesLimit},
		{VA: Linear, Large: true, Writable: true, Exec: true, Limit: linearLimit},
		{VA: Vectors, Size: 2 * page, Exec: true},
		{VA: Distributor, PA: distributorBase, Size: page, Writable: true, Uncached: true},
		{VA: CPUInterface, PA: interfaceBase, Size: page, Writable: true, Uncached: true},
		{VA: Console, PA: consoleBase, Size: page, Writable: true, Uncached: true},
		{VA: SystemRegisters, PA: systemBase, Size: page, Writable: true, Uncached: true},
	},
	Heap: Linear,
	CPUs: maxCPUs,
}

// Space implements sim.Board.
func (Board) Space(isa *cpus.ISA) (sim.Space, error) {
	if isa.Machine != elf.EM_ARM {
		return sim.Space{}, fmt.Errorf("a Versatile Express board has no CPUs of %s", isa.Name)
	}
	return space, nil
}

// Memory is where memory begins on TC2, and how much there is room for. A CPU that begins with arm.Unpaged(base) has the
// physical addresses of TC2.
func (Board) Memory() (base, most uint64) { return inverted, 1 << 31 }

// Lacks says of a node of TC2's device tree whether what it describes is not there: performance counters, the interconnect of
// clusters, and each PrimeCell but the console.
func (Board) Lacks(node string, compatible []string) bool {
	return slices.Contains(compatible, "arm,primecell") && node != "serial@90000" || slices.ContainsFunc(compatible, func(kind string) bool {
		return strings.HasPrefix(kind, "arm,cortex") && strings.HasSuffix(kind, "-pmu") || strings.HasPrefix(kind, "arm,cci-")
	})
}

// Build implements sim.Board.
func (Board) Build(m *sim.Backplane) sim.Hardware {
	b := &motherboard{m: m, gic: newGIC(m.CPUs()), uart: bootUART}
	for i := range m.CPUs() {
		b.ports = append(b.ports, &port{b: b, cpu: i})
	}
	return b
}

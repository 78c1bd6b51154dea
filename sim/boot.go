package sim

import (
	"fmt"
	"slices"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/mmu"
)

// load puts the image into memory and makes the CPUs. Page tables are at the top of RAM, the image
// at the bottom as linked, and what is between is the heap. The segment at __apart_start lies within the
// heap, so that its size moves nothing. Bytes behind a segment's data need no store, since fresh memory is
// zero.
func (m *Machine) load() error {
	if m.cfg.Bare != nil {
		return m.loadBare(m.cfg.Bare)
	}
	end, island := uint64(0), block{}
	apart, found := m.image.Symbol("__apart_start")
	for _, s := range m.image.Segments {
		if !m.mem.Holds(s.PA, int(s.MemSize)) {
			return fmt.Errorf("segment at physical %#x with %d bytes does not fit into %d bytes of memory", s.PA, s.MemSize, m.mem.Size())
		}
		m.mem.Write(s.PA, s.Data)
		if s.VA == apart.Addr && found {
			island = block{s.PA, s.PA + s.MemSize}
			continue
		}
		end = max(end, s.PA+s.MemSize)
	}
	tables := uint64(m.mem.Size()-tableBytes) &^ 0xfff
	root, err := m.cfg.ISA.Tables(m.mem, tables, m.maps())
	if err != nil {
		return err
	}
	m.heap = newHeap((end+0xfff)&^0xfff, tables, m.space.Heap, m.cfg.Layout)
	if island.hi > 0 {
		m.heap.used = append(m.heap.used, island)
	}
	return m.makeCPUs(root)
}

// maps is the address space that the kernel is entered with: that of the board, and the pages of the image
// that user mode may reach, which come last so that they move no table of the others.
func (m *Machine) maps() []mmu.Mapping {
	maps := slices.Clone(m.space.Maps)
	for _, s := range m.image.Segments {
		if s.User && s.MemSize > 0 {
			maps = append(maps, mmu.Mapping{
				VA: s.VA, PA: s.PA, Size: s.MemSize, Writable: s.Write, Exec: s.Exec, User: true,
			})
		}
	}
	return maps
}

// A CPU counts every phase apart.
var _ [cpus.MaxPhases - image.PhaseCount]struct{}

// tableBytes is the memory kept for page tables. It is in bytes and suffices for every board and
// image so far; the builder of the ISA fails when it does not.
const tableBytes = 1 << 20

// makeCPUs makes the CPUs and starts the first. The others wait until it starts them.
func (m *Machine) makeCPUs(root uint64) error {
	stack, ok := m.image.Symbol("boot_stack_top")
	if !ok {
		return fmt.Errorf("no symbol boot_stack_top: the loader does not know where the first stack is")
	}
	m.bootStack = stack.Addr
	lo, size, _ := m.image.Section(".native")
	for range m.cfg.CPUs {
		base, err := m.perCPU()
		if err != nil {
			return err
		}
		m.percpu = append(m.percpu, base)
	}
	m.buildCPUs(root, [2]uint64{lo, lo + size})
	m.start(0, m.image.Entry, m.bootStack)
	return m.bufferStores()
}

// perCPU gives the next CPU its copy of the per-CPU data and returns what is to be added to the address
// of a variable to reach it there. In the image of a kernel for one processor the data lie where they
// are used.
func (m *Machine) perCPU() (uint64, error) {
	var at [3]uint64
	for i, n := range []string{"__per_cpu_start", "__per_cpu_end", "__per_cpu_load"} {
		s, ok := m.image.Symbol(n)
		if !ok {
			return 0, fmt.Errorf("no symbol %s: the loader cannot make per-CPU data", n)
		}
		at[i] = s.Addr
	}
	if at[1] < at[0] || at[1]-at[0] > 1<<20 {
		return 0, fmt.Errorf("per-CPU data from %#x to %#x is no sensible range", at[0], at[1])
	}
	if at[2] == at[0] {
		if len(m.percpu) > 0 {
			return 0, fmt.Errorf("the kernel is built for one processor and cannot run on %d", m.cfg.CPUs)
		}
		return 0, nil
	}
	size := at[1] - at[0]
	base, err := m.Alloc(size, m.perCPUAlign())
	if err != nil {
		return 0, err
	}
	b, err := m.bootBytes(at[2], int(size))
	if err != nil {
		return 0, fmt.Errorf("template of per-CPU data: %w", err)
	}
	m.mem.Write(base-m.space.Heap, b)
	return base - at[0], nil
}

// perCPUAlign is the alignment of a CPU's copy: that of what lies in it.
func (m *Machine) perCPUAlign() uint64 {
	if s, ok := m.image.Symbol("__per_cpu_align"); ok {
		return max(s.Addr, perCPUPage)
	}
	return perCPUPage
}

// A copy begins with a page, so that no cache line holds data of two CPUs.
const perCPUPage = 0x1000

// bootBytes reads the image by virtual address before there is a CPU to translate.
func (m *Machine) bootBytes(va uint64, n int) ([]byte, error) {
	for _, p := range m.space.Maps {
		if off := va - p.VA; off < m.mapped(p) {
			if b := m.mem.Bytes(p.PA+off, n); b != nil {
				return slices.Clone(b), nil
			}
		}
	}
	return nil, fmt.Errorf("%d bytes at %#x are not mapped", n, va)
}

// mapped is the size of a mapping.
func (m *Machine) mapped(p mmu.Mapping) uint64 {
	size := p.Size
	if size == 0 {
		size = uint64(m.mem.Size())
	}
	if p.Limit > 0 {
		size = min(size, p.Limit)
	}
	return size
}

// PerCPU returns the address of a per-CPU symbol on one CPU. Package smp finds the variables of its
// CPUs with it. It fails for a name that the image does not have and a CPU that the machine does not have.
func (m *Machine) PerCPU(cpu int, symbol string) (uint64, error) {
	s, ok := m.image.Symbol(symbol)
	if !ok || cpu < 0 || cpu >= len(m.percpu) {
		return 0, fmt.Errorf("image %s: no per-CPU symbol %s for cpu %d", m.image.Name, symbol, cpu)
	}
	return m.percpu[cpu] + s.Addr, nil
}

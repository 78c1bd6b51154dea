package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// heap hands out guest memory between the image and the page tables: first fit, in address order, so
// that addresses depend on the order of requests alone. Where the layout draws pages, the search begins
// at a drawn page for each allocation of whole pages, and at one page for all smaller ones, which
// keeps those together as the slabs of a kernel do.
type heap struct {
	lo, hi uint64    // physical
	base   uint64    // virtual address of physical 0
	used   []block   // sorted
	pages  *rand.PCG // nil for the lowest free ones
	offset uint64    // in its page, of the first allocation of less than a page
	small  uint64    // where the search for those begins; 0 before the first one
	// Places below which searches have found nothing that is free. What is handed out takes none of that away.
	full map[search]uint64
}

// search holds what find was asked for.
type search struct{ from, size, align uint64 }

type block struct{ lo, hi uint64 }

const pageBytes = 0x1000

func newHeap(lo, hi, base uint64, l Layout) heap {
	h := heap{lo: lo, hi: hi, base: base, offset: l.Heap, full: map[search]uint64{}}
	if l.Pages != 0 {
		h.pages = l.Pages.Sequence(0)
	}
	return h
}

// begin is where the search for less than a page begins: at an offset in the page that is free when the first
// one is wanted, or where pages are sought when there is none.
func (h *heap) begin() uint64 {
	if h.small == 0 {
		h.small = h.page()
		if at, _, ok := h.find(h.small, pageBytes, pageBytes); ok && h.offset > 0 {
			h.small = at + h.offset
		}
	}
	return h.small
}

// page is where the search for pages begins.
func (h *heap) page() uint64 {
	if h.pages == nil {
		return h.lo
	}
	return h.lo + h.pages.Uint64()%((h.hi-h.lo)/pageBytes)*pageBytes
}

// find returns the lowest free place for size bytes at an address or above it, and the index of the block
// behind it; false when there is none.
func (h *heap) find(from, size, align uint64) (at uint64, i int, ok bool) {
	at = (max(from, h.full[search{from, size, align}]) + align - 1) &^ (align - 1)
	i, _ = slices.BinarySearchFunc(h.used, at, func(b block, at uint64) int { return cmp.Compare(b.hi, at+1) })
	for ; i < len(h.used) && h.used[i].lo < at+size; i++ {
		at = max(at, (h.used[i].hi+align-1)&^(align-1))
	}
	return at, i, at+size <= h.hi
}

// Alloc returns the kernel virtual address of size bytes of zeroed guest memory. align must be a power
// of two. Its callers are the kernel services and Kprobes, for tasks, stacks and slots. It takes no
// simulated time: an allocator in the guest is left out.
func (m *Machine) Alloc(size, align uint64) (uint64, error) {
	m.allocations++
	align = max(align, 16)
	if align&(align-1) != 0 || size == 0 || size > uint64(m.mem.Size()) {
		return 0, fmt.Errorf("guest memory of %d bytes aligned to %d cannot be had", size, align)
	}
	h := &m.heap
	var from uint64
	if align >= pageBytes || size >= pageBytes {
		from = h.page()
	} else {
		from = h.begin()
	}
	at, i, ok := h.find(from, size, align)
	if ok && (from == h.lo || from == h.small) { // others come once
		h.full[search{from, size, align}] = at
	}
	if !ok {
		at, i, ok = h.find(h.lo, size, align) // what lies below a drawn page is free, too
	}
	if !ok {
		return 0, fmt.Errorf("out of guest memory: %d bytes wanted, %d in the machine", size, m.mem.Size())
	}
	h.used = slices.Insert(h.used, i, block{at, at + size})
	m.mem.Write(at, make([]byte, size))
	return h.base + at, nil
}

// AllocNear returns the address of zeroed memory for a module: whole pages, the lowest that are free, at the address where
// the kernel executes them. The layout's drawn pages do not apply, since direct calls reach the lowest memory alone.
func (m *Machine) AllocNear(size uint64) (uint64, error) {
	h, size := &m.heap, (size+pageBytes-1)&^(pageBytes-1)
	if size == 0 || size > uint64(m.mem.Size()) {
		return 0, fmt.Errorf("memory of %d bytes for a module cannot be had", size)
	}
	at, i, ok := h.find(h.lo, size, pageBytes)
	near, executable := m.Near(h.base + at)
	if _, end := m.Near(h.base + at + size - 1); !ok || !executable || !end {
		return 0, fmt.Errorf("out of memory for modules: %d bytes wanted; give the kernel more memory or load fewer modules", size)
	}
	h.used = slices.Insert(h.used, i, block{at, at + size})
	m.mem.Write(at, make([]byte, size))
	return near, nil
}

// FreeNear gives back what AllocNear returned; it fails for any other address.
func (m *Machine) FreeNear(va uint64) error {
	for _, b := range m.heap.used {
		if near, ok := m.Near(m.heap.base + b.lo); ok && near == va {
			return m.Free(m.heap.base + b.lo)
		}
	}
	return fmt.Errorf("free of %#x, which is not allocated", va)
}

// Near returns the address at which the kernel executes what lies at an address of the heap: that of the same
// memory beside the image. It is false for memory that the kernel does not map for execution.
func (m *Machine) Near(va uint64) (uint64, bool) {
	pa := va - m.space.Heap
	for _, s := range m.space.Maps {
		if s.Exec && s.Size == 0 && pa-s.PA < m.mapped(s) {
			return s.VA + pa - s.PA, true
		}
	}
	return 0, false
}

// Free gives back what Alloc returned; it fails for any other address. The memory keeps its bytes
// until it is handed out again.
func (m *Machine) Free(va uint64) error {
	h := &m.heap
	i, ok := slices.BinarySearchFunc(h.used, va-h.base, func(b block, lo uint64) int { return cmp.Compare(b.lo, lo) })
	if !ok {
		return fmt.Errorf("free of %#x, which is not allocated", va)
	}
	h.used = slices.Delete(h.used, i, i+1)
	clear(h.full)
	return nil
}

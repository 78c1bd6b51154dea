package sim

import "fmt"

// heap hands out guest memory between the image and the page tables: first fit, in address order, so
// that addresses depend on the order of requests alone.
type heap struct {
	lo, hi uint64  // physical
	base   uint64  // virtual address of physical 0
	used   []block // sorted
}

type block struct{ lo, hi uint64 }

func newHeap(lo, hi, base uint64) heap { return heap{lo: lo, hi: hi, base: base} }

// Alloc returns the kernel virtual address of size bytes of zeroed guest memory. align must be a power
// of two. Its callers are the kernel services and Kprobes, for tasks, stacks and slots. It takes no
// simulated time: an allocator in the guest is left out.
func (m *Machine) Alloc(size, align uint64) (uint64, error) {
	align = max(align, 16)
	if align&(align-1) != 0 || size == 0 || size > uint64(m.mem.Size()) {
		return 0, fmt.Errorf("guest memory of %d bytes aligned to %d cannot be had", size, align)
	}
	h := &m.heap
	at := (h.lo + align - 1) &^ (align - 1)
	i := 0
	for ; i < len(h.used) && h.used[i].lo < at+size; i++ {
		at = max(at, (h.used[i].hi+align-1)&^(align-1))
	}
	if at+size > h.hi {
		return 0, fmt.Errorf("out of guest memory: %d bytes wanted, %d in the machine", size, m.mem.Size())
	}
	h.used = append(h.used, block{})
	copy(h.used[i+1:], h.used[i:])
	h.used[i] = block{at, at + size}
	m.mem.Write(at, make([]byte, size))
	return h.base + at, nil
}

// Free gives back what Alloc returned; it fails for any other address. The memory keeps its bytes
// until it is handed out again.
func (m *Machine) Free(va uint64) error {
	h := &m.heap
	for i, s := range h.used {
		if s.lo == va-h.base {
			h.used = append(h.used[:i], h.used[i+1:]...)
			return nil
		}
	}
	return fmt.Errorf("free of %#x, which is not allocated", va)
}

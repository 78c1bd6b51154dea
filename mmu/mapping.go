package mmu

// Mapping is a range of virtual addresses that a kernel finds mapped when it is entered.
type Mapping struct {
	VA, PA   uint64
	Size     uint64 // bytes; zero means all of RAM
	Limit    uint64 // an upper bound of Size; zero means none
	Large    bool   // by large pages
	Writable bool
	Exec     bool
	Uncached bool
	User     bool // user mode may reach it
}

// Refs are the physical addresses of the table entries that a walk read, for the caches.
type Refs struct {
	PA [8]uint64
	N  int
}

// Add notes an entry at a physical address; a walk reads at most eight lines.
func (r *Refs) Add(pa uint64) {
	r.PA[r.N] = pa
	r.N++
}

package image

import (
	"fmt"
	"maps"
	"slices"
)

// Parts are members of a structure that are to be found: where each goes, by its path as Struct.Field
// takes it.
type Parts map[string]*Field

// Layout finds members of a structure and returns its size in bytes. Paths are taken in sorted
// order, so that of several missing members the same one is reported every time.
func (im *Image) Layout(name string, parts Parts) (size uint64, err error) {
	st, err := im.Struct(name)
	if err != nil {
		return 0, err
	}
	for _, path := range slices.Sorted(maps.Keys(parts)) {
		if *parts[path], err = st.Field(path); err != nil {
			return 0, err
		}
	}
	return uint64(st.Size), nil
}

// Memory is guest memory as integers of 1, 2, 4 or 8 bytes. The machine implements it in the guest's
// byte order and without simulated time. Sizes come from Field, so that one reader serves 32-bit and
// 64-bit guests.
type Memory interface {
	Load(va uint64, size int) (uint64, error)
	Store(va uint64, size int, v uint64) error
}

// Access reads and writes members of structures in guest memory. The first failure stays in Err, so that a
// walk over lists needs one check at its end: behind it everything reads as zero and nothing is
// written. The scheduler, Kprobes and the race search read the guest's structures through it.
type Access struct {
	Memory Memory
	Err    error
}

// Load reads a member of the structure at an address.
func (a *Access) Load(base uint64, f Field) uint64 {
	if a.Err != nil {
		return 0
	}
	v, err := a.Memory.Load(base+f.Offset, f.Size)
	a.Fail(err, "reading a structure", base)
	return v
}

// Store writes a member of the structure at an address.
func (a *Access) Store(base uint64, f Field, v uint64) {
	if a.Err == nil {
		a.Fail(a.Memory.Store(base+f.Offset, f.Size, v), "writing a structure", base)
	}
}

// Fail keeps the first failure with what was being done at which address; nil is none.
func (a *Access) Fail(err error, what string, addr uint64) {
	if err != nil && a.Err == nil {
		a.Err = fmt.Errorf("%s at %#x: %w", what, addr, err)
	}
}

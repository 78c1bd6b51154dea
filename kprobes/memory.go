package kprobes

import (
	"fmt"
	"slices"
)

// Guest is kernel memory and its heap, by kernel virtual addresses: *sim.Machine.
type Guest interface {
	Memory
	Heap
}

// Memory is the guest's memory as the kernel addresses it.
type Memory interface {
	Load(va uint64, size int) (uint64, error)
	Store(va uint64, size int, v uint64) error
	ReadBytes(va uint64, n int) ([]byte, error)
	WriteBytes(va uint64, b []byte) error
}

// Heap is where the guest's structures are allocated.
type Heap interface {
	Alloc(size, align uint64) (uint64, error)
	Free(va uint64) error
}

// memory reads and writes structures. The first failure sticks, so that a walk over guest lists
// needs one check at its end; after a failure everything reads as zero.
type memory struct {
	g     Guest
	align uint64 // of what is allocated
	err   error
}

func (m *memory) fail(err error, what string, addr uint64) {
	if err != nil && m.err == nil {
		m.err = fmt.Errorf("kprobes: %s at %#x: %w", what, addr, err)
	}
}

// take returns the sticky failure and forgets it.
func (m *memory) take() error {
	err := m.err
	m.err = nil
	return err
}

func (m *memory) load(base uint64, f field) uint64 {
	if m.err != nil {
		return 0
	}
	v, err := m.g.Load(base+f.off, f.size)
	m.fail(err, "reading a structure", base)
	return v
}

func (m *memory) store(base uint64, f field, v uint64) {
	if m.err == nil {
		m.fail(m.g.Store(base+f.off, f.size, v), "writing a structure", base)
	}
}

func (m *memory) read(addr uint64, n int) []byte {
	if m.err != nil {
		return make([]byte, n)
	}
	b, err := m.g.ReadBytes(addr, n)
	if err != nil || len(b) != n {
		m.fail(err, "reading text", addr)
		return make([]byte, n)
	}
	return slices.Clone(b)
}

func (m *memory) write(addr uint64, b []byte) {
	if m.err == nil {
		m.fail(m.g.WriteBytes(addr, b), "writing memory", addr)
	}
}

// alloc returns zeroed memory, or ENOMEM.
func (m *memory) alloc(size uint64) (uint64, error) {
	addr, err := m.g.Alloc(size, m.align)
	if err != nil {
		return 0, ENOMEM
	}
	m.write(addr, make([]byte, size))
	return addr, nil
}

func (m *memory) free(addr uint64) { m.fail(m.g.Free(addr), "freeing memory", addr) }

// maxName is KSYM_NAME_LEN, with the terminating zero.
const maxName = 128

// name reads a symbol name.
func (m *memory) name(addr uint64) string {
	var s []byte
	for len(s) < maxName && m.err == nil {
		b := byte(m.load(addr+uint64(len(s)), field{0, 1}))
		if b == 0 {
			break
		}
		s = append(s, b)
	}
	return string(s)
}

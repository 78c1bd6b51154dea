package kprobes

import (
	"fmt"
	"slices"

	"kprobesim/image"
)

// Guest is kernel memory and its heap, by kernel virtual addresses: *sim.Machine.
type Guest interface {
	image.Memory
	ReadBytes(va uint64, n int) ([]byte, error)
	WriteBytes(va uint64, b []byte) error
	Alloc(size, align uint64) (uint64, error)
	Free(va uint64) error
	// Near is where code can be executed that lies at an address of the heap, within a jump's reach of the
	// text; false where there is no such address.
	Near(va uint64) (uint64, bool)
}

// memory reads and writes structures, text and the heap. As of image.Access, the first failure sticks.
// A failure is one of the simulated machine, for instance an address that is not mapped, and ends
// its run.
type memory struct {
	image.Access
	g     Guest
	align uint64 // of what is allocated
	shown func() // another CPU may go on behind a store, in a search; nil everywhere else
}

// Store hides that of image.Access, to be followed by what other CPUs do.
func (m *memory) Store(at uint64, f image.Field, v uint64) {
	m.Access.Store(at, f, v)
	m.show()
}

// show lets other CPUs see what has been stored, before the next store.
func (m *memory) show() {
	if m.shown != nil {
		m.shown()
	}
}

// atOnce runs f without anybody coming in between, as a lock would do that only callers of f take.
func (m *memory) atOnce(f func() error) error {
	shown := m.shown
	m.shown = nil
	defer func() { m.shown = shown }()
	return f()
}

// take returns the sticky failure and forgets it.
func (m *memory) take() error {
	err := m.Err
	m.Err = nil
	if err != nil {
		return fmt.Errorf("kprobes: %w", err)
	}
	return nil
}

// read returns a copy, because sites keep the original bytes while the guest changes the text.
func (m *memory) read(addr uint64, n int) []byte {
	if m.Err != nil {
		return make([]byte, n)
	}
	b, err := m.g.ReadBytes(addr, n)
	if err != nil || len(b) != n {
		m.Fail(err, "reading text", addr)
		return make([]byte, n)
	}
	return slices.Clone(b)
}

func (m *memory) write(addr uint64, b []byte) {
	if m.Err == nil {
		m.Fail(m.g.WriteBytes(addr, b), "writing memory", addr)
		m.show()
	}
}

// alloc returns zeroed memory, or ENOMEM.
// Zero stands for a member that was not set, as registration takes it.
func (m *memory) alloc(size uint64) (uint64, error) {
	addr, err := m.g.Alloc(size, m.align)
	if err != nil {
		return 0, ENOMEM
	}
	m.write(addr, make([]byte, size))
	return addr, nil
}

func (m *memory) free(addr uint64) { m.Fail(m.g.Free(addr), "freeing memory", addr) }

// maxName is KSYM_NAME_LEN, with the terminating zero.
const maxName = 128

// name reads a symbol name.
func (m *memory) name(addr uint64) string {
	var s []byte
	for len(s) < maxName && m.Err == nil {
		b := byte(m.Load(addr+uint64(len(s)), image.Field{Size: 1}))
		if b == 0 {
			break
		}
		s = append(s, b)
	}
	return string(s)
}

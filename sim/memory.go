package sim

import (
	"bytes"
	"fmt"
	"slices"

	"kprobesim/internal/encoding"
)

// LookFrom has access from Go translate addresses as a CPU would, in place of CPU 0: programs have address spaces of their own.
func (m *Machine) LookFrom(cpu int) { m.viewer = cpu }

// physical translates a kernel virtual address as CPU 0 would, or that of LookFrom. The kernel's mappings are the same on
// all CPUs, so any of them could be asked.
func (m *Machine) physical(va uint64, n int) (uint64, error) {
	pa, ok := m.cpus[m.viewer].Translate(va)
	if !ok || !m.mem.Holds(pa, n) {
		return 0, fmt.Errorf("guest address %#x is not mapped to memory", va)
	}
	return pa, nil
}

// WatchGo has f told of what functions that the guest calls read and write in guest memory, but for the bytes that Same compares.
func (m *Machine) WatchGo(f func(cpu int, va uint64, n int, write bool)) { m.goWatcher = f }

func (m *Machine) goAccesses(va uint64, n int, write bool) {
	if m.goWatcher != nil && m.calling != nil && n > 0 {
		m.goWatcher(m.calling.cpu, va, n, write)
	}
}

// chunks calls f for the pieces of a range that lie in one page each. Neighbouring virtual pages
// need not be neighbours in memory.
func (m *Machine) chunks(va uint64, n int, f func(pa uint64, n int)) error {
	for n > 0 {
		k := min(n, int(0x1000-va&0xfff))
		pa, err := m.physical(va, k)
		if err != nil {
			return err
		}
		f(pa, k)
		va += uint64(k)
		n -= k
	}
	return nil
}

// ReadBytes copies n bytes of guest memory at a kernel virtual address, which may lie in several pages. Like all access
// from Go it takes no simulated time. It fails where a page is not mapped or not in RAM.
func (m *Machine) ReadBytes(va uint64, n int) ([]byte, error) {
	if n < 0 || n > m.mem.Size() {
		return nil, fmt.Errorf("%d bytes at %#x: more than the machine has", n, va)
	}
	m.goAccesses(va, n, false)
	out := make([]byte, 0, n)
	err := m.chunks(va, n, func(pa uint64, n int) { out = append(out, m.mem.Bytes(pa, n)...) })
	return out, err
}

// Same reports whether guest memory holds certain bytes, without a copy of it. The race search
// compares text with it. It fails where ReadBytes does.
func (m *Machine) Same(va uint64, want []byte) (bool, error) {
	same := true
	err := m.chunks(va, len(want), func(pa uint64, n int) {
		same = same && bytes.Equal(m.mem.Bytes(pa, n), want[:n])
		want = want[n:]
	})
	return same, err
}

// view gives bytes to be read at once: the memory's own when they lie in one page.
func (m *Machine) view(va uint64, n int) ([]byte, error) {
	if va&0xfff+uint64(n) > 0x1000 {
		return m.ReadBytes(va, n)
	}
	m.goAccesses(va, n, false)
	pa, err := m.physical(va, n)
	if err != nil {
		return nil, err
	}
	return m.mem.Bytes(pa, n), nil
}

// WriteBytes copies b into guest memory. Code there is decoded anew. It goes past the caches: no
// line moves and nothing is charged. It fails where ReadBytes does; pages before the one that fails are written.
func (m *Machine) WriteBytes(va uint64, b []byte) error {
	m.goAccesses(va, len(b), true)
	return m.chunks(va, len(b), func(pa uint64, n int) {
		m.mem.Write(pa, b[:n])
		b = b[n:]
	})
}

// Load reads an integer of 1, 2, 4 or 8 bytes in the guest's byte order. It fails for other sizes, and where ReadBytes
// does.
func (m *Machine) Load(va uint64, size int) (uint64, error) {
	b, err := m.view(va, size)
	if err != nil {
		return 0, err
	}
	if size != 1 && size != 2 && size != 4 && size != 8 {
		return 0, fmt.Errorf("load of %d bytes at %#x: 1, 2, 4 or 8 are possible", size, va)
	}
	return encoding.Uint(m.cfg.ISA.Order, b), nil
}

// Store writes an integer of 1, 2, 4 or 8 bytes in the guest's byte order. It fails for other sizes, and where ReadBytes
// does.
func (m *Machine) Store(va uint64, size int, v uint64) error {
	if size != 1 && size != 2 && size != 4 && size != 8 {
		return fmt.Errorf("store of %d bytes at %#x: 1, 2, 4 or 8 are possible", size, va)
	}
	b := make([]byte, size)
	encoding.PutUint(m.cfg.ISA.Order, b, v)
	return m.WriteBytes(va, b)
}

// ReadString reads a zero-terminated string of at most 4096 bytes. It fails when there is no zero by then, and where
// ReadBytes does.
func (m *Machine) ReadString(va uint64) (string, error) {
	const most = 4096
	var out []byte
	for at := va; len(out) < most; at = va + uint64(len(out)) {
		b, err := m.ReadBytes(at, min(64, int(0x1000-at&0xfff), most-len(out)))
		if err != nil {
			return "", err
		}
		if i := slices.Index(b, 0); i >= 0 {
			return string(append(out, b[:i]...)), nil
		}
		out = append(out, b...)
	}
	return "", fmt.Errorf("string at %#x has no end within %d bytes", va, most)
}

// WritePhysical copies b into memory at a physical address, as WriteBytes does. It fails outside of RAM.
func (m *Machine) WritePhysical(pa uint64, b []byte) error {
	if !m.mem.Holds(pa, len(b)) {
		return fmt.Errorf("%d bytes at physical %#x: no memory is there", len(b), pa)
	}
	m.mem.Write(pa, b)
	return nil
}

// ReadPhysical copies n bytes of memory at a physical address. It fails outside of RAM.
func (m *Machine) ReadPhysical(pa uint64, n int) ([]byte, error) {
	if n < 0 || !m.mem.Holds(pa, n) {
		return nil, fmt.Errorf("%d bytes at physical %#x: no memory is there", n, pa)
	}
	return bytes.Clone(m.mem.Bytes(pa, n)), nil
}

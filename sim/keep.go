package sim

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/state"
)

// KeptCPU is a CPU whose state can be kept, and given to another of the same configuration.
type KeptCPU interface {
	// State brings the CPU between two instructions and returns a pointer to what package state keeps of it.
	State() any
	// Restored makes what follows from the state that was read anew.
	Restored()
}

// KeptHardware is Hardware whose state can be kept.
type KeptHardware interface {
	// State returns a pointer to what package state keeps of it.
	State() any
	// Restored gives the events that it has planned, which Backplane.Events holds by their names, their functions
	// again, by Queue.Bind.
	Restored()
}

// kept holds what a machine keeps of itself.
type kept struct {
	Now     clock.Ticks
	State   []activity
	Asleep  []clock.Ticks
	Ready   runQueue
	Cut     cut
	Console string
}

// pieces lists what is kept, but for the memory, in the order of the file.
func (m *Machine) pieces(k *kept) ([]any, error) {
	hw, ok := m.hardware.(KeptHardware)
	if m.cfg.Bare == nil || !ok {
		return nil, errors.New("the state of this machine cannot be kept: parts of its kernel or of its board are functions in Go")
	}
	out := []any{k, &m.events, hw.State()}
	if m.directory != nil {
		out = append(out, m.directory)
	}
	for _, c := range m.cpus {
		c, ok := c.(KeptCPU)
		if !ok {
			return nil, fmt.Errorf("the state of CPUs of %s cannot be kept", m.cfg.ISA.Name)
		}
		out = append(out, c.State())
	}
	return out, nil
}

// Keep returns the state of a machine behind Run, for Restore. It fails for a machine whose kernel is one of this
// program's.
func (m *Machine) Keep() ([]byte, error) {
	k := kept{m.now, m.state, m.asleepAt, m.ready, m.cut, m.console.String()}
	pieces, err := m.pieces(&k)
	if err != nil {
		return nil, err
	}
	var own []byte
	for _, p := range pieces {
		if own, err = state.Append(own, p); err != nil {
			return nil, err
		}
	}
	return m.keepMemory(append(binary.AppendUvarint(nil, uint64(len(own))), own...)), nil
}

// maxOwn is more than what a machine keeps beside its memory, in bytes.
const maxOwn = 1 << 30

// Restore makes a machine that has not run the one whose state Keep returned. Both must have the same
// configuration; that is for the caller to see to. It fails for damage, and the machine is of no use then.
func (m *Machine) Restore(from io.Reader) error {
	var k kept
	pieces, err := m.pieces(&k)
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(from, 1<<16)
	n, err := binary.ReadUvarint(in)
	if err != nil || n > maxOwn {
		return fmt.Errorf("state of a machine: %w", damaged(err))
	}
	own, err := io.ReadAll(io.LimitReader(in, int64(n)))
	if err != nil || uint64(len(own)) != n {
		return fmt.Errorf("state of a machine: %w", damaged(err))
	}
	if err := m.restoreMemory(in); err != nil {
		return fmt.Errorf("state of a machine: %w", err)
	}
	// Nothing is behind it. A reader with a checksum compares it here at the latest.
	if _, err := in.ReadByte(); err != io.EOF {
		return fmt.Errorf("state of a machine: %w", damaged(err))
	}
	// The second reading is for what the first one makes anew: buffers change their shape with the mode.
	for range 2 {
		rest := own
		for _, p := range pieces {
			if rest, err = state.Read(rest, p); err != nil {
				return fmt.Errorf("state of a machine: %w", err)
			}
		}
		for _, c := range m.cpus {
			c.(KeptCPU).Restored()
		}
	}
	if !m.fits(&k) {
		return errors.New("state of a machine: damaged: write it again")
	}
	m.now, m.state, m.asleepAt, m.ready, m.cut = k.Now, k.State, k.Asleep, k.Ready, k.Cut
	m.console.Reset()
	m.console.WriteString(k.Console)
	m.hardware.(KeptHardware).Restored()
	for i := range m.events.heap {
		if m.events.heap[i].f == nil {
			return errors.New("state of a machine: an event is planned that no device knows: boot again")
		}
	}
	return nil
}

// fits reports whether what was read is of a machine with these CPUs, which were read before.
func (m *Machine) fits(k *kept) bool {
	n := len(m.cpus)
	return len(k.State) == n && len(k.Asleep) == n && k.Ready.fits(k.State) && m.events.fits() && k.Cut.cpu >= 0 && k.Cut.cpu < n && k.Now >= 0 &&
		!slices.ContainsFunc(m.cpus, func(c cpus.CPU) bool { return c.Now() < 0 })
}

// keepMemory appends the pages that are not empty, each behind its number plus one, and a zero.
func (m *Machine) keepMemory(out []byte) []byte {
	ram := m.mem.Raw()
	var empty [pageBytes]byte
	for at := 0; at+pageBytes <= len(ram); at += pageBytes {
		if page := ram[at : at+pageBytes]; [pageBytes]byte(page) != empty {
			out = binary.AppendUvarint(out, uint64(at/pageBytes+1))
			out = append(out, page...)
		}
	}
	return append(out, 0)
}

// restoreMemory reads what keepMemory appended. Each page comes behind the one before, so that what is damaged ends.
func (m *Machine) restoreMemory(in *bufio.Reader) error {
	ram := m.mem.Raw()
	if !m.cfg.Bare.Empty {
		clear(ram)
	}
	for last := uint64(0); ; {
		n, err := binary.ReadUvarint(in)
		switch {
		case err != nil || n > uint64(len(ram)/pageBytes) || n > 0 && n <= last:
			return damaged(err)
		case n == 0:
			return nil
		}
		last = n
		if _, err := io.ReadFull(in, ram[(n-1)*pageBytes:n*pageBytes]); err != nil {
			return damaged(err)
		}
	}
}

// damaged is the error of a state that cannot be read, for an error of its reader or for what it says.
func damaged(err error) error {
	if err == nil || err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("damaged or cut off: write it again")
	}
	return fmt.Errorf("damaged (%w): write it again", err)
}

// fits reports whether every event of a queue that was read is where its name says.
func (q *Queue) fits() bool {
	for i := range q.heap {
		slot := uint64(q.heap[i].id & (1<<slotBits - 1))
		if slot >= uint64(len(q.slots)) || q.slots[slot] != uint32(i) {
			return false
		}
	}
	for _, f := range q.free {
		if uint64(f) >= uint64(len(q.slots)) {
			return false
		}
	}
	return true
}

// Bind gives an event that was read with a queue its function, and returns its time; false when there is no such
// event.
func (q *Queue) Bind(id EventID, f func()) (clock.Ticks, bool) {
	if id == 0 || id&(1<<slotBits-1) >= EventID(len(q.slots)) {
		return 0, false
	}
	if i := int(*q.slot(id)); i < len(q.heap) && q.heap[i].id == id {
		q.heap[i].f = f
		return q.heap[i].at, true
	}
	return 0, false
}

// fits reports whether a queue that was read holds the CPUs that run, and these alone. A turn of another CPU would not bring
// the machine on, and it would have the next turn, too.
func (q *runQueue) fits(doing []activity) bool {
	if len(q.pos) != len(doing) || len(q.time) != len(doing) {
		return false
	}
	for i, cpu := range q.heap {
		if cpu < 0 || cpu >= len(doing) || q.pos[cpu] != i {
			return false
		}
	}
	for cpu, a := range doing {
		at := q.pos[cpu]
		if a > asleep || (at >= 0) != (a == running) || at >= 0 && (at >= len(q.heap) || q.heap[at] != cpu) {
			return false
		}
	}
	return true
}

package sim

import (
	"fmt"

	"kprobesim/cpus"
	"kprobesim/mmu"
)

// Buffers has the stores of each CPU wait before the others see them. Choose is asked before each turn of a policy, for each
// CPU that holds some, how many of the oldest are seen from then on. Loads of the CPU itself see them at once.
type Buffers struct {
	Room   int         // stores of a CPU at most
	Code   [][2]uint64 // physical addresses where stores do not wait, ends excluded
	Choose func(cpu, held int) int
}

// bufferStores gives every CPU its buffer.
func (m *Machine) bufferStores() error {
	if m.cfg.Buffers == nil {
		return nil
	}
	if !m.cfg.ISA.StoresWait || m.cfg.Policy == nil {
		return fmt.Errorf("stores of %s wait in no buffers here: that is for searches, and for instruction sets whose stores wait", m.cfg.ISA.Name)
	}
	for _, c := range m.cpus {
		b := mmu.NewStoreBuffer(m.mem, m.cfg.Buffers.Room, m.cfg.Buffers.Code)
		c.(cpus.StoreBufferer).BufferStores(b)
		m.buffers = append(m.buffers, b)
	}
	return nil
}

// showStores makes memory what a CPU sees, for its turn. It stays so until hideStores, as the next turn is often its own.
func (m *Machine) showStores(cpu int) {
	if m.buffers == nil || m.shown == m.buffers[cpu] {
		return
	}
	m.hideStores()
	m.shown = m.buffers[cpu]
	m.shown.Show()
}

// hideStores makes memory what all CPUs see.
func (m *Machine) hideStores() {
	if m.shown != nil {
		m.shown.Hide()
		m.shown = nil
	}
}

// drain lets all CPUs see what one has stored.
func (m *Machine) drain(cpu int) {
	if m.buffers != nil {
		m.buffers[cpu].DrainAll()
	}
}

// drainAll does so for every CPU.
func (m *Machine) drainAll() {
	m.hideStores()
	for i := range m.buffers {
		m.drain(i)
	}
}

// drainSome lets all CPUs see the stores that the search chooses. A store of one CPU goes under those that another one sees already,
// so these are taken back first.
func (m *Machine) drainSome() {
	for i, b := range m.buffers {
		held := b.Held()
		if held == 0 {
			continue
		}
		n := m.cfg.Buffers.Choose(i, held)
		if n == 0 {
			continue
		}
		if b != m.shown {
			m.hideStores()
		}
		b.Drain(n)
	}
}

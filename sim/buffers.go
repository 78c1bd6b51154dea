package sim

import (
	"fmt"

	"kprobesim/cpus"
	"kprobesim/mmu"
)

// Buffers has the stores of each CPU wait before the others see them. Choose is asked before each turn of a policy, for each
// CPU that holds some, how many of the oldest are seen from then on. Loads of the CPU itself see them at once.
//
// Where memory is weakly ordered, Sees is asked in its place, for each store that may be seen: whether a CPU sees the store of CPU by
// with a number. Of a store that its own CPU holds back, it is asked for that CPU. Then all others may see it, and are asked in front
// of their own turns.
type Buffers struct {
	Room   int         // stores of a CPU at most
	Code   [][2]uint64 // physical addresses where stores do not wait, ends excluded
	Choose func(cpu, held int) int
	Sees   func(cpu, by int, number uint64) bool
}

// bufferStores gives every CPU its buffer.
func (m *Machine) bufferStores() error {
	if m.cfg.Buffers == nil {
		return nil
	}
	isa := m.cfg.ISA
	if !isa.StoresWait && !isa.WeakOrder || m.cfg.Policy == nil {
		return fmt.Errorf("stores of %s wait in no buffers here: that is for searches, and for instruction sets whose stores wait", isa.Name)
	}
	buffer := func(room int, code [][2]uint64) *mmu.StoreBuffer { return mmu.NewStoreBuffer(m.mem, room, code) }
	if isa.WeakOrder {
		buffer = mmu.NewPast(m.mem).Buffer
	}
	for _, c := range m.cpus {
		b := buffer(m.cfg.Buffers.Room, m.cfg.Buffers.Code)
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

// drain lets all CPUs see what one has stored, and that one what the others have.
func (m *Machine) drain(cpu int) {
	if m.buffers != nil {
		m.buffers[cpu].DrainAll()
		m.buffers[cpu].SeeAll()
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
		if m.cfg.Buffers.Sees != nil {
			m.drainWhere(i, b)
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

// drainWhere is drainSome for one CPU where memory is weakly ordered.
func (m *Machine) drainWhere(cpu int, b *mmu.StoreBuffer) {
	b.DrainWhere(func(number uint64) bool {
		sees := m.cfg.Buffers.Sees(cpu, cpu, number)
		if sees {
			m.hideStores()
		}
		return sees
	})
}

// seeSome lets a CPU that has the next turn see stores of others, as the search chooses.
func (m *Machine) seeSome(cpu int) {
	if m.buffers == nil || !m.buffers[cpu].Unseen() {
		return
	}
	m.buffers[cpu].SeeWhere(func(by int, number uint64) bool { return m.cfg.Buffers.Sees(cpu, by, number) })
}

// Stored counts the stores of a CPU that its buffer has taken.
func (m *Machine) Stored(cpu int) uint64 {
	if m.buffers == nil {
		return 0
	}
	return m.buffers[cpu].Stored()
}

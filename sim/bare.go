package sim

import (
	"fmt"
	"math"

	"kprobesim/cpus"
	"kprobesim/mmu"
)

// Bare says how a kernel is entered that knows nothing of this program: as a boot loader would. Its image has
// no native slots, and neither first stack nor per-CPU data that a machine could find. Nothing of a machine
// that needs those can be used: native calls, Alloc, PerCPU.
type Bare struct {
	Chunks []Chunk  // what lies in memory beside the image
	Tables uint64   // physical address of page tables for the address space of the board
	Root   uint64   // what the first CPU begins with in place of page tables (cpus.Bus); zero for page tables
	Others uint64   // what the other CPUs begin with in their place, at the address that Backplane.StartAt gives
	PC, SP uint64   // of the first CPU
	Args   []uint64 // in the registers of the calling convention
	Empty  bool     // nothing is put into memory: Machine.Restore will
}

// Chunk is a piece of memory.
type Chunk struct {
	PA   uint64
	Data []byte
}

// loadBare fills the memory and makes the CPUs.
func (m *Machine) loadBare(b *Bare) error {
	root := b.Root
	if !b.Empty {
		var err error
		if root, err = m.fillBare(b); err != nil {
			return err
		}
	}
	m.buildCPUs(root, [2]uint64{})
	m.cpus[0].Boot(b.PC, b.SP, b.Args...)
	m.become(0, running)
	return nil
}

// fillBare puts the image, the chunks and page tables into memory, and returns what the first CPU begins with in place of tables.
func (m *Machine) fillBare(b *Bare) (root uint64, err error) {
	for _, s := range m.image.Segments {
		if !m.mem.Holds(s.PA, int(s.MemSize)) {
			return 0, fmt.Errorf("segment at physical %#x with %d bytes does not fit into %d bytes of memory: give the machine more",
				s.PA, s.MemSize, m.mem.Size())
		}
		m.mem.Write(s.PA, s.Data)
	}
	for _, c := range b.Chunks {
		if !m.mem.Holds(c.PA, len(c.Data)) {
			return 0, fmt.Errorf("%d bytes at physical %#x do not fit into %d bytes of memory: give the machine more",
				len(c.Data), c.PA, m.mem.Size())
		}
		m.mem.Write(c.PA, c.Data)
	}
	if b.Root != 0 {
		return b.Root, nil
	}
	return m.cfg.ISA.Tables(m.mem, b.Tables, m.space.Maps)
}

// root returns the root that CPU i begins with in place of page tables, where the first one begins with root.
func (m *Machine) root(i int, root uint64) uint64 {
	if i > 0 && m.cfg.Bare != nil {
		return m.cfg.Bare.Others
	}
	return root
}

// buildCPUs makes the hardware and the CPUs, of which all but the first wait to be started. The directory
// of lines exists only where caches can disagree. A machine with one CPU pays nothing for coherence.
func (m *Machine) buildCPUs(root uint64, natives [2]uint64) {
	var first cpus.CPU
	if m.cfg.CPUs > 1 {
		m.directory = mmu.NewDirectory(m.cfg.CPUs)
	}
	m.hardware = m.cfg.Board.Build(&Backplane{m})
	for i := range m.cfg.CPUs {
		c := m.cfg.ISA.New(i, &m.cfg.CPU, cpus.Bus{
			Memory: m.mem, Directory: m.directory, First: first, Decoded: m.cfg.Decoded, Device: m.hardware.Device(i), Ports: ports(m.hardware, i), Interrupts: m.hardware.Interrupts(i),
			Native: natives, Phase: func(pc uint64) uint8 { return uint8(m.image.Phase(pc)) }, Root: m.root(i, root),
			Predictor: m.cfg.Layout.Predictor, Marked: m.mark,
		})
		m.cpus = append(m.cpus, c)
		if m.keeper != nil {
			c.Untimed(cpus.NoTime, math.MaxInt64)
		}
		if i == 0 {
			first = c
		} else {
			c.Reset()
		}
	}
}

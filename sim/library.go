package sim

import (
	"fmt"
	"math/bits"
	"strings"

	"kprobesim/internal/clock"
)

// bindLibrary binds what the guest's functions for modules are built on: linux headers of modules name those,
// lib/simulator.h of the guest says what each slot does. None takes time beside its call.
func (m *Machine) bindLibrary() {
	m.Bind("sim_console", func(c *Call) uint64 {
		m.printLine(int64(c.Arg(0)), c.Arg(1), c.Arg(2))
		return 0
	})
	m.Bind("sim_clock", func(c *Call) uint64 {
		if err := m.Store(c.Arg(0), 8, m.nanoseconds(c.Now())); err != nil {
			m.Stop(fmt.Errorf("sim_clock: %w", err))
		}
		return 0
	})
	m.Bind("sim_alloc", func(c *Call) uint64 {
		at, err := m.Alloc(max(c.Arg(0), 1), 16)
		if err != nil {
			return 0 // the guest's caller is told by a null pointer, as in any kernel
		}
		return at
	})
	m.Bind("sim_symbol", func(c *Call) uint64 { return m.nameAddress(c.Arg(0), c.Arg(1), c.Arg(2)) })
	m.Bind("kallsyms_lookup_name", func(c *Call) uint64 {
		name, err := m.ReadString(c.Arg(0))
		if err != nil {
			m.Stop(fmt.Errorf("kallsyms_lookup_name: %w", err))
			return 0
		}
		f, _ := m.image.Func(name)
		return f.Pointer
	})
}

// nanoseconds is a time of the machine in nanoseconds, rounded down. The product needs more than 64 bits.
func (m *Machine) nanoseconds(t clock.Ticks) uint64 {
	hi, lo := bits.Mul64(uint64(t), 1e9)
	perSecond := uint64(m.cfg.CPU.Hz) * uint64(clock.PerCycle)
	ns, _ := bits.Div64(hi%perSecond, lo, perSecond)
	return ns
}

// mostPrinted is more than any line of the guest has, in bytes.
const mostPrinted = 4096

// printLine adds to the console what the guest prints. A level begins a line; -1 goes on with the one before.
func (m *Machine) printLine(level int64, at, length uint64) {
	text, err := m.ReadBytes(at, int(min(length, mostPrinted)))
	if err != nil {
		m.Stop(fmt.Errorf("printk: %w", err))
		return
	}
	if before := m.console.String(); int32(level) >= 0 && before != "" && !strings.HasSuffix(before, "\n") {
		m.console.WriteByte('\n')
	}
	m.console.Write(text)
}

// How nameAddress names an address.
const (
	nameAlone = iota // the name
	nameFull         // with offset, size and module
	nameCode         // the same of code alone
)

// nameMost is the room for a name in the guest, its end included (KSYM_SYMBOL_LEN).
const nameMost = 128 + 64

// nameAddress writes the name of what lies at an address into the guest's memory. It returns the length, 0 where
// nothing is known to lie.
func (m *Machine) nameAddress(to, addr, how uint64) uint64 {
	at := m.image.Callee(addr)
	sym, off, ok := m.image.At(at)
	if !ok || how == nameCode && !sym.Func {
		return 0
	}
	name := m.image.CName(sym.Name)
	module, inside, found := strings.Cut(name, ":")
	if found {
		name = inside
	}
	if how != nameAlone {
		name = fmt.Sprintf("%s+%#x/%#x", name, off, sym.Size)
		if found {
			name += " [" + module + "]"
		}
	}
	name = name[:min(len(name), nameMost-1)]
	if err := m.WriteBytes(to, append([]byte(name), 0)); err != nil {
		m.Stop(fmt.Errorf("a name of %#x: %w", addr, err))
	}
	return uint64(len(name))
}

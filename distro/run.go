package distro

import (
	"debug/elf"
	"fmt"
	"math"
	"strings"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// DefaultCommand are the kernel's parameters where none are given: the console is the serial port, nothing is
// looked for that the machine has not, and what takes long and shows nothing is left out.
const DefaultCommand = bareCommand + "nosmp noapic nolapic " + shortCommand

// Parts of DefaultCommand.
const (
	bareCommand  = "console=ttyS0 pci=off acpi=off "
	shortCommand = "initcall_blacklist=jent_mod_init,load_system_certificate_list cryptomgr.notests"
)

// Command is DefaultCommand for a number of CPUs.
func Command(n int) string {
	if n < 2 {
		return DefaultCommand
	}
	return bareCommand + shortCommand
}

// WithDisk are parameters of the kernel with which it finds persistent memory: it lists what is not its own memory once it has looked
// for PCI, and looks no further than for an address register with this option.
func WithDisk(command string) string { return strings.Replace(command, "pci=off", DiskOption, 1) }

// DiskOption is that option.
const DiskOption = "pci=conf1"

// CommandOf are the parameters of a kernel of an instruction set for a number of CPUs, where none are given.
func CommandOf(isa *cpus.ISA, n int) string {
	if isa.Machine == elf.EM_ARM {
		return ARMCommand(n)
	}
	return Command(n)
}

// Stop says when a run is to end. The kernel may end it before.
type Stop struct {
	Symbol string // behind the first instruction of this function; "" for none
	Text   string // once the console has printed this; "" for none
}

// Reasons of Machine.Ended beside the board's.
const (
	AtSymbol = "symbol"
	AtText   = "text"
	Halted   = "halted"
	Panicked = "panic"
)

// last lists what kernels print at the end: a processor that waits with interrupts disabled cannot
// be told from one that waits for one that comes.
var last = [...]struct{ text, reason string }{
	{"reboot: System halted\n", Halted},
	{"reboot: Power down\n", Halted},
	{"reboot: Power off not available: System halted instead\n", Halted}, // from 6.11 on
	{"---[ end Kernel panic", Panicked},
}

// watcher looks at the end of the console, which grows by a few bytes at a time.
type watcher struct {
	stop Stop
	tail string
}

// print is told of what the console prints.
func (w *watcher) print(m *sim.Machine, s string) {
	w.tail += strings.ReplaceAll(s, "\r", "")
	if w.stop.Text != "" && strings.Contains(w.tail, w.stop.Text) {
		m.End(AtText)
		w.stop.Text = "" // a machine that is resumed goes on
	}
	for _, l := range last {
		if strings.Contains(w.tail, l.text) {
			m.End(l.reason)
		}
	}
	if keep := len(w.stop.Text) + maxLast; len(w.tail) > 2*keep {
		w.tail = w.tail[len(w.tail)-keep:]
	}
}

// maxLast is longer than any text of last.
const maxLast = 64

// breaker ends a run at the first instruction that it is told of at an address.
type breaker struct {
	m  *sim.Machine
	at uint64
}

// Step implements cpus.Observer.
func (b *breaker) Step(s *cpus.Step) {
	if s.PC == b.at {
		b.m.CPU(s.CPU).Break()
		b.m.End(AtSymbol)
	}
}

// Run boots until the kernel ends the run or something of stop happens, which Machine.Ended tells. It fails for
// a symbol that the kernel has not, and as sim.Machine.Run does.
func Run(c Config, stop Stop) (*sim.Machine, error) {
	m, err := Start(c, stop)
	if err != nil {
		return nil, err
	}
	if c.From != nil {
		return m, survive(m.Run)
	}
	return m, m.Run()
}

// survive does something with a state that was read. A state that somebody has changed may be one that no machine can
// have, which shows only where it is used.
func survive(f func() error) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("snapshot: its state is none that a machine can have (%v): write it again", broken)
		}
	}()
	return f()
}

// Start is Run of a machine that has not run yet.
func Start(c Config, stop Stop) (*sim.Machine, error) {
	w := &watcher{stop: stop}
	show := c.Print
	c.Print = func(m *sim.Machine, s string) {
		if show != nil {
			show(m, s)
		}
		w.print(m, s)
	}
	m, err := New(c)
	if err != nil {
		return nil, err
	}
	if c.From != nil {
		if err := c.restore(m); err != nil {
			return nil, err
		}
	}
	for i := range m.CPUs() {
		if c.From != nil {
			m.CPU(i).Untimed(0, 0)
		}
		if c.Untimed {
			m.CPU(i).Untimed(clock.PerCycle, math.MaxInt64)
		}
	}
	if stop.Symbol != "" {
		s, ok := m.Image().Symbol(stop.Symbol)
		if !ok || !s.Func {
			return nil, fmt.Errorf("kernel %s has no function %s to stop at", m.Image().Name, stop.Symbol)
		}
		for i := range m.CPUs() {
			m.CPU(i).ObserveCode(&breaker{m, s.Addr}, [][2]uint64{{s.Addr, s.Addr + 1}}, false)
		}
	}
	return m, nil
}

// RunTimed boots without the cost model until the console has printed a text, and goes on with it to the end of the run.
func RunTimed(c Config, text string) (*sim.Machine, error) {
	c.Untimed = true
	m, err := Run(c, Stop{Text: text})
	if err != nil || m.Ended() != AtText {
		return m, err
	}
	for i := range m.CPUs() {
		m.CPU(i).Untimed(0, 0)
	}
	m.Resume()
	return m, m.Run()
}

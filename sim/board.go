package sim

import (
	"errors"
	"fmt"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// Board is the hardware around the CPUs as a description, from which every machine gets its own. It
// is asked when a machine is made. Boards are immutable, so machines that run at the same time may
// share one.
type Board interface {
	// Space is the address space that a kernel for an instruction set is entered with; the error says
	// that there is no such board.
	Space(isa *cpus.ISA) (Space, error)
	// Build makes the hardware of one machine. Its CPUs are made afterwards.
	Build(b *Backplane) Hardware
}

// Space is the address space that a kernel is entered with. ISA.Tables builds it, whatever page tables
// are there; a CPU that is entered with translation off finds them built.
type Space struct {
	Maps []mmu.Mapping
	Heap uint64 // virtual address at which all RAM is mapped for data
	CPUs int    // how many CPUs the board has places for; zero means MaxCPUs
}

// Hardware stands around the CPUs of one machine: devices, and an interrupt controller. The
// machine asks it when it is made and when a CPU halts. The devices that it gives are called for
// every access outside RAM.
type Hardware interface {
	// Device answers CPU i at physical addresses outside RAM. CPUs may be answered differently, as each has
	// registers of its own. An ISA may declare an interface for more than loads and stores, such as a
	// timer that is a register of the CPU, and a board for it give a device that has it.
	Device(i int) cpus.Device
	// Interrupts is the side of the interrupt controller towards CPU i.
	Interrupts(i int) cpus.Interrupts
	// Waiting names the interrupt for which the line to CPU i is up, for reports.
	Waiting(i int) string
}

// PortHardware is Hardware whose CPUs have I/O ports, a space of addresses apart from memory's.
type PortHardware interface {
	// Ports answers CPU i at its I/O ports.
	Ports(i int) cpus.Device
}

// TimedHardware is Hardware whose timers can be made to expire.
type TimedHardware interface {
	// Expire has the timer interrupt CPU i now, and changes nothing else. A timer that is masked or off stays silent.
	Expire(i int)
}

// ports returns the device that answers CPU i at I/O ports, or nil.
func ports(h Hardware, i int) cpus.Device {
	if p, ok := h.(PortHardware); ok {
		return p.Ports(i)
	}
	return nil
}

// Backplane is a machine as its board sees it. CPUs go by number. A board gets no more of the
// machine than this, so that it cannot depend on guests, images or the way in which CPUs take turns.
type Backplane struct{ m *Machine }

// CPUs is how many CPUs there are.
func (b *Backplane) CPUs() int { return b.m.cfg.CPUs }

// Time is the time that a CPU has reached. It is that of the access to a device which the CPU is in
// the middle of: the CPU settles its clock before.
func (b *Backplane) Time(i int) clock.Ticks { return b.m.cpus[i].Now() }

// Events holds what is planned, in the time of all CPUs. A timer pushes its expiry.
func (b *Backplane) Events() *Queue { return &b.m.events }

// Count is the time in which a timer of the board counts one.
func (b *Backplane) Count() clock.Ticks {
	return max(clock.Ticks(b.m.cfg.CPU.Hz)*clock.PerCycle/clock.Ticks(b.m.cfg.TimerHz), 1)
}

// Description holds the CPUs' part of the machine description.
func (b *Backplane) Description() *cpus.Config { return &b.m.cfg.CPU }

// Hz is the clock of the cores: ticks of simulated time are fractions of its period.
func (b *Backplane) Hz() int64 { return b.m.cfg.CPU.Hz }

// End ends the run for a reason that is no failure, such as a reset.
func (b *Backplane) End(reason string) { b.m.End(reason) }

// Send makes f happen when what a CPU sends now has reached the others: after the machine's
// EventIPI. That latency bounds the schedule's lookahead.
func (b *Backplane) Send(from int, f func()) EventID {
	return b.m.events.Push(b.Time(from)+b.m.ipi, f)
}

// Interrupt says that the line of the interrupt controller to a CPU has come up.
func (b *Backplane) Interrupt(i int) {
	b.m.strikes(i)
	b.m.cpus[i].Interrupt()
	b.m.wake(i)
}

// Signal gives an edge to one of the lines that ISA.Lines names. A CPU that is not started ignores it.
func (b *Backplane) Signal(i, line int) { b.m.Signal(i, line) }

// Signal gives an edge to one of the lines that ISA.Lines names. A CPU that is not started ignores it.
func (m *Machine) Signal(i, line int) {
	if m.state[i] == parked {
		return
	}
	m.strikes(i)
	m.cpus[i].Signal(line)
	m.wake(i)
	m.Note(Event{CPU: i, Kind: EventSignal, Name: m.cfg.ISA.Lines[line]})
}

// Expire has the timer interrupt a CPU, where hardware can do that.
func (m *Machine) Expire(i int) {
	if h, ok := m.hardware.(TimedHardware); ok {
		m.Note(Event{CPU: i, Kind: EventSignal, Name: "timer"})
		h.Expire(i)
	}
}

// Reset stops a CPU until Start. Its caches and its clock go on.
func (b *Backplane) Reset(i int) {
	b.m.advance(i, b.m.Now())
	b.m.cpus[i].Reset()
	b.m.become(i, parked)
}

// Start makes a CPU that is stopped begin where the first one began: at the entry of the image, with its
// number and the address of its per-CPU data as arguments. The stack is the first CPU's, so that the
// entry takes one of its own before it uses any. A CPU that is not stopped goes on.
func (b *Backplane) Start(i int) {
	if b.m.state[i] == parked && b.m.cfg.Bare == nil {
		b.m.start(i, b.m.image.Entry, b.m.bootStack)
	}
}

// StartAt is Start of a CPU that begins at a place of its own, as kernels expect it that know nothing of this program. The
// first CPU of such a machine begins once.
func (b *Backplane) StartAt(i int, at uint64) {
	switch {
	case b.m.cfg.Bare == nil:
		b.Start(i)
	case b.m.state[i] != parked:
	case i == 0:
		b.Fail(max(b.m.current, 0), errors.New("started CPU 0 again, which only a reset of the machine does"))
	default:
		b.m.advance(i, b.m.Now())
		b.m.cpus[i].Boot(at, 0)
		b.m.become(i, running)
	}
}

// Stopped reports whether a CPU waits for Start.
func (b *Backplane) Stopped(i int) bool { return b.m.state[i] == parked }

// Memory is the RAM, for hardware that reads or writes it beside the CPUs.
func (b *Backplane) Memory() *mmu.Memory { return b.m.mem }

// Print adds to the console.
func (b *Backplane) Print(s string) { b.m.Print(s) }

// Note tells the machine's watchers of an event.
func (b *Backplane) Note(e Event) { b.m.Note(e) }

// Fail ends the run because of what a CPU did; the report adds where it did it.
func (b *Backplane) Fail(i int, err error) {
	b.m.Stop(fmt.Errorf("cpu %d %w; %s", i, err, b.m.where(i)))
}

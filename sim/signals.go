package sim

import (
	"fmt"

	"kprobesim/internal/clock"
)

// apicConfig connects the local APIC of CPU i.
func (m *Machine) apicConfig(i int) LAPICConfig {
	return LAPICConfig{
		ID:       uint8(i),
		BusCycle: max(clock.Ticks(m.cfg.CPU.Hz)*clock.PerCycle/clock.Ticks(m.cfg.TimerHz), 1),
		Now:      func() clock.Ticks { return m.cpus[i].Now() },
		Queue:    &m.events,
		Raise: func() {
			m.cpus[i].Interrupt()
			m.wake(i)
		},
		Send:   m.send,
		Signal: func(mode DeliveryMode, vector uint8) { m.signal(i, mode, vector) },
	}
}

// send puts an interprocessor interrupt on its way. One to the sender alone does not leave its APIC.
func (m *Machine) send(ipi IPI) {
	m.Note(Event{
		CPU: int(ipi.From), Kind: "ipi-send", Name: ipi.Mode.String(), ID: uint64(ipi.Vector), Arg: uint64(ipi.Dest),
	})
	if ipi.Shorthand == ToSelf {
		m.arrive(ipi)
		return
	}
	m.At(m.cpus[ipi.From].Now()+m.ipi, func() { m.arrive(ipi) })
}

// arrive gives an interprocessor interrupt to its targets, in the order of their numbers. One that is
// addressed to nobody would be lost without a word and somebody wait for ever, so the machine stops.
func (m *Machine) arrive(ipi IPI) {
	if ipi.Mode == DeliverLowest {
		m.arbitrate(ipi)
		return
	}
	found := ipi.Shorthand != ToDestination
	for i, a := range m.apics {
		if a.Selects(ipi) {
			m.accept(i, ipi)
			found = true
		}
	}
	if !found {
		m.Stop(fmt.Errorf("cpu %d sent a %s interrupt with vector %d to destination %d, which none of %d CPUs has; %s",
			ipi.From, ipi.Mode, ipi.Vector, ipi.Dest, len(m.cpus), m.where(int(ipi.From))))
	}
}

// arbitrate gives an interrupt to the one of its targets that has the lowest priority, ties by number.
func (m *Machine) arbitrate(ipi IPI) {
	best := -1
	for i, a := range m.apics {
		if a.Selects(ipi) && a.Enabled() && (best < 0 || a.Priority() < m.apics[best].Priority()) {
			best = i
		}
	}
	if best >= 0 {
		m.accept(best, ipi)
	}
}

func (m *Machine) accept(i int, ipi IPI) {
	if ipi.Mode != DeliverNMI {
		m.Note(Event{CPU: i, Kind: "ipi", Name: ipi.Mode.String(), ID: uint64(ipi.Vector), Arg: uint64(ipi.From)})
	}
	m.apics[i].Accept(ipi)
}

// signal does what an interrupt does to a CPU directly.
func (m *Machine) signal(i int, mode DeliveryMode, vector uint8) {
	switch mode {
	case DeliverNMI:
		if m.state[i] != parked {
			m.cpus[i].Signal(nmiLine)
			m.wake(i)
			m.Note(Event{CPU: i, Kind: "nmi", ID: nmiVector})
		}
	case DeliverINIT:
		m.park(i)
	case DeliverStartup:
		m.startup(i, vector)
	case DeliverSMI:
		m.Stop(fmt.Errorf("cpu %d received a system management interrupt, which nothing handles: send it no such interrupt", i))
	}
}

const (
	nmiLine   = 0
	nmiVector = 2
)

// park resets a CPU, which then waits for a start-up interrupt. That is what INIT does to all
// processors but the first; to the first it does the same here, because there is no firmware that it
// could begin in.
func (m *Machine) park(i int) {
	m.advance(i, m.Now())
	m.cpus[i].Reset()
	m.apics[i].Reset()
	m.become(i, parked)
}

// startup begins execution on a CPU that waits for it; others ignore a start-up interrupt (SDM vol. 3,
// 8.4.4). A processor would begin in real mode at the page that the vector names, where firmware or
// kernel keep the few instructions that lead to the mode of the kernel. Here it begins behind them: at
// the entry of the image, in the state and with the arguments with which the first CPU began. The stack
// is the first CPU's: the entry takes one of its own before it uses any.
func (m *Machine) startup(i int, _ uint8) {
	if m.state[i] == parked {
		m.start(i, m.image.Entry, m.bootStack)
	}
}

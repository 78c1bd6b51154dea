package vexpress

import (
	"fmt"
	"math/bits"

	"kprobesim/cpus"
	"kprobesim/cpus/arm"
	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// motherboard is the hardware of one machine.
type motherboard struct {
	m     *sim.Backplane `state:"-"`
	gic   *gic
	ports []*port
	uart  uart
	flags uint32 // SYS_FLAGS: where further CPUs are to begin
	controller
}

// Device implements sim.Hardware.
func (b *motherboard) Device(i int) cpus.Device { return b.ports[i] }

// Interrupts implements sim.Hardware.
func (b *motherboard) Interrupts(i int) cpus.Interrupts { return b.ports[i] }

// Waiting implements sim.Hardware.
func (b *motherboard) Waiting(i int) string { return fmt.Sprintf("interrupt %d", b.gic.signalled(i)) }

// Expire implements sim.TimedHardware. It is the physical timer's output that goes up, until the kernel has set that anew for the next interrupt.
func (b *motherboard) Expire(i int) {
	if p := b.ports[i]; p.expiry[arm.PhysicalTimer] != 0 {
		p.expire(arm.PhysicalTimer)()
	}
}

// port is the board as one CPU sees it.
type port struct {
	b      *motherboard   `state:"-"`
	cpu    int            `state:"-"`
	expiry [2]sim.EventID // of the CPU's timers
}

// windows are the devices by physical address.
var windows = []struct {
	base, size uint64
	rows       []register
}{
	{distributorBase, page, distributor},
	{interfaceBase, interfaceSize, interfaces},
	{consoleBase, page, uartRegisters},
	{systemBase, page, systemRegisters},
}

// Load implements cpus.Device. Where nothing is, reads give ones.
func (p *port) Load(pa uint64, size int) uint64 {
	for i := range windows {
		if w := &windows[i]; pa-w.base < w.size {
			return p.load(w.rows, pa-w.base, size)
		}
	}
	return ^uint64(0)
}

// Store implements cpus.Device.
func (p *port) Store(pa uint64, size int, v uint64) {
	for i := range windows {
		if w := &windows[i]; pa-w.base < w.size {
			p.store(w.rows, pa-w.base, size, v)
		}
	}
}

// Pending implements cpus.Interrupts.
func (p *port) Pending() bool { return p.b.gic.signalled(p.cpu) != spurious }

// Acknowledge implements cpus.Interrupts. A CPU of this kind asks the controller's registers.
func (*port) Acknowledge() uint32 { return 0 }

// raise tells the CPU that its line is up. The boot monitor, in which a CPU waits that has not been started, accepts
// every interrupt, and looks at the flags behind it.
func (p *port) raise() {
	m := p.b.m
	if m.Stopped(p.cpu) {
		if id, _ := p.b.gic.next(p.cpu); p.b.gic.enabled && p.b.flags != 0 && id != spurious {
			m.StartAt(p.cpu, uint64(p.b.flags))
		}
		return
	}
	if p.Pending() {
		m.Interrupt(p.cpu)
	}
}

// changed tells the other CPUs of what this one has changed, as late as they would learn it. The CPU itself looks
// at its line behind every store.
func (p *port) changed() {
	if len(p.b.ports) > 1 {
		p.b.m.Send(p.cpu, p.raiseOthers)
	}
}

// changedBank is changed for interrupts of a bank: the first one is the CPU's own.
func (p *port) changedBank(i int) {
	if i > 0 {
		p.changed()
	}
}

func (p *port) raiseOthers() {
	for _, o := range p.b.ports {
		if o != p {
			o.raise()
		}
	}
}

// Who a software generated interrupt is for, by the filter of GICD_SGIR (GIC, 4.3.15).
const (
	toList = iota
	toOthers
	toSelf
)

// generate is a store to GICD_SGIR. The interrupt of the CPU itself is pending at once, that of another one when the
// message has come there.
func (p *port) generate(_ int, v, _ uint32) {
	all, id := uint32(1)<<len(p.b.ports)-1, int(v&15)
	var to uint32
	switch v >> 24 & 3 {
	case toList:
		to = v >> 16 & 0xff & all
	case toOthers:
		to = all &^ (1 << p.cpu)
	case toSelf:
		to = 1 << p.cpu
	}
	if to != 0 {
		p.b.m.Note(sim.Event{CPU: p.cpu, Kind: sim.EventIPISend, Name: "sgi", ID: uint64(id), Arg: uint64(to)})
	}
	if to>>p.cpu&1 != 0 {
		p.accept(id, p.cpu)
	}
	if to &^= 1 << p.cpu; to != 0 {
		p.b.m.Send(p.cpu, func() {
			for ; to != 0; to &= to - 1 {
				p.b.ports[bits.TrailingZeros32(to)].accept(id, p.cpu)
			}
		})
	}
}

// accept makes a software generated interrupt pending at its target.
func (p *port) accept(id, from int) {
	p.own().request(id, 1<<from)
	p.b.m.Note(sim.Event{CPU: p.cpu, Kind: sim.EventIPI, Name: "sgi", ID: uint64(id), Arg: uint64(from)})
	p.raise()
}

// timerIDs are the interrupts of a CPU's timers (GIC-400, as Cortex-A7 and Cortex-A15 connect them).
var timerIDs = [...]int{arm.PhysicalTimer: physicalTimer, arm.VirtualTimer: virtualTimer}

// TimerOutput implements arm.TimerOutputs. It is called when the CPU is made, too.
func (p *port) TimerOutput(timer int, from clock.Ticks) {
	events := p.b.m.Events()
	events.Cancel(p.expiry[timer]) // it may have happened: then there is none
	p.expiry[timer] = 0
	up := from != arm.Never && from <= p.b.m.Time(p.cpu)
	p.own().private.input(timerIDs[timer], up)
	if !up && from != arm.Never {
		p.expiry[timer] = events.Push(from, p.expire(timer))
	}
}

// expire is the event of a timer whose output goes up.
func (p *port) expire(timer int) func() {
	return func() {
		p.own().private.input(timerIDs[timer], true)
		p.raise()
	}
}

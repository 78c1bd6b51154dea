package pc

import (
	"debug/elf"
	"fmt"

	"kprobesim/cpus"
	"kprobesim/cpus/x86"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
	"kprobesim/sim"
)

// Legacy is a PC as kernels of distributions find one without ACPI and devices of PCI: beside local APICs, where CPUID says so,
// which firmware has left in virtual wire mode, two 8259A interrupt controllers, an 8254 timer with port 61h, a CMOS clock
// and a serial port at 3f8h. Every other port reads ones. What would reset the machine ends the run. A PC with several CPUs
// has an I/O APIC beside the controllers, with the inputs that the tables of Firmware say.
type Legacy struct {
	// Date is the time of the CMOS clock when the machine is switched on, in seconds since the beginning of 1970.
	Date int64
}

// Space implements sim.Board: memory is mapped to itself, as the 64-bit boot protocol asks.
func (Legacy) Space(isa *cpus.ISA) (sim.Space, error) {
	if isa.Machine != elf.EM_X86_64 && isa.Machine != elf.EM_386 {
		return sim.Space{}, fmt.Errorf("a PC has no CPUs of %s", isa.Name)
	}
	return sim.Space{Maps: []mmu.Mapping{{Large: true, Writable: true, Exec: true}}}, nil
}

// Build implements sim.Board. The timer goes as firmware programs it: 18.2 interrupts a second, which are masked.
func (l Legacy) Build(m *sim.Backplane) sim.Hardware {
	second := clock.Ticks(m.Hz()) * clock.PerCycle
	p := &legacy{
		bus:  Board{}.Build(m).(*bus),
		pics: pics{bootPIC(0x08), bootPIC(0x70)},
		osc:  oscillator{pitHz, uint64(second)},
		rtc:  bootCMOS(l.Date, second),
	}
	p.serial = uart{send: func(b byte) { m.Print(string([]byte{b})) }}
	p.counters = [3]counter{
		{mode: squareWave, access: 3, gate: true, loaded: true, n: 1 << 16},
		{mode: rate, access: 1, gate: true, loaded: true, n: 18},
		{mode: squareWave, access: 3},
	}
	if p.local = x86.HasLocalAPIC(m.Description()); p.local {
		p.apics[0].virtualWire()
	}
	if m.CPUs() > 1 && p.local {
		p.io = newIOAPIC(ioapicID(m.CPUs()), p.redirect)
		for _, a := range p.apics {
			a.cfg.Ended = p.io.ended
		}
	}
	p.planTimer(0)
	return p
}

// redirect gives the interrupt of an input of the I/O APIC to local APICs. The controllers are not connected to it.
func (p *legacy) redirect(e entry) {
	ipi := message{Mode: e.mode(), Vector: e.vector(), Level: e.level(), Logical: e.logical(), Dest: e.dest()}
	if ipi.Mode == deliverLowest {
		p.arbitrate(ipi)
		return
	}
	for i, a := range p.apics {
		if a.selects(ipi) {
			p.accept(i, ipi)
		}
	}
}

// Inputs of the interrupt controllers, and counters of the timer.
const (
	irqTimer  = 0
	irqSerial = 4
	irqClock  = 8

	timerInput = 2 // of the I/O APIC

	speaker = 2
)

// legacy is the hardware of one machine. It is at one time, that of the access or event under way.
type legacy struct {
	*bus
	pics     pics
	osc      oscillator
	counters [3]counter
	rtc      *cmos
	serial   uart
	local    bool    // there are local APICs
	io       *ioapic // nil where there is one CPU, which gets its interrupts from the controllers
	portB    uint8   // port 61h, the part that is written
	portA    uint8   // port 92h
	pci      uint32  // the address at cf8h of PCI's configuration, which is empty
	at       clock.Ticks
	timer    sim.EventID
	edge     int64 // the count at which timer comes
	alarm    sim.EventID
}

// now is the time in counts of the timer.
func (p *legacy) now() int64 { return p.osc.count(p.at) }

// Ports implements sim.PortHardware.
func (p *legacy) Ports(i int) cpus.Device { return ports{p, i} }

// Interrupts implements sim.Hardware.
func (p *legacy) Interrupts(i int) cpus.Interrupts { return wires{p, i} }

// Device implements sim.Hardware. Where nothing is, reads give ones.
func (p *legacy) Device(i int) cpus.Device {
	if !p.local {
		return nil
	}
	if p.io == nil {
		return p.bus.Device(i)
	}
	return pages{p, p.bus.Device(i)}
}

// pages are the registers of the I/O APIC and of a CPU's own.
type pages struct {
	p     *legacy
	local cpus.Device
}

// Load implements cpus.Device.
func (b pages) Load(pa uint64, size int) uint64 {
	if pa-ioapicBase < apicSize {
		return uint64(b.p.io.load(pa - ioapicBase))
	}
	return b.local.Load(pa, size)
}

// Store implements cpus.Device.
func (b pages) Store(pa uint64, size int, v uint64) {
	if pa-ioapicBase < apicSize {
		b.p.io.store(pa-ioapicBase, uint32(v))
		return
	}
	b.local.Store(pa, size, v)
}

// external reports whether CPU i gets the interrupts of the controllers: through LINT0 of its APIC, or directly.
func (p *legacy) external(i int) bool {
	if !p.local {
		return i == 0
	}
	return p.apics[i].passesExternal()
}

// Waiting implements sim.Hardware.
func (p *legacy) Waiting(i int) string {
	if !p.apics[i].Pending() && p.pics.pending() {
		return fmt.Sprintf("interrupt %d", p.pics.next())
	}
	return p.bus.Waiting(i)
}

// wires are the two ways of an interrupt to a CPU: its APIC's own, and the controllers through LINT0.
type wires struct {
	p   *legacy
	cpu int
}

// Pending implements cpus.Interrupts.
func (w wires) Pending() bool {
	return w.p.apics[w.cpu].Pending() || w.p.external(w.cpu) && w.p.pics.pending()
}

// Acknowledge implements cpus.Interrupts. Interrupts of the APIC come first.
func (w wires) Acknowledge() uint32 {
	if apic := w.p.apics[w.cpu]; apic.Pending() || !w.p.external(w.cpu) {
		return apic.Acknowledge()
	}
	return uint32(w.p.pics.acknowledge())
}

// interrupt gives an input of the controllers its level and tells the CPUs.
func (p *legacy) interrupt(irq uint8, up bool) {
	p.set(irq, up)
	p.tell()
}

// set gives an input of the controllers, and of the I/O APIC, its level. The timer's is the third one there.
func (p *legacy) set(irq uint8, up bool) {
	p.pics.set(irq, up)
	switch {
	case p.io == nil:
	case irq == irqTimer:
		p.io.set(timerInput, up)
	default:
		p.io.set(irq, up)
	}
}

// tell lets the CPUs look at a line that is up.
func (p *legacy) tell() {
	if !p.pics.pending() {
		return
	}
	for i := range p.apics {
		if p.external(i) && !p.m.Stopped(i) {
			p.m.Interrupt(i)
		}
	}
}

// tick is the timer's output changing at a count. A pulse of one count is given at its end.
func (p *legacy) tick(n int64) {
	p.timer = 0
	if m := p.counters[0].mode; m == rate || m == strobe {
		p.set(irqTimer, false)
	}
	p.planTimer(n)
}

// planTimer gives the controller the timer's output at a count and plans its next change.
func (p *legacy) planTimer(n int64) {
	p.m.Events().Cancel(p.timer)
	p.timer = 0
	c := &p.counters[0]
	p.interrupt(irqTimer, c.out(n))
	if at := c.edge(n); at != 0 {
		t := p.osc.time(at)
		p.edge = at
		p.timer = p.m.Events().Push(t, p.timerEvent(t, at))
	}
}

// timerEvent is the change of the timer's output at a time, and at a count.
func (p *legacy) timerEvent(t clock.Ticks, at int64) func() {
	return func() {
		p.at = t
		p.tick(at)
	}
}

// planClock does the same for the clock.
func (p *legacy) planClock() {
	p.m.Events().Cancel(p.alarm)
	p.alarm = 0
	p.interrupt(irqClock, p.rtc.line())
	if t := p.rtc.next(p.at); t != 0 {
		p.alarm = p.m.Events().Push(t, p.clockEvent(t))
	}
}

// clockEvent is a flag of the clock that comes up at a time.
func (p *legacy) clockEvent(t clock.Ticks) func() {
	return func() {
		p.at = t
		p.rtc.look(t)
		p.planClock()
	}
}

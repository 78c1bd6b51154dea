package pc

import (
	"errors"
	"fmt"
	"slices"

	"kprobesim/cpus"
	"kprobesim/cpus/x86"
	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// bus connects the local APICs of one machine with each other and with their CPUs.
type bus struct {
	m     *sim.Backplane `state:"-"`
	apics []*lapic
	sent  []flight // what is on its way
	count uint64   // of interprocessor interrupts so far
}

// flight is an interprocessor interrupt that has not arrived yet.
type flight struct {
	number uint64
	event  sim.EventID
	ipi    message
}

// Device implements sim.Hardware: every CPU sees its own APIC.
func (b *bus) Device(i int) cpus.Device { return page{b.apics[i]} }

// Interrupts implements sim.Hardware.
func (b *bus) Interrupts(i int) cpus.Interrupts { return b.apics[i] }

// Waiting implements sim.Hardware.
func (b *bus) Waiting(i int) string {
	v, _ := b.apics[i].next()
	return fmt.Sprintf("interrupt %d", v)
}

// Expire implements sim.TimedHardware.
func (b *bus) Expire(i int) { b.apics[i].interrupt() }

// connect gives the local APIC of CPU i its place on the bus.
func (b *bus) connect(i int) lapicConfig {
	return lapicConfig{
		ID:       uint8(i),
		BusCycle: b.m.Count(),
		Now:      func() clock.Ticks { return b.m.Time(i) },
		Queue:    b.m.Events(),
		Raise:    func() { b.m.Interrupt(i) },
		Send:     b.send,
		Signal:   func(mode deliveryMode, vector uint8) { b.signal(i, mode, vector) },
	}
}

// send puts an interprocessor interrupt on its way. One to the sender alone does not leave its APIC.
func (b *bus) send(ipi message) {
	b.m.Note(sim.Event{
		CPU: int(ipi.From), Kind: sim.EventIPISend, Name: ipi.Mode.String(), ID: uint64(ipi.Vector), Arg: uint64(ipi.Dest),
	})
	if ipi.Shorthand == toItself {
		b.arrive(ipi)
		return
	}
	b.count++
	event := b.m.Send(int(ipi.From), b.landing(b.count))
	b.sent = append(b.sent, flight{b.count, event, ipi})
}

// landing is the arrival of an interprocessor interrupt, by its number.
func (b *bus) landing(number uint64) func() {
	return func() {
		i := slices.IndexFunc(b.sent, func(f flight) bool { return f.number == number })
		if i < 0 {
			return // only a state that somebody has changed has none
		}
		ipi := b.sent[i].ipi
		b.sent = slices.Delete(b.sent, i, i+1)
		b.arrive(ipi)
	}
}

// arrive gives an interprocessor interrupt to its targets, in the order of their numbers. One that is
// addressed to nobody would be lost without a word and somebody wait for ever, so the machine stops.
func (b *bus) arrive(ipi message) {
	if ipi.Mode == deliverLowest {
		b.arbitrate(ipi)
		return
	}
	found := ipi.Shorthand != toDestination
	for i, a := range b.apics {
		if a.selects(ipi) {
			b.accept(i, ipi)
			found = true
		}
	}
	if !found {
		b.m.Fail(int(ipi.From), fmt.Errorf("sent a %s interrupt with vector %d to destination %d, which none of %d CPUs has",
			ipi.Mode, ipi.Vector, ipi.Dest, len(b.apics)))
	}
}

// arbitrate gives an interrupt to the one of its targets that has the lowest priority, ties by number.
func (b *bus) arbitrate(ipi message) {
	best := -1
	for i, a := range b.apics {
		if a.selects(ipi) && a.enabled() && (best < 0 || a.ppr() < b.apics[best].ppr()) {
			best = i
		}
	}
	if best >= 0 {
		b.accept(best, ipi)
	}
}

func (b *bus) accept(i int, ipi message) {
	if ipi.Mode != deliverNMI {
		b.m.Note(sim.Event{CPU: i, Kind: sim.EventIPI, Name: ipi.Mode.String(), ID: uint64(ipi.Vector), Arg: uint64(ipi.From)})
	}
	b.apics[i].accept(ipi)
}

// signal does what an interrupt does to a CPU directly. A start-up interrupt starts a CPU that waits for it,
// and others ignore it (SDM vol. 3, 8.4.4). A processor begins in real mode at the page that its
// vector names, where firmware or kernel keep the few instructions that lead to the mode of the kernel. Kernels of this
// project begin at their entry instead.
// INIT makes all processors but the first wait for it; here the first too, because there is no firmware
// that it could begin in.
func (b *bus) signal(i int, mode deliveryMode, vector uint8) {
	switch mode {
	case deliverNMI:
		b.m.Signal(i, x86.LineNMI)
	case deliverINIT:
		b.m.Reset(i)
		b.apics[i].Reset()
	case deliverStartup:
		b.m.StartAt(i, uint64(vector)<<12)
	case deliverSMI:
		b.m.Fail(i, errors.New("received a system management interrupt, which nothing handles: send it no such interrupt"))
	}
}

// page puts a local APIC at its place among physical addresses.
type page struct{ apic *lapic }

// Load implements cpus.Device. Where nothing is, reads give ones.
func (p page) Load(pa uint64, _ int) uint64 {
	if pa < x86.APICBase || pa >= x86.APICBase+apicSize {
		return ^uint64(0)
	}
	return uint64(p.apic.Load(pa - x86.APICBase))
}

// Store implements cpus.Device.
func (p page) Store(pa uint64, _ int, v uint64) {
	if pa >= x86.APICBase && pa < x86.APICBase+apicSize {
		p.apic.Store(pa-x86.APICBase, uint32(v))
	}
}

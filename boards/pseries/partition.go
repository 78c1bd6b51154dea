package pseries

import (
	"kprobesim/cpus"
	"kprobesim/cpus/ppc64"
	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// partition is the hypervisor's side of the CPUs of one machine.
type partition struct {
	m    *sim.Backplane
	cpus []*processor
}

// Device implements sim.Hardware.
func (p *partition) Device(i int) cpus.Device { return p.cpus[i] }

// Interrupts implements sim.Hardware.
func (p *partition) Interrupts(i int) cpus.Interrupts { return p.cpus[i] }

// Waiting implements sim.Hardware.
func (p *partition) Waiting(int) string { return "an interprocessor interrupt" }

// Expire implements sim.TimedHardware. The kernel sets its decrementer anew at the interrupt, so that the next one is later, too.
func (p *partition) Expire(i int) { p.m.Signal(i, ppc64.LineExpire) }

// processor holds the hypervisor's state of one CPU.
type processor struct {
	p   *partition
	num int
	presentation
	expiry sim.EventID // of the decrementer
}

func newProcessor(p *partition, i int) *processor {
	return &processor{p: p, num: i, presentation: reset}
}

// Load implements cpus.Device. There are no registers in memory: reads give ones.
func (*processor) Load(uint64, int) uint64 { return ^uint64(0) }

// Store implements cpus.Device.
func (*processor) Store(uint64, int, uint64) {}

// Acknowledge implements cpus.Interrupts. A CPU of this kind asks by a call.
func (*processor) Acknowledge() uint32 { return 0 }

// Expires implements ppc64.Decrementer.
func (c *processor) Expires(at clock.Ticks) {
	m := c.p.m
	m.Events().Cancel(c.expiry) // it may have happened: then there is none
	c.expiry = m.Events().Push(at, func() { m.Signal(c.num, ppc64.LineDecrementer) })
}

// stop does RTAS stop-self: the CPU waits for start-cpu. Its interrupts go with it.
func (c *processor) stop() {
	c.p.m.Events().Cancel(c.expiry)
	c.expiry, c.presentation = 0, reset
	c.p.m.Reset(c.num)
}

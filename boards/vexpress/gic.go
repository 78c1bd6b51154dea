package vexpress

import "math/bits"

// Numbers of interrupts (GIC, 2.2.1). Software generated ones come first, then the ones of peripherals that every
// CPU has of its own, then the shared ones.
const (
	firstPrivate  = 16
	firstShared   = 32
	sharedBanks   = 4
	interruptIDs  = firstShared + 32*sharedBanks
	spurious      = 1023
	consoleID     = 37 // the fifth of the motherboard
	physicalTimer = 30
	virtualTimer  = 27

	maxCPUs = 8 // a byte of targets has a bit each
)

// Priorities are favored by lower numbers. Five bits are there, so that groups of one priority begin with bit 3.
const (
	priorityMask = 0xf8
	idle         = 0x100 // less favored than any
	minBinary    = 2     // of the binary point: all five bits decide about preemption
)

// privateIDs are the interrupts of each CPU that exist.
const privateIDs = 0xfe00ffff

// bank is the state of 32 interrupts: a bit each, and a byte each.
type bank struct {
	enabled  uint32
	latched  uint32 // made pending, by an edge or by software
	level    uint32 // the input is up
	edge     uint32 // the input's edges count and not its level
	active   uint32
	priority [32]uint8
	targets  [32]uint8 // of shared interrupts: a bit for each CPU
}

// pending is GICD_ISPENDR.
func (b *bank) pending() uint32 { return b.latched | b.level&^b.edge }

// waiting are the interrupts that could be signalled to a CPU.
func (b *bank) waiting() uint32 { return b.pending() & b.enabled &^ b.active }

// input sets the level of an interrupt's input.
func (b *bank) input(bit int, up bool) {
	m := uint32(1) << bit
	if up && b.level&m == 0 {
		b.latched |= m & b.edge
	}
	b.level &^= m
	if up {
		b.level |= m
	}
}

// gic is the interrupt controller: the distributor's state and that of every CPU interface.
type gic struct {
	enabled bool // GICD_CTLR
	shared  [sharedBanks]bank
	cpus    []*interrupts
}

// interrupts holds the interrupts of one CPU.
type interrupts struct {
	private bank
	senders [firstPrivate]uint8 // for whom a software generated interrupt is pending: a bit for each sender

	enabled bool   // GICC_CTLR
	split   bool   // GICC_CTLR.EOImode: the end of an interrupt does not deactivate it
	mask    uint8  // GICC_PMR
	binary  uint8  // GICC_BPR
	apr     uint32 // GICC_APR0: a bit for each group priority that is active
}

func newGIC(n int) *gic {
	g := new(gic)
	for range n {
		g.cpus = append(g.cpus, &interrupts{
			private: bank{enabled: 0xffff, edge: 0xffff}, binary: minBinary,
		})
	}
	return g
}

// bank returns the state of interrupts 32*i and behind, as one CPU sees it.
func (g *gic) bank(cpu, i int) *bank {
	if i == 0 {
		return &g.cpus[cpu].private
	}
	return &g.shared[i-1]
}

// highest is the interrupt that waits for a CPU with the most favored priority, of equal ones the one with the
// lowest number; spurious when there is none (GIC, 3.3).
func (g *gic) highest(cpu int) (id int, priority uint32) {
	c := g.cpus[cpu]
	if !g.enabled || !c.enabled {
		return spurious, idle
	}
	return g.next(cpu)
}

// next is highest whatever is enabled of the controller itself.
func (g *gic) next(cpu int) (id int, priority uint32) {
	id, priority = spurious, idle
	for i := range 1 + sharedBanks {
		b := g.bank(cpu, i)
		for w := b.waiting(); w != 0; w &= w - 1 {
			n := bits.TrailingZeros32(w)
			if p := uint32(b.priority[n]); p < priority && (i == 0 || g.targets(b, n)>>cpu&1 != 0) {
				id, priority = 32*i+n, p
			}
		}
	}
	return id, priority
}

// targets are the CPUs that a shared interrupt is for. With one CPU the registers are not there (GIC, 4.3.12).
func (g *gic) targets(b *bank, n int) uint8 {
	if len(g.cpus) == 1 {
		return 1
	}
	return b.targets[n]
}

// running is the priority of what the CPU handles, idle for nothing.
func (c *interrupts) running() uint32 {
	if c.apr == 0 {
		return idle
	}
	return uint32(bits.TrailingZeros32(c.apr)) << 3
}

// group is the part of a priority that decides about preemption (GIC, 3.3.3).
func (c *interrupts) group(priority uint32) uint32 { return priority &^ (2<<c.binary - 1) }

// signalled is the interrupt for which the CPU's line is up: it is more favored than the mask says, and preempts
// what the CPU handles.
func (g *gic) signalled(cpu int) int {
	c := g.cpus[cpu]
	id, priority := g.highest(cpu)
	if id == spurious || priority >= uint32(c.mask) || c.group(priority) >= c.running() {
		return spurious
	}
	return id
}

// acknowledge is a load of GICC_IAR: the interrupt becomes active, and is pending no longer unless its level is
// up. That of a software generated one has its sender's number from bit 10 on.
func (g *gic) acknowledge(cpu int) uint32 {
	id := g.signalled(cpu)
	if id == spurious {
		return spurious
	}
	c, b, n := g.cpus[cpu], g.bank(cpu, id/32), id%32
	c.apr |= 1 << (c.group(uint32(b.priority[n])) >> 3)
	b.active |= 1 << n
	if id >= firstPrivate {
		b.latched &^= 1 << n
		return uint32(id)
	}
	from := bits.TrailingZeros8(c.senders[id])
	c.withdraw(id, 1<<from)
	return uint32(id) | uint32(from)<<10
}

// end is a store to GICC_EOIR: the priority drops to what was handled before, and the interrupt is deactivated
// unless the two are apart. What is not active here ends nothing, which the architecture leaves open.
func (g *gic) end(cpu int, v uint32) {
	c := g.cpus[cpu]
	if b, bit := g.activeBank(cpu, v); bit != 0 {
		c.apr &= c.apr - 1
		if !c.split {
			b.active &^= bit
		}
	}
}

// deactivate is a store to GICC_DIR, which does nothing unless the end of an interrupt leaves it active.
func (g *gic) deactivate(cpu int, v uint32) {
	if b, bit := g.activeBank(cpu, v); bit != 0 && g.cpus[cpu].split {
		b.active &^= bit
	}
}

// activeBank finds an active interrupt by what GICC_IAR returned: its bank and its bit there, or zero.
func (g *gic) activeBank(cpu int, v uint32) (*bank, uint32) {
	id := int(v & 0x3ff)
	if id >= interruptIDs {
		return nil, 0
	}
	b := g.bank(cpu, id/32)
	return b, b.active & (1 << (id % 32))
}

// request makes a software generated interrupt pending for its senders.
func (c *interrupts) request(id int, senders uint8) {
	c.senders[id] |= senders
	if c.senders[id] != 0 {
		c.private.latched |= 1 << id
	}
}

// withdraw takes it back.
func (c *interrupts) withdraw(id int, senders uint8) {
	c.senders[id] &^= senders
	if c.senders[id] == 0 {
		c.private.latched &^= 1 << id
	}
}

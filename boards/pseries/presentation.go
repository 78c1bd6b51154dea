package pseries

// presentation is the interrupt management area of one CPU (LoPAR, chapters Interrupt Controller and
// Logical Partitioning Option, Interrupt Support hcall()s). Priorities are favored by lower numbers.
//
// The interprocessor interrupt is the only source. So which source waits (XISR) follows from the two
// registers: it waits as long as its priority, which is in MFRR, is more favored than the CPU's. One whose
// MFRR is withdrawn before the CPU has accepted it is gone, where hardware may still present it.
type presentation struct {
	cppr uint8 // priority of what the CPU does: only what is more favored interrupts it
	mfrr uint8 // priority of the interprocessor interrupt that others ask for
}

// reset is the state in which a kernel is entered: CPPR has the most favored priority, so that nothing
// interrupts it (Interrupt Controller, requirement R1-13 of the external interrupt option).
var reset = presentation{cppr: 0, mfrr: none}

const (
	none   = 0xff // least favored: no interrupt has it
	source = 2    // of the interprocessor interrupt, from memory: LoPAR leaves the number to the platform
)

// Pending implements cpus.Interrupts.
func (c *presentation) Pending() bool { return c.mfrr < c.cppr }

// xirr is CPPR and the source that waits, 0 for none.
func (c *presentation) xirr() uint64 {
	v := uint64(c.cppr) << 24
	if c.Pending() {
		v |= source
	}
	return v
}

// accept takes the interrupt that waits. The CPU then works at its priority.
func (c *presentation) accept() uint64 {
	v := c.xirr()
	if c.Pending() {
		c.cppr = c.mfrr
	}
	return v
}

// end takes what accept has returned, and reports whether that is legal: there is such a source, and the
// priority is no more favored than that of the CPU.
func (c *presentation) end(xirr uint64) bool {
	priority := uint8(xirr >> 24)
	if xirr&0xffffff != source || priority < c.cppr {
		return false
	}
	c.cppr = priority
	return true
}

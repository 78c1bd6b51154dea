package x86

// State implements sim.KeptCPU.
func (c *CPU) State() any {
	c.Engine.Keep()
	c.led = c.lastBranch()
	return c
}

// Restored implements sim.KeptCPU: page tables and TLBs have the format that the control registers ask for.
func (c *CPU) Restored() {
	c.setTables()
	c.Renew()
}

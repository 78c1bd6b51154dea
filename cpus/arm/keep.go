package arm

// State implements sim.KeptCPU.
func (c *CPU) State() any {
	c.Engine.Keep()
	return c
}

// Restored implements sim.KeptCPU: what is watched follows from the debug registers.
func (c *CPU) Restored() {
	c.arm()
	c.Renew()
}

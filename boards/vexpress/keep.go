package vexpress

// State implements sim.KeptHardware.
func (b *motherboard) State() any { return b }

// Restored implements sim.KeptHardware. What one CPU tells the others and has not come there is not kept, so machines of
// several CPUs with such a message are refused.
func (b *motherboard) Restored() {
	events := b.m.Events()
	for _, p := range b.ports {
		for timer, id := range p.expiry {
			events.Bind(id, p.expire(timer))
		}
	}
}

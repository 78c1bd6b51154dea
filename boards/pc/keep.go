package pc

// State implements sim.KeptHardware.
func (p *legacy) State() any { return p }

// Restored implements sim.KeptHardware.
func (p *legacy) Restored() {
	events := p.m.Events()
	if t, ok := events.Bind(p.timer, nil); ok {
		events.Bind(p.timer, p.timerEvent(t, p.edge))
	}
	if t, ok := events.Bind(p.alarm, nil); ok {
		events.Bind(p.alarm, p.clockEvent(t))
	}
	for _, l := range p.apics {
		events.Bind(l.event, l.expire)
	}
	for _, f := range p.sent {
		events.Bind(f.event, p.landing(f.number))
	}
}

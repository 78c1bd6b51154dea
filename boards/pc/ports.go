package pc

// ports are the I/O ports of a legacy PC as one CPU sees them. All are a byte wide; wider accesses are some of them.
type ports struct {
	p   *legacy
	cpu int
}

// now brings the hardware to the time of an access. CPUs take turns, so that an access may come from a time before that
// of another CPU's. The order is that in which they come, and time does not go back between them.
func (b ports) now() { b.p.at = max(b.p.at, b.p.m.Time(b.cpu)) }

// Load implements cpus.Device.
func (b ports) Load(port uint64, size int) uint64 {
	if port == portPCI && size == 4 {
		return uint64(b.p.pci)
	}
	b.now()
	v := uint64(0)
	for i := range size {
		v |= uint64(b.p.load(uint16(port)+uint16(i))) << (8 * i)
	}
	return v
}

// Store implements cpus.Device. The word at cf8h is the address of PCI's configuration mechanism 1 (ACM SIGOPS at Illinois, "i386 PCI
// Config Requests"), and not the reset control register in its middle.
func (b ports) Store(port uint64, size int, v uint64) {
	if port == portPCI && size == 4 {
		b.p.pci = uint32(v) & pciAddress
		return
	}
	b.now()
	for i := range size {
		b.p.store(b.cpu, uint16(port)+uint16(i), uint8(v>>(8*i)))
	}
}

// Ports by number.
const (
	portPIC1, portPIC2     = 0x20, 0xa0
	portTimer, portControl = 0x40, 0x43
	portB                  = 0x61
	portKeyboard           = 0x64
	portCMOS               = 0x70
	portA                  = 0x92
	portSerial             = 0x3f8
	portPCI                = 0xcf8
	portReset              = 0xcf9
)

// pciAddress are the bits of PCI's address that are kept.
const pciAddress = 0x80fffffc

// load reads a port. Where nothing is, all bits are ones.
func (p *legacy) load(port uint16) uint8 {
	switch {
	case port&^1 == portPIC1, port&^1 == portPIC2:
		v := p.pics[port>>7&1].load(port & 1)
		p.pics.connect() // a poll acknowledges
		p.tell()
		return v
	case port >= portTimer && port < portControl:
		return p.counters[port-portTimer].read(p.now())
	case port == portB:
		return p.loadB()
	case port == portA:
		return p.portA | 2 // A20 is on
	case port == portCMOS+1:
		v := p.rtc.load(p.at)
		p.planClock()
		return v
	case port&^7 == portSerial:
		v := p.serial.load(port & 7)
		p.interrupt(irqSerial, p.serial.line())
		return v
	}
	return 0xff
}

// store writes a port; where nothing is, the byte is lost.
func (p *legacy) store(cpu int, port uint16, v uint8) {
	switch {
	case port&^1 == portPIC1, port&^1 == portPIC2:
		p.pics[port>>7&1].store(port&1, v)
		p.pics.connect()
		p.tell()
	case port >= portTimer && port < portControl:
		p.counters[port-portTimer].write(v, p.now())
		if port == portTimer {
			p.planTimer(p.now())
		}
	case port == portControl:
		p.control(cpu, v)
	case port == portB:
		p.portB = v & 0xf
		p.counters[speaker].setGate(v&1 != 0, p.now())
	case port == portCMOS:
		p.rtc.index = v & 0x7f
	case port == portCMOS+1:
		p.rtc.store(v, p.at)
		p.planClock()
	case port&^7 == portSerial:
		p.serial.store(port&7, v)
		p.interrupt(irqSerial, p.serial.line())
	default:
		p.storeReset(port, v)
	}
}

// storeReset writes the ports that can reset the machine (the keyboard controller's pulse of its output 0, system
// control port A, the reset control register of chipsets).
func (p *legacy) storeReset(port uint16, v uint8) {
	switch {
	case port == portKeyboard && v&0xf1 == 0xf0 && v != 0xff:
		p.m.End("reset by the keyboard controller (port 64h)")
	case port == portA && v&1 != 0:
		p.m.End("reset by port 92h")
	case port == portA:
		p.portA = v &^ 1
	case port == portReset && v&4 != 0:
		p.m.End("reset by port cf9h")
	}
}

// loadB is port 61h: gate and speaker, the refresh, which toggles every 15 us, and the output of counter 2.
func (p *legacy) loadB() uint8 {
	const refresh = 18 // counts, as firmware programs counter 1
	v := p.portB | uint8(p.now()/refresh&1)<<4
	if p.counters[speaker].out(p.now()) {
		v |= 1 << 5
	}
	return v
}

// control is the timer's control register: a mode for a counter, a latch, or the read-back command for several.
func (p *legacy) control(cpu int, v uint8) {
	which := v >> 6
	if which == 3 {
		for i := range p.counters {
			if v>>(i+1)&1 != 0 {
				p.counters[i].hold(v&0x20 == 0, v&0x10 == 0, p.now())
			}
		}
		return
	}
	c := &p.counters[which]
	if v>>4&3 == 0 {
		c.hold(true, false, p.now())
		return
	}
	if err := c.control(v); err != nil {
		p.m.Fail(cpu, err)
		return
	}
	if which == 0 {
		p.planTimer(p.now())
	}
}

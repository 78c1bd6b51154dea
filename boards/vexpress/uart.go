package vexpress

// uart is the serial port, which transmits and receives nothing (PL011, 3.2).
type uart struct {
	kept [registersKept]uint32
	sent bool // a byte has been sent since software cleared the interrupt of that
}

// Registers that keep what is stored, and no more.
const (
	divisor = iota
	fraction
	line
	control
	levels
	mask
	registersKept
)

// bootUART is the port as the boot monitor leaves it: enabled in both directions.
var bootUART = uart{kept: [registersKept]uint32{control: 0x301, levels: 0x12}}

const (
	transmitting = 0x101  // UARTCR: the port and its transmitter are enabled
	sentBit      = 1 << 5 // of the interrupt registers
	fifosEmpty   = 1<<7 | 1<<4
)

// uartRegisters lists the registers of the port (PL011, table 3-1). They have 16 bits at most, and drivers use halfwords.
var uartRegisters = halves([]register{
	{from: 0x00, bytes: 4, single: true, store: (*port).transmit},
	{from: 0x18, bytes: 4, load: constant(fifosEmpty)},
	kept(0x24, divisor, 0xffff),
	kept(0x28, fraction, 0x3f),
	kept(0x2c, line, 0xff),
	kept(0x30, control, 0xff87),
	kept(0x34, levels, 0x3f),
	kept(0x38, mask, 0x7ff),
	{from: 0x3c, bytes: 4, load: func(p *port, _ int) uint32 { return p.b.uart.raised() }},
	{from: 0x40, bytes: 4, load: func(p *port, _ int) uint32 { return p.b.uart.raised() & p.b.uart.kept[mask] }},
	{from: 0x44, bytes: 4, store: func(p *port, _ int, v, _ uint32) {
		p.b.uart.sent = p.b.uart.sent && v&sentBit == 0
		p.consoleLine()
	}},
	identification(0xfe0, 0x11, 0x10, 0x14, 0, 0x0d, 0xf0, 0x05, 0xb1),
})

// halves are rows whose registers can be accessed by halfwords, too.
func halves(rows []register) []register {
	for i := range rows {
		rows[i].half = true
	}
	return rows
}

func kept(from uint64, i int, exist uint32) register {
	return register{
		from: from, bytes: 4, load: func(p *port, _ int) uint32 { return p.b.uart.kept[i] },
		store: func(p *port, _ int, v, mask uint32) {
			p.b.uart.kept[i] = p.b.uart.kept[i]&^mask | v&exist
			p.consoleLine()
		},
	}
}

// raised is UARTRIS.
func (u *uart) raised() uint32 {
	if u.sent {
		return sentBit
	}
	return 0
}

// transmit is a store to UARTDR.
func (p *port) transmit(_ int, v, _ uint32) {
	u := &p.b.uart
	if u.kept[control]&transmitting == transmitting {
		p.b.m.Print(string([]byte{uint8(v)}))
		u.sent = true
		p.consoleLine()
	}
}

// consoleLine gives the interrupt controller the port's line.
func (p *port) consoleLine() {
	u, b := &p.b.uart, p.b.gic.bank(p.cpu, consoleID/32)
	before := b.level
	b.input(consoleID%32, u.raised()&u.kept[mask] != 0)
	if b.level != before {
		p.changed()
	}
}

package pc

// uart is a 16550A serial port (National Semiconductor, PC16550D datasheet, TL/C/8652, of 1995). What is at the
// other end takes bytes at once and sends none, so that the line's speed is kept and costs no time. In
// loopback what is sent comes back.
type uart struct {
	send     func(b byte) `state:"-"`
	divisor  uint16
	ier      uint8
	lcr, mcr uint8
	scratch  uint8
	fifo     bool
	sent     bool   // the transmitter's interrupt: it is empty, and nobody has been told
	received []byte // in loopback
	overrun  bool
	delta    uint8 // changes of the modem's lines since they were read
}

// Offsets of registers. The first two are the divisor while lcrDivisor is set.
const (
	uartData = iota
	uartIER
	uartIIR // FCR when written
	uartLCR
	uartMCR
	uartLSR
	uartMSR
	uartScratch
)

const (
	lcrDivisor = 0x80
	mcrOut2    = 0x08 // lets the interrupt out
	mcrLoop    = 0x10
	lsrReady   = 0x01
	lsrOverrun = 0x02
	lsrEmpty   = 0x60 // the holding register and the shift register
	msrLines   = 0xb0 // the other end is there and ready: DCD, DSR, CTS
	fifoDepth  = 16
)

// load reads a register.
func (u *uart) load(off uint16) uint8 {
	divisor := u.lcr&lcrDivisor != 0
	switch {
	case off == uartData && divisor:
		return uint8(u.divisor)
	case off == uartIER && divisor:
		return uint8(u.divisor >> 8)
	}
	switch off {
	case uartData:
		return u.receive()
	case uartIER:
		return u.ier
	case uartIIR:
		return u.identify()
	case uartLCR:
		return u.lcr
	case uartMCR:
		return u.mcr
	case uartLSR:
		return u.lineStatus()
	case uartMSR:
		v := u.modem() | u.delta
		u.delta = 0
		return v
	}
	return u.scratch
}

// store writes a register. The upper half of IER does not exist.
func (u *uart) store(off uint16, v uint8) {
	divisor := u.lcr&lcrDivisor != 0
	switch {
	case off == uartData && divisor:
		u.divisor = u.divisor&^0xff | uint16(v)
	case off == uartData:
		u.transmit(v)
	case off == uartIER && divisor:
		u.divisor = u.divisor&0xff | uint16(v)<<8
	case off == uartIER:
		u.sent = u.sent || v&^u.ier&2 != 0 // the transmitter is empty always
		u.ier = v & 0xf
	case off == uartIIR:
		if u.fifo = v&1 != 0; !u.fifo || v&2 != 0 {
			u.received = nil
		}
	case off == uartLCR:
		u.lcr = v
	case off == uartMCR:
		before := u.modem()
		u.mcr = v & 0x1f
		u.changed(before)
	case off == uartScratch:
		u.scratch = v
	}
}

// modem is the upper half of MSR: in loopback the outputs RTS, DTR, OUT1 and OUT2.
func (u *uart) modem() uint8 {
	if u.mcr&mcrLoop == 0 {
		return msrLines
	}
	m := u.mcr
	return m&0x0c<<4 | m&1<<5 | m&2<<3
}

// changed notes changes of the modem's lines. The ring indicator counts when it falls.
func (u *uart) changed(before uint8) {
	x := before ^ u.modem()
	if x&0x40 != 0 && before&0x40 == 0 {
		x &^= 0x40
	}
	u.delta |= x >> 4
}

func (u *uart) transmit(b uint8) {
	u.sent = true
	switch {
	case u.mcr&mcrLoop == 0:
		u.send(b)
	case len(u.received) == u.depth():
		u.overrun = true
	default:
		u.received = append(u.received, b)
	}
}

func (u *uart) depth() int {
	if u.fifo {
		return fifoDepth
	}
	return 1
}

func (u *uart) receive() uint8 {
	if len(u.received) == 0 {
		return 0
	}
	v := u.received[0]
	u.received = u.received[1:]
	return v
}

// lineStatus reads LSR, which forgets errors.
func (u *uart) lineStatus() uint8 {
	v := uint8(lsrEmpty)
	if len(u.received) > 0 {
		v |= lsrReady
	}
	if u.overrun {
		v |= lsrOverrun
		u.overrun = false
	}
	return v
}

// cause is the interrupt with the highest priority, as IIR shows it; 1 is none (table IV).
func (u *uart) cause() uint8 {
	switch {
	case u.ier&4 != 0 && u.overrun:
		return 6
	case u.ier&1 != 0 && len(u.received) > 0:
		return 4
	case u.ier&2 != 0 && u.sent:
		return 2
	case u.ier&8 != 0 && u.delta != 0:
		return 0
	}
	return 1
}

// identify reads IIR, which ends the transmitter's interrupt if it is the one.
func (u *uart) identify() uint8 {
	v := u.cause()
	if v == 2 {
		u.sent = false
	}
	if u.fifo {
		v |= 0xc0
	}
	return v
}

// line is the level of the interrupt.
func (u *uart) line() bool {
	return u.cause() != 1 && u.mcr&mcrOut2 != 0 && u.mcr&mcrLoop == 0
}

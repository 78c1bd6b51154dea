package vexpress

// systemRegisters lists the registers of the motherboard (V2M-P1, Status and system control registers): its identification,
// the flags, of which one register sets bits and the next clears them, the tile's identification, and the interface to the
// configuration controller.
var systemRegisters = []register{
	{from: 0x00, bytes: 4, load: constant(0x1190f500)},
	{
		from: 0x30, bytes: 4, load: func(p *port, _ int) uint32 { return p.b.flags },
		store: func(p *port, _ int, v, _ uint32) { p.b.flags |= v; p.changed() },
	},
	{from: 0x34, bytes: 4, store: func(p *port, _ int, v, _ uint32) { p.b.flags &^= v }},
	{from: 0x84, bytes: 4, load: constant(0x14000249)}, // TC2 is HBI-0249, as its device tree says; the upper bits, of the core, are a prior
	{
		from: 0xa0, bytes: 4, load: func(p *port, _ int) uint32 { return p.b.data },
		store: func(p *port, _ int, v, _ uint32) { p.b.data = v },
	},
	{
		from: 0xa4, bytes: 4, load: func(p *port, _ int) uint32 { return p.b.control },
		store: func(p *port, _ int, v, _ uint32) { p.b.configure(v) },
	},
	{
		from: 0xa8, bytes: 4, load: func(p *port, _ int) uint32 { return p.b.status },
		store: func(p *port, _ int, v, _ uint32) { p.b.status = v & (configDone | configFailed) },
	},
}

// controller holds the registers SYS_CFGDATA, SYS_CFGCTRL and SYS_CFGSTAT.
type controller struct{ data, control, status uint32 }

// Bits of SYS_CFGCTRL and SYS_CFGSTAT. Behind them are a function, a site (the motherboard is 0), a position, and the
// number of a device.
const (
	configStart    = 1 << 31
	configWrite    = 1 << 30
	configFunction = 20
	configPlace    = 1<<configFunction - 1

	configDone   = 1 << 0
	configFailed = 1 << 1
)

// Functions of the controller.
const (
	functionOscillator = 1
	functionShutdown   = 8
	functionReboot     = 9
)

// oscillators are the clocks of the motherboard, in Hz: of the memory bus, of the screen, and of the serial ports.
var oscillators = [...]uint32{50_000_000, 23_750_000, 24_000_000}

// Reasons of sim.Machine.Ended.
const (
	SwitchedOff = "switched off"
	Restarted   = "restarted"
)

// configure is a store to SYS_CFGCTRL, which is carried out at once. What the controller has not, fails.
func (b *motherboard) configure(v uint32) {
	b.control = v &^ configStart
	if v&configStart == 0 {
		return
	}
	b.status = configDone
	place := v & configPlace
	switch write := v&configWrite != 0; v >> configFunction & 0x3f {
	case functionShutdown:
		b.end(write, SwitchedOff)
	case functionReboot:
		b.end(write, Restarted)
	case functionOscillator:
		if write || place >= uint32(len(oscillators)) {
			b.status |= configFailed
			return
		}
		b.data = oscillators[place]
	default:
		b.status |= configFailed
	}
}

// end ends the run.
func (b *motherboard) end(write bool, reason string) {
	if !write {
		b.status |= configFailed
		return
	}
	b.m.End(reason)
}

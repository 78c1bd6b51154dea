package pc

// DeliveryMode says what an interprocessor interrupt does to its targets (SDM vol. 3, 10.6.1).
type DeliveryMode uint8

// Delivery modes; 3 and 7 are reserved and sent nowhere.
const (
	DeliverFixed   DeliveryMode = 0
	DeliverLowest  DeliveryMode = 1
	DeliverSMI     DeliveryMode = 2
	DeliverNMI     DeliveryMode = 4
	DeliverINIT    DeliveryMode = 5
	DeliverStartup DeliveryMode = 6
)

// String names the mode as events do.
func (d DeliveryMode) String() string {
	names := [...]string{"fixed", "lowest", "smi", "reserved", "nmi", "init", "startup", "extint"}
	return names[d&7]
}

// Shorthand names the targets of an interprocessor interrupt without a destination.
type Shorthand uint8

// Shorthands.
const (
	ToDestination Shorthand = iota
	ToSelf
	ToAll
	ToOthers
)

// icrWritable are the bits of the low interrupt command register that software sets; delivery
// status is always idle here.
const icrWritable = 0x000ccfff

// IPI is an interprocessor interrupt on its way.
type IPI struct {
	From      uint8 // physical APIC identifier of the sender
	Mode      DeliveryMode
	Vector    uint8 // of a fixed interrupt; for start-up the page that execution begins in
	Shorthand Shorthand
	Level     bool // triggered by level, as some of an I/O APIC are
	Logical   bool // Dest is a set of logical destinations, not an identifier
	Dest      uint8
}

// sendIPI does what the interrupt command register says.
func (l *LAPIC) sendIPI() {
	r := *l.reg(regICRLow)
	ipi := IPI{
		From: l.cfg.ID, Mode: DeliveryMode(r >> 8 & 7), Vector: uint8(r),
		Shorthand: Shorthand(r >> 18 & 3), Logical: r>>11&1 != 0, Dest: uint8(*l.reg(regICRHigh) >> 24),
	}
	const level, trigger = 1 << 14, 1 << 15
	switch ipi.Mode {
	case DeliverFixed, DeliverLowest:
		if ipi.Vector < firstUserVector {
			l.fail(errSendVector)
			return
		}
	case DeliverINIT:
		if r&level == 0 && r&trigger != 0 {
			return // INIT level de-assert: nothing since the Pentium 4
		}
	case DeliverSMI, DeliverNMI, DeliverStartup:
	default:
		return
	}
	switch {
	case l.cfg.Send != nil:
		l.cfg.Send(ipi)
	case l.Selects(ipi):
		l.Accept(ipi)
	}
}

// Selects tells whether this APIC is a target of an interprocessor interrupt.
func (l *LAPIC) Selects(ipi IPI) bool {
	switch ipi.Shorthand {
	case ToSelf:
		return l.cfg.ID == ipi.From
	case ToAll:
		return true
	case ToOthers:
		return l.cfg.ID != ipi.From
	}
	if ipi.Dest == 0xff {
		return true
	}
	if !ipi.Logical {
		return ipi.Dest == l.cfg.ID
	}
	logical := uint8(*l.reg(regLDR) >> 24)
	switch *l.reg(regDFR) >> 28 {
	case 0xf: // flat: a bit each
		return logical&ipi.Dest != 0
	case 0: // cluster in the upper half, a bit each in the lower
		return logical>>4 == ipi.Dest>>4 && logical&ipi.Dest&0xf != 0
	}
	return false
}

// Accept takes an interprocessor interrupt: fixed ones become pending, the others signal the CPU.
func (l *LAPIC) Accept(ipi IPI) {
	switch {
	case ipi.Mode == DeliverFixed || ipi.Mode == DeliverLowest:
		l.requestBy(ipi.Vector, ipi.Level)
	case l.cfg.Signal != nil:
		l.cfg.Signal(ipi.Mode, ipi.Vector)
	}
}

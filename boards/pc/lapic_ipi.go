package pc

// deliveryMode says what an interprocessor interrupt does to its targets (SDM vol. 3, 10.6.1).
type deliveryMode uint8

// Delivery modes; 3 and 7 are reserved and sent nowhere.
const (
	deliverFixed   deliveryMode = 0
	deliverLowest  deliveryMode = 1
	deliverSMI     deliveryMode = 2
	deliverNMI     deliveryMode = 4
	deliverINIT    deliveryMode = 5
	deliverStartup deliveryMode = 6
)

// String names the mode as events do.
func (d deliveryMode) String() string {
	names := [...]string{"fixed", "lowest", "smi", "reserved", "nmi", "init", "startup", "extint"}
	return names[d&7]
}

// shorthand names the targets of an interprocessor interrupt without a destination.
type shorthand uint8

// Shorthands.
const (
	toDestination shorthand = iota
	toItself
	toAll
	toOthers
)

// icrWritable are the bits of the low interrupt command register that software sets; delivery
// status is always idle here.
const icrWritable = 0x000ccfff

// message is an interprocessor interrupt on its way.
type message struct {
	From      uint8 // physical APIC identifier of the sender
	Mode      deliveryMode
	Vector    uint8 // of a fixed interrupt; for start-up the page that execution begins in
	Shorthand shorthand
	Level     bool // triggered by level, as some of an I/O APIC are
	Logical   bool // Dest is a set of logical destinations, not an identifier
	Dest      uint8
}

// sendIPI does what the interrupt command register says.
func (l *lapic) sendIPI() {
	r := *l.reg(regICRLow)
	ipi := message{
		From: l.cfg.ID, Mode: deliveryMode(r >> 8 & 7), Vector: uint8(r),
		Shorthand: shorthand(r >> 18 & 3), Logical: r>>11&1 != 0, Dest: uint8(*l.reg(regICRHigh) >> 24),
	}
	const level, trigger = 1 << 14, 1 << 15
	switch ipi.Mode {
	case deliverFixed, deliverLowest:
		if ipi.Vector < firstUserVector {
			l.fail(errSendVector)
			return
		}
	case deliverINIT:
		if r&level == 0 && r&trigger != 0 {
			return // INIT level de-assert: nothing since the Pentium 4
		}
	case deliverSMI, deliverNMI, deliverStartup:
	default:
		return
	}
	switch {
	case l.cfg.Send != nil:
		l.cfg.Send(ipi)
	case l.selects(ipi):
		l.accept(ipi)
	}
}

// selects tells whether this APIC is a target of an interprocessor interrupt.
func (l *lapic) selects(ipi message) bool {
	switch ipi.Shorthand {
	case toItself:
		return l.cfg.ID == ipi.From
	case toAll:
		return true
	case toOthers:
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

// accept takes an interprocessor interrupt: fixed ones become pending, the others signal the CPU.
func (l *lapic) accept(ipi message) {
	switch {
	case ipi.Mode == deliverFixed || ipi.Mode == deliverLowest:
		l.requestBy(ipi.Vector, ipi.Level)
	case l.cfg.Signal != nil:
		l.cfg.Signal(ipi.Mode, ipi.Vector)
	}
}

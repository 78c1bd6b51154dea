package pc

// ioapic is the I/O APIC of a PC (Intel, 82093AA datasheet, 290566-001, of 1996): it gives 24 inputs to local APICs by
// a table with an entry for each. Left out is the arbitration among several of its kind.
type ioapic struct {
	send func(e entry) `state:"-"`

	index uint8 // the register that the window shows
	id    uint8
	lines uint32 // levels of the inputs
	table [inputs]entry
}

// entry is an entry of the redirection table (3.2.4).
type entry uint64

const (
	inputs = 24

	// Offsets into the page of registers.
	ioSelect = 0x00
	ioWindow = 0x10

	// Registers behind the window.
	ioID      = 0x00
	ioVersion = 0x01
	ioArb     = 0x02
	ioTable   = 0x10

	ioapicVersion = 0x11 | (inputs-1)<<16

	entryLogical  = 1 << 11
	entryPending  = 1 << 12 // read only, and idle always: interrupts are delivered at once
	entryLow      = 1 << 13
	entryRemote   = 1 << 14 // a level interrupt that is not ended yet
	entryLevel    = 1 << 15
	entryMasked   = 1 << 16
	entryReadOnly = entryPending | entryRemote
	entryKept     = 0xff00_0000_0001_ffff
)

// ioapicBase is the physical address of the registers.
const ioapicBase = 0xfec00000

func (e entry) vector() uint8      { return uint8(e) }
func (e entry) mode() deliveryMode { return deliveryMode(e >> 8 & 7) }
func (e entry) logical() bool      { return e&entryLogical != 0 }
func (e entry) level() bool        { return e&entryLevel != 0 }
func (e entry) dest() uint8        { return uint8(e >> 56) }

// newIOAPIC is an I/O APIC after reset: all inputs masked.
func newIOAPIC(id uint8, send func(entry)) *ioapic {
	p := &ioapic{id: id, send: send}
	for i := range p.table {
		p.table[i] = entryMasked
	}
	return p
}

// load reads a 32-bit register of the page.
func (p *ioapic) load(off uint64) uint32 {
	switch off {
	case ioSelect:
		return uint32(p.index)
	case ioWindow:
		return p.register()
	}
	return 0
}

// register returns what the window shows.
func (p *ioapic) register() uint32 {
	switch n := p.index; {
	case n == ioID, n == ioArb:
		return uint32(p.id) << 24
	case n == ioVersion:
		return ioapicVersion
	case n >= ioTable && n < ioTable+2*inputs:
		return uint32(p.table[(n-ioTable)/2] >> (32 * (n % 2)))
	}
	return 0
}

// store writes a 32-bit register of the page.
func (p *ioapic) store(off uint64, v uint32) {
	switch {
	case off == ioSelect:
		p.index = uint8(v)
	case off != ioWindow:
	case p.index == ioID:
		p.id = uint8(v >> 24 & 0xf)
	case p.index >= ioTable && p.index < ioTable+2*inputs:
		p.storeEntry(int(p.index-ioTable)/2, p.index%2 != 0, v)
	}
}

// storeEntry writes half of an entry. An input whose interrupts are edges forgets that a level was not ended.
func (p *ioapic) storeEntry(i int, high bool, v uint32) {
	e := &p.table[i]
	next := *e&^0xffffffff | entry(v)
	if high {
		next = *e&0xffffffff | entry(v)<<32
	}
	*e = next&entryKept&^entryReadOnly | *e&entryRemote
	if !e.level() {
		*e &^= entryRemote
		return
	}
	p.look(i)
}

// set gives an input its level. An edge that comes while it is masked is lost.
func (p *ioapic) set(i uint8, up bool) {
	bit := uint32(1) << i
	was := p.lines&bit != 0
	if p.lines &^= bit; up {
		p.lines |= bit
	}
	switch e := p.table[i]; {
	case e.level():
		p.look(int(i))
	case up != was && p.active(int(i)) && e&entryMasked == 0:
		p.send(e)
	}
}

// active reports whether an input asks for an interrupt: with its polarity turned over, while the line is down.
func (p *ioapic) active(i int) bool { return (p.lines>>i&1 != 0) != (p.table[i]&entryLow != 0) }

// look sends the interrupt of an input by level that is active, masked by nothing, and not on its way.
func (p *ioapic) look(i int) {
	e := &p.table[i]
	if p.active(i) && *e&(entryMasked|entryRemote) == 0 {
		*e |= entryRemote
		p.send(*e)
	}
}

// ended is told that a local APIC has ended an interrupt by level. An input that is still active asks again.
func (p *ioapic) ended(vector uint8) {
	for i := range p.table {
		if e := &p.table[i]; *e&entryRemote != 0 && e.vector() == vector {
			*e &^= entryRemote
			p.look(i)
		}
	}
}

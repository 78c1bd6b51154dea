package pc

import "math/bits"

// pic is one of the two 8259A interrupt controllers of a PC (Intel, 8259A datasheet, 231468-003, of 1988): edge or
// level inputs, rotating priorities, all ends of interrupts, special masks and polling. MCS-80 mode and
// buffering, which no PC has, only keep their bits.
type pic struct {
	lines, irr, isr, imr uint8
	base                 uint8 // vector of input 0
	lowest               uint8 // the input of the lowest priority
	level                bool  // inputs are looked at by level
	single, four         bool  // ICW1: no third word, a fourth word
	word                 uint8 // the initialization word that comes next; 0 for none
	nested               bool  // special fully nested mode
	auto, rotate         bool  // interrupts end with their acknowledge, and rotate then
	special              bool  // special mask mode
	service, poll        bool  // what the next read gives
}

// cascade is the input of the first controller that the second one is connected to.
const cascade = 2

// bootPIC is a controller as firmware leaves it: initialized with a vector, all inputs masked.
func bootPIC(base uint8) pic { return pic{base: base, imr: 0xff, lowest: 7} }

// set gives an input its level. A request that is not held until its acknowledge is gone, and the
// acknowledge finds none (page 5, "Interrupt sequence").
func (p *pic) set(input uint8, up bool) {
	bit := uint8(1) << input
	switch {
	case !up:
		p.lines &^= bit
		p.irr &^= bit
	case p.level, p.lines&bit == 0:
		p.irr |= bit
	}
	if up {
		p.lines |= bit
	}
}

// order is how many priorities are before that of the first of a set of inputs, 8 for none.
func (p *pic) order(set uint8) int {
	return bits.TrailingZeros8(bits.RotateLeft8(set, -int(p.lowest+1)))
}

// input is the inverse of order.
func (p *pic) input(order int) uint8 { return (uint8(order) + p.lowest + 1) & 7 }

// request is the input that asks for service, above whatever is in service.
func (p *pic) request() (input uint8, ok bool) {
	busy := p.isr
	if p.special {
		busy &^= p.imr
	}
	if p.nested {
		busy &^= 1 << cascade
	}
	r := p.order(p.irr &^ p.imr)
	return p.input(r), r < p.order(busy)
}

// acknowledge takes the request into service. Without one it is input 7, which then is not in service.
func (p *pic) acknowledge() (input uint8, ok bool) {
	input, ok = p.request()
	if !ok {
		return 7, false
	}
	if !p.level {
		p.irr &^= 1 << input
	}
	switch {
	case !p.auto:
		p.isr |= 1 << input
	case p.rotate:
		p.lowest = input
	}
	return input, true
}

// load reads the port at offset 0 or 1.
func (p *pic) load(off uint16) uint8 {
	switch {
	case p.poll:
		p.poll = false
		if input, ok := p.acknowledge(); ok {
			return 0x80 | input
		}
		return 0
	case off == 1:
		return p.imr
	case p.service:
		return p.isr
	}
	return p.irr
}

// store writes the port at offset 0 or 1.
func (p *pic) store(off uint16, v uint8) {
	switch {
	case off == 0 && v&0x10 != 0:
		p.begin(v)
	case off == 0 && v&0x08 != 0:
		p.command3(v)
	case off == 0:
		p.command2(v)
	case p.word != 0:
		p.initialize(v)
	default:
		p.imr = v
	}
}

// begin is ICW1. Inputs that are up must fall and rise again to make a request.
func (p *pic) begin(v uint8) {
	*p = pic{lines: p.lines, base: p.base, lowest: 7, word: 2, level: v&8 != 0, single: v&2 != 0, four: v&1 != 0}
	if p.level {
		p.irr = p.lines
	}
}

// initialize is ICW2 to ICW4. The third says how the two are connected, which is as on any PC.
func (p *pic) initialize(v uint8) {
	switch p.word {
	case 2:
		p.base = v &^ 7
		p.word = 3
		if p.single {
			p.word = 4
		}
	case 3:
		p.word = 4
	case 4:
		p.nested, p.auto, p.word = v&0x10 != 0, v&2 != 0, 0
	}
	if p.word == 4 && !p.four {
		p.word = 0
	}
}

// command2 is OCW2: ends of interrupts and priorities. Bit 7 rotates, bit 6 names an input, bit 5 ends.
func (p *pic) command2(v uint8) {
	input := v & 7
	if v&0x40 == 0 {
		input = p.input(p.order(p.isr))
	}
	switch v >> 5 {
	case 0, 4:
		p.rotate = v&0x80 != 0
	case 6:
		p.lowest = input
	case 1, 3, 5, 7:
		if p.isr == 0 && v&0x40 == 0 {
			return
		}
		p.isr &^= 1 << input
		if v&0x80 != 0 {
			p.lowest = input
		}
	}
}

// command3 is OCW3: special mask, poll, and which register reads show.
func (p *pic) command3(v uint8) {
	if v&0x40 != 0 {
		p.special = v&0x20 != 0
	}
	p.poll = v&4 != 0
	if v&2 != 0 && !p.poll {
		p.service = v&1 != 0
	}
}

// pics are the two controllers.
type pics [2]pic

// set gives one of the sixteen inputs of a PC its level.
func (p *pics) set(irq uint8, up bool) {
	p[irq>>3].set(irq&7, up)
	p.connect()
}

// connect gives the second controller's output to the first.
func (p *pics) connect() {
	_, up := p[1].request()
	p[0].set(cascade, up)
}

// pending reports whether the line to the CPUs is up.
func (p *pics) pending() bool {
	_, ok := p[0].request()
	return ok
}

// next is the vector that acknowledge would give.
func (p *pics) next() uint8 {
	copied := *p
	return copied.acknowledge()
}

// acknowledge takes the request into service and gives its vector.
func (p *pics) acknowledge() uint8 {
	input, ok := p[0].acknowledge()
	which := 0
	if ok && input == cascade {
		which = 1
		input, _ = p[1].acknowledge()
		p.connect()
	}
	return p[which].base + input
}

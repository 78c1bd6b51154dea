package arm

// unknown is a use of the stack that depends on a register.
const unknown = -1

// below is how many bytes below the stack pointer an instruction stores to, or unknown. Only stores count that
// name the stack pointer as their base, as nobody can tell where others lead.
func (w word) below() int {
	if w.n() != sp || !w.before() && w.field(25, 3) != 4 {
		return 0
	}
	r := find(w)
	if r == nil {
		return 0
	}
	switch {
	case r.handler == block && !w.load():
		return w.blockBelow()
	case r.handler == storePair, r.handler == store && w.field(25, 3) == 0:
		return w.offsetBelow(w.bit(22), w.field(8, 4)<<4|w.field(0, 4))
	case r.handler == store:
		return w.offsetBelow(!w.bit(25), w.field(0, 12))
	}
	return 0
}

// offsetBelow is the distance of an address in front of the base. What is stored lies behind the address.
func (w word) offsetBelow(constant bool, distance uint32) int {
	switch {
	case !constant:
		return unknown
	case w.up():
		return 0
	}
	return int(distance)
}

// blockBelow counts the words of a block that goes down. One that stores before it goes down begins at the stack
// pointer itself.
func (w word) blockBelow() int {
	switch {
	case w.up():
		return 0
	case w.before():
		return 4 * w.count()
	}
	return 4 * (w.count() - 1)
}

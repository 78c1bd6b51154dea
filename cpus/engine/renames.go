package engine

// loadPipes is loaded with a pipe, and returns the time of dispatch behind the load too. A load that was renamed as a copy of a
// store's data has no latency.
func (c *Core) loadPipes(op *Op, u *pipePrice, d ticks, a *access) (_, ready ticks) {
	at := c.takeLoad(max(d, c.ready[op.Base&regMask], c.ready[op.Index&regMask]), a)
	f := &c.stores[a.load&(forwards-1)]
	if u.renames && a.match&foundKind == forwarded && f.commit > at && c.renamesFrom(op, f) {
		a.match, a.miss = noStore, 0
		return d, max(d, f.data)
	}
	if a.match != noStore && at < f.address && c.conflicts != nil {
		d, at = c.conflicted(op, d, at, a)
	}
	if op.Flags&Complex != 0 {
		at += c.pipes.complex
	}
	if a.miss != 0 && len(c.pipes.misses) != 0 {
		a.miss = c.pipes.missing(at, a.miss) - at
	}
	return d, c.loadedAt(op, at, a)
}

// placeName names the registers of an address. The zero value names none.
type placeName uint16

// pointer is the register that an operand's base is. What moves the stack pointer has stackAddress, which holds another instruction's
// until it is scheduled.
func (c *Core) pointer(base uint8) uint8 {
	if base == stackAddress {
		return c.stack
	}
	return base
}

// nameOf names the registers of an operand. The stack pointer has one name, wherever pushes and pops have moved it: the core adds
// up by how much.
func (c *Core) nameOf(op *Op) placeName {
	n := 1<<15 | placeName(c.pointer(op.Base)&regMask)<<7
	if op.Flags&Indexed != 0 {
		n |= placeName(op.Index&regMask)<<1 | 1
	}
	return n
}

// registers returns the registers of a name, a bit each.
func (n placeName) registers() uint64 {
	set := uint64(1) << (n >> 7 & regMask)
	if n&1 != 0 {
		set |= 1 << (n >> 1 & regMask)
	}
	return set
}

// name notes the registers of a store's address.
func (c *Core) name(op *Op, s *storeTimes) {
	if c.pipes.renamesSame {
		s.place = c.nameOf(op)
		c.pipes.naming |= s.place.registers() &^ (1 << (c.stack & regMask))
	}
}

// changeNames has stores no longer be found by a register that an instruction sets.
func (c *Core) changeNames(op *Op) {
	set := op.results() & c.pipes.naming
	if set == 0 {
		return
	}
	c.pipes.naming &^= set
	for i := range c.stores {
		if s := &c.stores[i]; s.place != 0 && s.place.registers()&set != 0 {
			s.place = 0
		}
	}
}

// renamesFrom reports whether a load of a class of loads that may be renamed is, from the store that it finds.
func (c *Core) renamesFrom(op *Op, f *storeTimes) bool {
	switch p := c.pipes; {
	case p.renamesSame:
		return f.place != 0 && f.place == c.nameOf(op)
	case op.Flags&Indexed != 0:
		return false
	default:
		return !p.renamesStack || op.Base == c.stack || op.Base == stackAddress
	}
}

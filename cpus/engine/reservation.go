package engine

// reservation is the operand of the last load exclusive (ARM ARM, A3.4: the local monitor), or load and reserve (Power ISA, Book II,
// Load and Reserve and Store Conditional Instructions).
type reservation struct {
	pa   uint64
	size uint8 // bytes; zero when there is none
}

// HasReservations says of an instruction set that a conditional store of one of several CPUs needs its line. So what caches hold
// decides what code does, and they go on without a cost model.
func (c *Core) HasReservations() { c.decisive = c.decisive || c.Bus.Directory != nil }

// Reserve begins a reservation of an operand that was loaded.
func (c *Core) Reserve(va uint64, size uint8) {
	if pa, ok := c.translator.DataAddress(va, false); ok {
		c.reserve = reservation{pa, size}
	}
}

// DropReservation ends it.
func (c *Core) DropReservation() { c.reserve = reservation{} }

// Reserved reports whether a conditional store is to be made, and ends the reservation. Without one the address is not translated. ok
// is false where the address is refused.
func (c *Core) Reserved(va uint64, size uint8) (held, ok bool) {
	if c.reserve.size != 0 {
		pa, ok := c.translator.DataAddress(va, true)
		if !ok {
			return false, false
		}
		held = c.reserve == reservation{pa, size}
		if held && c.Bus.Directory != nil {
			held, _, _ = c.Cached(c.line(pa))
		}
	}
	c.DropReservation()
	return held, true
}

// loseReservation ends a reservation in lines that another CPU writes.
func (c *Core) loseReservation(pa uint64, n int) {
	if line := c.line(c.reserve.pa); c.line(pa) <= line && line <= c.line(pa+uint64(n)-1) {
		c.DropReservation()
	}
}

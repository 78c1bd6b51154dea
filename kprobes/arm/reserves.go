package arm

import "kprobesim/kprobes"

// reserves recognizes ldrex and strex of each width (ARM ARM, A5.2.10, synchronization primitives).
func reserves(code []byte) kprobes.Reservation {
	if len(code) < wordSize {
		return kprobes.NoReservation
	}
	w := wordOf(code)
	switch {
	case !w.conditional() || w.field(23, 5) != 3 || w.field(4, 8) != 0xf9:
		return kprobes.NoReservation
	case w.load():
		return kprobes.ReservingLoad
	}
	return kprobes.ConditionalStore
}

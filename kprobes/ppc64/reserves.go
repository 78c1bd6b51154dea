package ppc64

import "kprobesim/kprobes"

// Extended opcodes behind opX of the pairs for words and doublewords (book II, section 3.3.2).
const (
	xoLWARX = 20
	xoLDARX = 84
	xoSTWCX = 150
	xoSTDCX = 214
)

// reserves recognizes lwarx, ldarx, stwcx. and stdcx.
func reserves(code []byte) kprobes.Reservation {
	if len(code) < wordSize {
		return kprobes.NoReservation
	}
	w := wordOf(code)
	if w.opcode() != opX {
		return kprobes.NoReservation
	}
	switch w.xo() {
	case xoLWARX, xoLDARX:
		return kprobes.ReservingLoad
	case xoSTWCX, xoSTDCX:
		return kprobes.ConditionalStore
	}
	return kprobes.NoReservation
}

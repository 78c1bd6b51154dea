package arm

import (
	"testing"

	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// TestReserves names what reserves a word, and what stores to it on condition.
func TestReserves(t *testing.T) {
	for w, want := range map[word]kprobes.Reservation{
		0xe1912f9f: kprobes.ReservingLoad,    // ldrex r2, [r1]
		0x01912f9f: kprobes.ReservingLoad,    // ldrexeq
		0xe1b12f9f: kprobes.ReservingLoad,    // ldrexd
		0xe1d12f9f: kprobes.ReservingLoad,    // ldrexb
		0xe1f12f9f: kprobes.ReservingLoad,    // ldrexh
		0xe1810f92: kprobes.ConditionalStore, // strex r0, r2, [r1]
		0xe1a10f92: kprobes.ConditionalStore, // strexd
		0xe1c10f92: kprobes.ConditionalStore, // strexb
		0xe1e10f92: kprobes.ConditionalStore, // strexh
		0xf1912f9f: kprobes.NoReservation,    // no condition: another space
		0xe1012092: kprobes.NoReservation,    // swp r2, r2, [r1]
		0xe5912000: kprobes.NoReservation,    // ldr r2, [r1]
		0xe1912f8f: kprobes.NoReservation,    // another operation of its group
		0xe1912e9f: kprobes.NoReservation,    // lda
	} {
		require.Equal(t, reserves(bytesOf(w)), want, "%#x", uint32(w))
	}
	for n := range wordSize {
		require.Equal(t, reserves(bytesOf(0xe1912f9f)[:n]), kprobes.NoReservation, "%d bytes", n)
	}
}

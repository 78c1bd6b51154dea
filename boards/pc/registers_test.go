package pc

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// TestRegistersOfOldDevices drives the interrupt controllers and the serial port by themselves, in states that TestEffects seldom comes to,
// and compares what is read with sums.
func TestRegistersOfOldDevices(t *testing.T) {
	r, sum := rand.New(rand.NewPCG(1, 1)), sha256.New()
	p := newPICs()
	steps := []string{"raise", "raise", "lower", "ack", "ack", "line", "master", "slave", "mask master", "mask slave", "read master", "read slave"}
	for i := range 40_000 {
		do, n := steps[r.IntN(len(steps))], uint8(r.IntN(8))
		switch do {
		case "raise", "lower":
			n = uint8(r.IntN(16))
		case "master", "slave":
			n |= []uint8{0, 0x20, 0x40, 0x60, 0x80, 0xa0, 0xc0, 0xe0, 0x08, 0x48, 0x68}[r.IntN(11)]
		case "mask master", "mask slave":
			n = uint8(r.Uint32() & r.Uint32())
		case "read master", "read slave":
			n &= 1
		}
		if i%400 == 0 { // with and without automatic ends, level triggers, one alone
			q := &p[r.IntN(2)]
			q.store(0, 0x11|uint8(r.IntN(8))<<1)
			for range 3 {
				q.store(1, uint8(r.IntN(32)))
			}
		}
		fmt.Fprintln(sum, p.run(do, n))
	}
	require.Equal(t, fmt.Sprintf("%.6x", sum.Sum(nil)), "2719c3e6e12e", "the interrupt controllers answer")

	sum.Reset()
	u := &uart{send: func(b byte) { fmt.Fprintln(sum, "sent", b) }}
	for range 40_000 {
		off, v := uint16(r.IntN(8)), uint8(r.Uint32())
		if r.IntN(2) == 0 {
			switch off {
			case uartLCR:
				v &^= lcrDivisor
			case uartMCR:
				v |= mcrLoop
			case uartIER:
				v |= 4
			}
			if off == uartMCR && r.IntN(4) == 0 {
				v &^= mcrLoop
			}
			u.store(off, v)
			continue
		}
		fmt.Fprintln(sum, off, u.load(off), u.line())
	}
	require.Equal(t, fmt.Sprintf("%.6x", sum.Sum(nil)), "4a6158a5e45a", "the serial port answers")
}

// TestTimerAheadOfEvents reads the count of a timer whose expiry a CPU has passed before the event happened: a periodic one has begun
// again, and one that counts once stands at its end.
func TestTimerAheadOfEvents(t *testing.T) {
	const initial = 10
	for _, mode := range []uint64{0, lvtPeriodic} {
		for past := range 35 {
			b := newAPICBoard(1)
			a := b.apics[0]
			a.Store(regDivide, 0xb) // by one
			a.Store(regLVTTimer, uint32(mode)|0x40)
			a.Store(regInitial, initial)
			b.now = clock.Ticks(past) * busCycle
			want := uint32(max(initial-past, 0))
			if past >= initial && mode != 0 {
				want = uint32(initial - (past-initial)%initial)
			}
			require.Equal(t, a.Load(regCurrent), want, "mode %#x, %d counts behind the start", mode, past)
		}
	}
}

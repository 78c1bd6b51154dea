package pc

import (
	"testing"

	"kprobesim/internal/require"
)

func newUART() (*uart, *string) {
	out := new(string)
	return &uart{send: func(b byte) { *out += string(rune(b)) }}, out
}

func TestUARTSends(t *testing.T) {
	u, out := newUART()
	u.store(uartLCR, 0x83)
	u.store(0, 12)
	u.store(1, 1)
	require.That(t, u.load(0) == 12 && u.load(1) == 1 && u.divisor == 0x10c, "divisor %#x", u.divisor)
	u.store(uartLCR, 3)
	for _, b := range []byte("ok\n") {
		require.That(t, u.load(uartLSR)&lsrEmpty == lsrEmpty, "the transmitter is not empty")
		u.store(0, b)
	}
	if *out != "ok\n" || u.load(0) != 0 || u.load(uartLSR) != lsrEmpty || u.load(uartMSR) != msrLines {
		t.Errorf("sent %q, LSR %#x, MSR %#x", *out, u.load(uartLSR), u.load(uartMSR))
	}
}

// TestUARTInterrupt holds the transmitter's interrupt: at once when it is enabled, gone when it is read.
func TestUARTInterrupt(t *testing.T) {
	u, _ := newUART()
	u.store(uartMCR, mcrOut2)
	u.store(uartIER, 0xff)
	require.Equal(t, u.load(uartIER), 0xf, "IER")
	require.That(t, u.line() && u.load(uartIIR) == 2 && u.load(uartIIR) == 1 && !u.line(), "the interrupt of an empty transmitter does not come, or stays")
	u.store(0, 'x')
	require.That(t, u.line(), "no interrupt behind a byte")
	u.store(uartMCR, 0)
	require.That(t, !u.line(), "OUT2 does not hold the interrupt back")
	u.store(uartIER, 0)
	u.load(uartIIR)
	u.store(uartIER, 2)
	require.That(t, u.load(uartIIR) == 2, "enabling it again does not bring it again")
}

// TestUARTProbe holds what a driver tells the chip by: scratch, FIFO bits, modem lines in loopback.
func TestUARTProbe(t *testing.T) {
	u, out := newUART()
	u.store(uartScratch, 0xa5)
	u.store(uartMCR, mcrLoop|0xa)
	got := u.load(uartMSR)
	require.That(t, got&0xf0 == 0x90 && u.load(uartScratch) == 0xa5, "MSR in loopback %#x, want 0x90", got)
	u.store(uartIIR, 1)
	require.Equal(t, u.load(uartIIR), 0xc1, "IIR with FIFO")
	for i := range 17 {
		u.store(0, uint8(i))
	}
	if got := u.load(uartLSR); got != lsrEmpty|lsrReady|lsrOverrun || u.load(uartLSR)&lsrOverrun != 0 {
		t.Errorf("LSR after 17 bytes %#x", got)
	}
	for i := range 16 {
		require.Equal(t, u.load(0), uint8(i), "byte %d", i)
	}
	u.store(0, 1)
	if u.store(uartIIR, 3); u.load(uartLSR) != lsrEmpty || *out != "" {
		t.Errorf("LSR %#x after the FIFO was cleared, sent %q", u.load(uartLSR), *out)
	}
}

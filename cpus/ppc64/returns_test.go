package ppc64

import (
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// TestReturnsArePredicted calls a function from two places by turns: each way of calling tells the predictor where the function returns to.
func TestReturnsArePredicted(t *testing.T) {
	for name, calls := range map[string][2]uint32{
		"bl":    {0x48000019, 0x48000015},
		"bnel":  {0x40820019, 0x40820015},
		"bctrl": {0x4e800421, 0x4e800421},
	} {
		w := newWorld(t, cpus.Throughput, []uint32{
			0x3880ffff, // li r4,-1
			0x3484ffff, // addic. r4,r4,-1
			calls[0],
			calls[1],
			0x4082fff4, // bne to addic.
			0x48000000, // b here
			0x48000000,
			0x48000000,
			0x4e800020, // blr
		})
		c := w.cpu()
		c.R[rCTR] = testCode + 4*8
		c.Steps(400, 1<<60)
		before := c.Counters().Mispredicts
		c.Steps(400, 1<<60)
		require.That(t, c.Counters().Mispredicts == before && c.PC() < testCode+4*9, "%s: %d wrong predictions in 400 instructions, at %#x", name, c.Counters().Mispredicts-before, c.PC())
	}
}

// TestNamesOfInterrupts lists the names of interrupts as the manual has them (Book III, Interrupt Definitions), by their vectors.
func TestNamesOfInterrupts(t *testing.T) {
	names := slices.DeleteFunc(exceptionNames(), func(name string) bool { return strings.HasPrefix(name, "interrupt ") })
	const want = "system reset, machine check, data storage, data segment, instruction storage, instruction segment, external, alignment, program, " +
		"floating-point unavailable, decrementer, system call, trace"
	require.Equal(t, strings.Join(names, ", "), want, "")
}

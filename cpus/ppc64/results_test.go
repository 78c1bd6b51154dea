package ppc64

import (
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/arch/ppc64/ppc64asm"

	"kprobesim/cpus/engine"
	"kprobesim/internal/require"
)

// notHeld are operations that user mode does not complete. Moves to the registers that it may change have names of their own.
var notHeld = []ppc64asm.Op{
	ppc64asm.SC, ppc64asm.RFID, ppc64asm.MFMSR, ppc64asm.MTMSR, ppc64asm.MTMSRD, ppc64asm.SLBMTE, ppc64asm.SLBIE, ppc64asm.SLBIA,
	ppc64asm.SLBMFEE, ppc64asm.SLBMFEV, ppc64asm.TLBIE, ppc64asm.TLBIEL, ppc64asm.TLBSYNC, ppc64asm.MTSPR,
}

// TestResults executes random words in user mode and holds what changes against the results that the engine is told of:
// what reads a register that nobody names would wait for nothing. Every operation of the table is among them, with its
// record bits and update forms.
func TestResults(t *testing.T) {
	h := resultsHeld{T: t, r: rand.New(rand.NewPCG(7, 9)), ran: map[ppc64asm.Op]int{}, named: map[namedResult]int{}, changed: map[namedResult]int{}}
	_, h.c = userWorld(t)
	h.run(insnNop)
	h.run(0x4c00012c) // isync
	h.run(0x7c6c42e6) // mftb
	for range 600_000 {
		word := h.r.Uint32()
		switch h.r.IntN(8) {
		case 0, 1, 2, 3: // most operations
			word = 31<<26 | word&(1<<26-1)
		case 4:
			word = 19<<26 | word&(1<<26-1)
		}
		h.run(word)
	}
	for op := range variants {
		require.That(t, (h.ran[op] == 0) == slices.Contains(notHeld, op), "%v completed %d times", op, h.ran[op])
	}
	for x, n := range h.named {
		require.That(t, n <= 30 || h.changed[x] != 0, "%v names register %d in %d cases and changed it in none", x.op, x.register, n)
	}
}

// resultsHeld counts what instructions name, and what they change.
type resultsHeld struct {
	*testing.T
	r              *rand.Rand
	c              *CPU
	ran            map[ppc64asm.Op]int // that completed
	named, changed map[namedResult]int
}

// namedResult is a result of an operation beside the general registers.
type namedResult struct {
	op       ppc64asm.Op
	register int
}

// run executes a word from a random state.
func (h *resultsHeld) run(word uint32) {
	c := h.c
	in, op := c.Decode(wordBytes([]uint32{word}), userCode)
	if op.Class == clUndefined {
		return
	}
	for i := range rCR0 {
		c.R[i] = value(h.r)
	}
	for i := rCR0; i <= rCR7; i++ {
		c.R[i] = h.r.Uint64N(16)
	}
	c.R[rZero], c.R[rCA], c.R[rXER] = 0, h.r.Uint64N(2), h.r.Uint64()&(xerSO|xerOV|xerCount)
	if op.Base != rZero {
		c.R[op.Base], c.R[op.Index], c.R[rZero] = userData+0x100-in.Operands.imm, 0, 0
	}
	before := c.R
	if in.Exec(c, &in.Operands); c.Stop&engine.StopFault == 0 {
		name, _ := operation(word)
		h.ran[name]++
		h.hold(name, word, &op, &before)
	}
	c.Stop, c.Check = 0, 0
}

// hold compares the registers.
func (h *resultsHeld) hold(name ppc64asm.Op, word uint32, op *op, before *[engine.Registers]uint64) {
	for i := range rCR7 + 1 {
		if i == rZero || i == rSink {
			continue
		}
		changed := h.c.R[i] != before[i]
		names := i == int(op.O1) || i == int(op.O2) || op.Also>>i&1 != 0
		if changed && !names {
			h.Errorf("%v (%#x) changes register %d", name, word, i)
		}
		if x := (namedResult{name, i}); names && i > rSink {
			h.named[x]++
			if changed {
				h.changed[x]++
			}
		}
	}
}

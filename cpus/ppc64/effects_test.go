package ppc64

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
)

var update = flag.Bool("update", false, "rewrite testdata/effects.txt")

// TestEffects decodes and executes words of each major opcode, and of the extended ones of 19, 31 and 63, in user mode and in
// the kernel.
func TestEffects(t *testing.T) {
	e, r := &cpustest.Effects{}, rand.New(rand.NewPCG(3, 1))
	for group := range uint32(64 + 2*64) {
		e.Group(fmt.Sprint(group))
		w := newWorld(t, cpus.Throughput, nil, userMaps()...)
		c := w.cpu()
		for n := range 320 {
			word := group<<26 | r.Uint32()>>6
			if group >= 64 { // 16 extended opcodes of a major one
				word = []uint32{31, 19}[group/64-1]<<26 | r.Uint32()>>6&^0x7e0 | (group&63)<<5
			}
			w.words(freePages, word)
			c.setMSR(userMSR)
			if n > 240 {
				c.setMSR(userMSR &^ msrPR)
			}
			for i := range 32 {
				if c.R[i] = value(r); r.IntN(2) == 0 {
					c.R[i] = userData + r.Uint64N(0x400)
				}
			}
			for i := rCR0; i <= rCR7; i++ {
				c.R[i] = r.Uint64N(16)
			}
			c.R[rCA], c.R[rXER] = r.Uint64N(2), r.Uint64()&(xerSO|xerOV|xerCount)
			c.R[rLR], c.R[rCTR], c.R[rPC] = userCode+r.Uint64N(64), r.Uint64N(3), userCode
			c.Halted = false
			in, op := c.Decode(wordBytes([]uint32{word}), userCode)
			text, _ := disasm(wordBytes([]uint32{word}), userCode, nil)
			_, exit := c.Steps(1, 1<<60)
			e.Add(c, w.mem, freePages+0x1000, in.Operands, op, text, exit.Reason)
		}
	}
	cpustest.Machines(t, e, func(t *testing.T, n int, seed uint64) *cpustest.Rig[*CPU] { return newChurn(t, n, seed).rig })
	e.Compare(t, *update)
}

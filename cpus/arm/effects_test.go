package arm

import (
	"flag"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
)

var update = flag.Bool("update", false, "rewrite testdata/effects.txt")

// TestEffects decodes and executes words of each row, in user mode and in the kernel.
func TestEffects(t *testing.T) {
	e, r := &cpustest.Effects{}, rand.New(rand.NewPCG(3, 1))
	for _, row := range rows {
		e.Group(row.name)
		w := newWorld(t, cpus.Throughput, nil, userMaps()...)
		c := w.cpu()
		for n := range 48 {
			word := row.word(r, []uint32{14, 14, 14, r.Uint32N(15)}[n&3])
			w.words(freePages, word)
			c.setCPSR(modeSupervisor, psrMode|psrI)
			if n < 32 {
				c.setCPSR(modeUser, psrMode|psrI)
			}
			c.setNZCV(r.Uint32())
			for i := range 15 {
				if c.R[i] = uint64(value(r)); r.IntN(2) == 0 {
					c.R[i] = userData + uint64(r.Uint32N(0x400))<<(r.IntN(2)*2)
				}
			}
			c.R[rPC] = userCode
			in, op := c.Decode(wordBytes([]uint32{word}), userCode)
			text, _ := disasm(wordBytes([]uint32{word}), userCode, nil)
			_, exit := c.Steps(1, 1<<60)
			e.Add(c, w.mem, freePages+0x1000, in.Operands, op, text, exit.Reason)
		}
	}
	cpustest.Machines(t, e, func(t *testing.T, n int, seed uint64) *cpustest.Rig[*CPU] { return newChurn(t, n, seed).rig })
	e.Compare(t, *update)
}

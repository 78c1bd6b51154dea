package arm

import (
	"flag"
	"math/rand/v2"
	"slices"
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
			c.R[rPC], c.Halted = userCode, false
			in, op := c.Decode(wordBytes([]uint32{word}), userCode)
			text, _ := disasm(wordBytes([]uint32{word}), userCode, nil)
			_, exit := c.Steps(1, 1<<60)
			e.Add(c, w.mem, freePages+0x1000, in.Operands, op, text, exit.Reason)
		}
	}
	coprocessorEffects(t, e)
	cpustest.Machines(t, e, func(t *testing.T, n int, seed uint64) *cpustest.Rig[*CPU] { return newChurn(t, n, seed).rig })
	e.Compare(t, *update)
}

// coprocessorEffects reads and writes each register of the coprocessors, in the kernel and in user mode, which may use some of the timers'.
func coprocessorEffects(t *testing.T, e *cpustest.Effects) {
	var words []uint32
	for n, table := range map[uint32]map[coprocKey]coproc{15: coprocs, 14: debugs} {
		for k := range table {
			word := mcr(uint32(k[0]), uint32(k[1]), uint32(k[2]), uint32(k[3]), 4)&^0xf00 | n<<8
			words = append(words, word, word|1<<20)
		}
	}
	for k := range coprocs64 {
		word := always32 | 0x0c400f00 | 5<<16 | 4<<12 | uint32(k[0])<<4 | uint32(k[1])
		words = append(words, word, word|1<<20)
	}
	slices.Sort(words)
	e.Group("registers of coprocessors")
	for _, word := range words {
		w := newWorld(t, cpus.Throughput, nil, userMaps()...)
		c := w.cpu()
		w.words(freePages, word)
		for n := range uint32(8) {
			c.setCPSR([]uint32{modeUser, modeSupervisor}[n&1], psrMode|psrI)
			c.cntkctl = []uint32{0, 0x3ff, 0x101, 0x202}[n>>1]
			c.R[4], c.R[5], c.R[rPC] = uint64(word*0x9e3779b9>>n), uint64(n), userCode
			_, exit := c.Steps(1, 1<<60)
			e.Add(c, w.mem, freePages+0x1000, word, exit.Reason)
		}
		e.Keep(c.State())
	}
}

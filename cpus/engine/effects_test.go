package engine

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

var update = flag.Bool("update", false, "write testdata/effects.txt anew")

// TestEffects holds times, counters and stalls of random programs on random cores, alone and of two CPUs that fight for
// lines. Other tests say what is right. This one says that something else costs more or less than before.
func TestEffects(t *testing.T) {
	e := &cpustest.Effects{}
	for seed := range uint64(320) {
		if seed%8 == 0 {
			e.Group(fmt.Sprint("cores from ", seed))
		}
		rng := rand.New(rand.NewPCG(seed, 8))
		cfg, m, d := anyCore(rng), mmu.NewMemory(1<<20), mmu.NewDirectory(2)
		if seed%8 == 5 {
			cfg.Model = cpus.Throughput
		}
		code := apart(rng, rounds(rng))
		for i, in := range code {
			m.Write(0x10f80+uint64(4*i), in[:])
		}
		all := []*toy{toyBeside(m, cfg, 0, nil, d)}
		if seed%3 == 0 {
			all = append(all, toyBeside(m, cfg, 1, all[0], d))
		}
		for i, c := range all {
			c.R[PC], c.R[20] = 0x10f80, 256<<10+uint64(i)*24
			if seed%4 == 0 {
				c.also[toyStore], c.also[toyLoad] = Pushes, Pops
			}
		}
		for until := clock.Ticks(0); !all[0].Halted || !all[len(all)-1].Halted; until += clock.PerCycle * clock.Ticks(rng.IntN(2000)) {
			for _, c := range all {
				c.Run(until)
			}
		}
		for _, c := range all {
			e.Note([]any{c.R, c.Now(), c.Counts, c.step.Stalls, frozen(c)})
		}
	}
	e.Compare(t, *update)
}

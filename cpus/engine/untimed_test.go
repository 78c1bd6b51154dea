package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/mmu"
)

// toHalt runs a toy up to its end, for a time at once.
func toHalt(c *toy, each clock.Ticks) {
	for !c.Halted {
		c.Run(c.Now() + each)
	}
}

// TestUntimedChangesOnlyTime runs random programs without a cost model, with one, and without one for a while:
// registers, memory, exceptions and instructions are the same. What is executed without one takes its fixed time,
// as each exception does, and leaves caches and predictors alone.
func TestUntimedChangesOnlyTime(t *testing.T) {
	const each = 7
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 2))
		cfg, code := anyCore(rng), rounds(rng)
		if seed%4 == 0 {
			cfg.Model = cpus.Throughput
		}
		timed := toyAt(t, cfg, code)
		toHalt(timed, soon)
		ran := timed.Counters().Instructions
		for _, until := range []clock.Ticks{soon, clock.Ticks(rng.Uint64N(each * ran))} {
			c := toyAt(t, cfg, code)
			c.Untimed(each, until)
			toHalt(c, soon)
			n := c.Counters()
			if c.R != timed.R || c.faults != timed.faults || n.Instructions != ran || !bytes.Equal(c.ram, timed.ram) {
				t.Fatalf("seed %d, until %d: at %#x with %d exceptions after %d instructions, want %#x, %d and %d", seed, until,
					c.R[PC], c.faults, n.Instructions, timed.R[PC], timed.faults, ran)
			}
			if until == soon && (c.Now() != each*(clock.Ticks(ran)+clock.Ticks(c.faults)) || n.L1DMisses != 0 || n.Branches != 0) {
				t.Fatalf("seed %d: %d instructions took %d ticks, %d misses, %d branches", seed, ran, c.Now(), n.L1DMisses, n.Branches)
			}
		}
	}
}

// TestUntimedSwitchesAtOneTime has the cost model go and come in the middle of programs that run at once, in short
// turns, observed, and with every way to remember: it goes and comes at the same instruction.
func TestUntimedSwitchesAtOneTime(t *testing.T) {
	for seed := range uint64(hosttools.Part(t, "random programs that change their cost model", 100, 20)) {
		rng := rand.New(rand.NewPCG(seed, 2))
		cfg, code := anyCore(rng), rounds(rng)
		begin, each, end := clock.Ticks(rng.IntN(20000)), clock.Ticks(1+rng.IntN(100)), clock.Ticks(rng.IntN(60000))
		var first *toy
		for i, way := range memos {
			for _, turn := range []clock.Ticks{soon, 400} {
				c := toyAt(t, cfg, code)
				way.set(&c.Core)
				if i%2 == 1 {
					c.Observe(nobody{})
				}
				c.Run(begin)
				c.Untimed(each, c.Now()+end)
				toHalt(c, turn)
				if first == nil {
					first = c
				}
				c.step = first.step // an observed one has stalls of its own
				sameTime(t, fmt.Sprintf("seed %d, %s, in turns of %d", seed, way.name, turn), first, c)
			}
		}
	}
}

// TestUntimedIsTakenBack has the cost model come back before its time.
func TestUntimedIsTakenBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	cfg, code := anyCore(rng), rounds(rng)
	timed, back := toyAt(t, cfg, code), toyAt(t, cfg, code)
	back.Untimed(7, soon)
	back.Untimed(0, soon)
	toHalt(timed, soon)
	toHalt(back, soon)
	sameTime(t, "taken back", timed, back)
}

// TestUntimedForNoTime puts the cost model away until a time at which it is back at once: one that is over, or up to which there is only what is in flight,
// which ends first.
func TestUntimedForNoTime(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 2))
		cfg, code := anyCore(rng), rounds(rng)
		begin := clock.Ticks(rng.IntN(20000))
		until := func(put bool, at func(c *toy) clock.Ticks) *toy {
			c := toyAt(t, cfg, code)
			c.Run(begin)
			if put {
				c.Untimed(7, at(c))
			}
			toHalt(c, soon)
			return c
		}
		now := func(c *toy) clock.Ticks { return c.Now() }
		inFlight := func(c *toy) clock.Ticks { return max(c.retire, c.dispatch, c.drained) }
		sameTime(t, fmt.Sprintf("seed %d, until now", seed), until(false, now), until(true, now))
		before := until(true, func(c *toy) clock.Ticks { return min(inFlight(c), c.Now()+1) })
		sameTime(t, fmt.Sprintf("seed %d, until nothing is in flight", seed), before, until(true, inFlight))
	}
}

// TestUntimedNeighbours has one of two CPUs, or both, execute without a cost model while they share memory by turns.
func TestUntimedNeighbours(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 4))
		cfg, code := anyCore(rng), rounds(rng)
		var timed []*toy
		for _, until := range [][2]clock.Ticks{{}, {soon, 0}, {3000, 6000}, {soon, soon}} {
			m, d := mmu.NewMemory(1<<20), mmu.NewDirectory(2)
			all := []*toy{toyBeside(m, cfg, 0, nil, d)}
			all = append(all, toyBeside(m, cfg, 1, all[0], d))
			for i, in := range code {
				m.Write(0x10f80+uint64(4*i), in[:])
			}
			for i, c := range all {
				c.R[PC], c.R[20] = 0x10f80, 256<<10+uint64(i)*24
				c.Untimed(7, until[i])
			}
			turns := rand.New(rand.NewPCG(seed, 5))
			for !all[0].Halted || !all[1].Halted {
				all[turns.IntN(2)].Steps(1+turns.IntN(60), soon)
			}
			if timed == nil {
				timed = all
			}
			for i, c := range all {
				if c.R != timed[i].R || c.Counters().Instructions != timed[i].Counters().Instructions {
					t.Fatalf("seed %d, cpu %d, until %d: at %#x, want %#x", seed, i, until, c.R[PC], timed[i].R[PC])
				}
			}
			if !bytes.Equal(all[0].ram, timed[0].ram) {
				t.Fatalf("seed %d, until %d: memory differs", seed, until)
			}
		}
	}
}

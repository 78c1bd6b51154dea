package engine

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// TestForwardsByKind times chains through a store and a load of it, of which each may move the stack pointer, or the load may store as well.
func TestForwardsByKind(t *testing.T) {
	plain := toyConfig(cpus.Window, 64)
	plain.Width, plain.Window, plain.Events["taken_branch"] = 4, 400, 0
	plain.Classes["load"], plain.Classes["store"] = cpus.Cost{}, cpus.Cost{}
	piped := pipedCore()
	piped.Pipes["store"] = []string{"e", "f"}
	for _, cfg := range []*cpus.Config{plain, piped} {
		cfg.L1D.Latency = clock.PerCycle
		cfg.Events["store_forward"], cfg.Events["stack_forward"], cfg.Events["modify_forward"] = 6*clock.PerCycle, 2*clock.PerCycle, 11*clock.PerCycle
		for _, x := range []struct {
			store, load uint16
			cycles      int64
		}{{0, 0, 6}, {Pushes, Pops, 2}, {0, Pops, 6}, {Pushes, 0, 6}, {0, Stores, 11}, {Pushes, Stores, 11}, {Pushes, Pops | Stores, 2}} {
			took := func(rounds uint8) int64 {
				c := newToy(t, cfg, 1<<20, 0x1000, [4]byte{toyAdd, 1, 0, rounds}, [4]byte{toyStore, 3, 20, 0}, [4]byte{toyLoad, 3, 20, 0}, count(1, -3), [4]byte{toyHalt})
				c.also[toyStore], c.also[toyLoad] = x.store, x.load
				c.R[20] = 0x8000
				c.Run(soon)
				return int64(c.Now() / clock.PerCycle)
			}
			require.Equal(t, took(160)-took(80), 80*x.cycles, "pipes %t, flags %#x and %#x: 80 rounds take", cfg.BackEnd.On, x.store, x.load)
		}
	}
}

// TestScoreboard times loops of 80 bodies on a core that starts instructions in order, two a cycle, beside
// one that does not.
func TestScoreboard(t *testing.T) {
	nop := [4]byte{toyNop}
	chain, free := [4]byte{toyAdd, 1, 1, 3}, [4]byte{toyAdd, 4, 5, 6}
	for _, x := range []struct {
		name               string
		body               [][4]byte
		port               string
		scoreboard, window int64
	}{
		{"two a cycle", [][4]byte{nop, nop}, "", 80, 80},
		{"a chain", [][4]byte{chain}, "", 240, 240},
		{"what waits holds up the others", [][4]byte{chain, free, free}, "", 240, 240},
		{"and the next chain", [][4]byte{chain, {toyAdd, 4, 1, 3}, {toyAdd, 5, 4, 3}}, "", 520, 240}, // it starts in the next slot
		{"one port", [][4]byte{free, free}, "alu", 160, 160},
	} {
		for model, want := range map[string]int64{cpus.Scoreboard: x.scoreboard, cpus.Window: x.window} {
			cfg := toyConfig(model, 64)
			cfg.Width, cfg.Window, cfg.FrontEnd.FetchBytes = 2, 400, 0
			cfg.Ports["alu"] = clock.PerCycle
			for _, n := range toyISA().Classes {
				cfg.Classes[n] = cpus.Cost{Latency: 3 * clock.PerCycle, Port: x.port}
			}
			cfg.Events["taken_branch"] = 0
			if got := bodiesTime(t, cfg, x.body, 160) - bodiesTime(t, cfg, x.body, 80); got != want {
				t.Errorf("%s, %s: %d cycles, want %d", x.name, model, got, want)
			}
		}
	}
}

package engine

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

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

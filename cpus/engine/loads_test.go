package engine

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// TestLoadQueue runs loads that miss, of which as many are in flight as the queue or the reorder buffer has room for: memory
// takes 200 cycles.
func TestLoadQueue(t *testing.T) {
	for _, c := range []struct {
		queue, window int
		cycles        [2]int64 // of a load, without pipes and with them
	}{{0, 96, [2]int64{13, 10}}, {32, 96, [2]int64{13, 10}}, {12, 96, [2]int64{18, 18}}, {4, 96, [2]int64{51, 51}}, {1, 96, [2]int64{202, 200}}, {4, 8, [2]int64{101, 100}}} {
		for i, piped := range []bool{false, true} {
			cfg := toyConfig(cpus.Window, 64)
			if piped {
				cfg = pipedCore()
			}
			cfg.Window, cfg.LoadQueue = c.window, c.queue
			const rounds = 250
			code := [][4]byte{{toyAdd, 1, 0, rounds}, {toyLoad, 3, 20, 0}, {toyAdd, 20, 20, 255}, {toyAdd, 20, 20, 65}, count(1, -4), {toyHalt}}
			x := newToy(t, cfg, 1<<20, 0xf_0000, code...)
			x.Run(soon)
			if got := int64(x.Now()/clock.PerCycle) / rounds; got != c.cycles[i] {
				t.Errorf("%d entries, %d instructions, pipes %t: %d cycles a load, want %d", c.queue, c.window, piped, got, c.cycles[i])
			}
		}
	}
}

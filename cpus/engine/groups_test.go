package engine

import (
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// groupedCore dispatches groups of five, the last slot for branches. Nothing else bounds it: an instruction
// has no latency and no port.
func groupedCore() *cpus.Config {
	cfg := toyConfig(cpus.Window, 64)
	cfg.Width, cfg.Window, cfg.FrontEnd.FetchBytes = 5, 100, 0
	cfg.Groups = cpus.Groups{On: true, BranchSlots: 1}
	for _, n := range toyISA().Classes {
		cfg.Classes[n] = cpus.Cost{}
	}
	cfg.Events["taken_branch"] = 0
	return cfg
}

// TestGroups times what fills groups: 80 times a few instructions, some with a jump behind them.
func TestGroups(t *testing.T) {
	const slot = clock.PerCycle / 5
	nop, add := [4]byte{toyNop}, [4]byte{toyAdd, 1, 2, 3}
	for _, c := range []struct {
		name   string
		body   [][4]byte
		change func(cfg *cpus.Config)
		cycles int64 // of 80 bodies
	}{
		{name: "four in a group", body: [][4]byte{nop}, cycles: 20},
		{name: "the fifth is a branch", body: [][4]byte{nop, nop, nop, nop, jump(0)}, cycles: 80},
		{name: "a branch ends a group", body: [][4]byte{nop, jump(0)}, cycles: 80},
		{name: "no branch slot", body: [][4]byte{nop}, change: func(c *cpus.Config) { c.Groups.BranchSlots = 0; c.Window = 5 }, cycles: 16},
		{
			name: "two of two slots", body: [][4]byte{nop}, cycles: 40,
			change: func(c *cpus.Config) { c.Classes["nop"] = cpus.Cost{Issue: 2 * slot} },
		},
		{
			name: "one of three slots", body: [][4]byte{nop}, cycles: 80,
			change: func(c *cpus.Config) { c.Classes["nop"] = cpus.Cost{Issue: 3 * slot} },
		},
		{
			name: "alone", body: [][4]byte{nop, add}, cycles: 160,
			change: func(c *cpus.Config) { c.Classes["nop"] = cpus.Cost{Alone: true} },
		},
		{
			name: "three groups", body: [][4]byte{nop}, cycles: 240,
			change: func(c *cpus.Config) { c.Classes["nop"] = cpus.Cost{Issue: 12 * slot, Alone: true} },
		},
		{
			name: "two in flight", body: [][4]byte{nop}, cycles: 100, // 20 groups, two of them every 10 cycles
			change: func(c *cpus.Config) {
				c.Classes["nop"], c.Window = cpus.Cost{Latency: 10 * clock.PerCycle}, 10
			},
		},
	} {
		cfg := groupedCore()
		if c.change != nil {
			c.change(cfg)
		}
		got := bodiesTime(t, cfg, c.body, 160) - bodiesTime(t, cfg, c.body, 80)
		require.That(t, got == c.cycles, "%s: %d cycles, want %d", c.name, got, c.cycles)
	}
}

// bodiesTime is the time of a number of copies of a body when all is warm, in cycles.
func bodiesTime(t *testing.T, cfg *cpus.Config, body [][4]byte, n int) int64 {
	t.Helper()
	code := append(slices.Repeat(body, n), [4]byte{toyHalt})
	c := newToy(t, cfg, 1<<20, 0x1000, code...)
	c.Run(soon)
	start := c.Now()
	c.Halted, c.R[PC] = false, 0x1000
	if x := c.Run(soon); x.Reason != cpus.Halted {
		t.Fatal(x)
	}
	return (c.Now() - start).Cycles()
}

package engine

import (
	"testing"

	"kprobesim/cpus"
)

// TestRenewRefuses breaks what was read in ways that running would not survive.
func TestRenewRefuses(t *testing.T) {
	for name, damage := range map[string]func(c *toy){
		"lines used last":  func(c *toy) { c.dRecent = c.dRecent[1:] },
		"lines written":    func(c *toy) { c.sRecent = nil },
		"their mask":       func(c *toy) { c.dMask = c.dMask<<1 | 1 },
		"counters":         func(c *toy) { c.predictor.counters = nil },
		"top of returns":   func(c *toy) { c.predictor.top = len(c.predictor.returns) },
		"below returns":    func(c *toy) { c.predictor.top = -1 },
		"returns":          func(c *toy) { c.predictor.returns = nil },
		"depth of returns": func(c *toy) { c.predictor.depth = len(c.predictor.returns) + 1 },
		"loads":            func(c *toy) { c.loads.at = 4 },
		"tagged entries":   func(c *toy) { c.tagged.entries = c.tagged.entries[1:] },
		"folded histories": func(c *toy) { c.tagged.folds = nil },
		"prefetched lines": func(c *toy) { c.prefetcher.last = len(c.prefetcher.inFlight) },
		"strides":          func(c *toy) { c.prefetcher.strides = make([]stride, 3) },
		"caches":           func(c *toy) { c.l1d.Recent = nil },
		"":                 func(c *toy) { c.predictor.depth = len(c.predictor.returns) },
	} {
		cfg := toyConfig(cpus.Window, 64)
		cfg.Prefetch = cpus.Prefetch{InFlight: 8, Stride: cpus.Stride{Entries: 4, Most: 64}}
		cfg.Predictor.Tagged = cpus.TaggedTables{Tables: 2, Bits: 4, TagBits: 8, Shortest: 4, Longest: 16}
		cfg.LoadQueue = 4
		c := newToy(t, cfg, 1<<16, 0x1000)
		damage(c)
		func() {
			defer func() {
				if broken := recover(); (broken != nil) != (name != "") {
					t.Errorf("%s: %v", name, broken)
				}
			}()
			c.Renew()
		}()
	}
}

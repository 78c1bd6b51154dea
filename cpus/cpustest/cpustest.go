// Package cpustest has what tests of several instruction sets share: the description of a CPU with round numbers and
// none of a real processor, machines that are disturbed, and executables to compare with an emulator.
package cpustest

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// Config is a CPU of 1 GHz whose instructions take a cycle each, whose events ten, and whose caches and
// buffers have the sizes of a processor of 2008. Tests change what they look at.
func Config(isa *cpus.ISA) cpus.Config {
	const cycle = clock.PerCycle
	cfg := cpus.Config{
		Name: "test", Hz: 1e9, Model: cpus.Throughput, Width: 4, Window: 96, StoreBuffer: 20,
		Classes: map[string]cpus.Cost{}, Events: map[string]clock.Ticks{},
		Ports:  map[string]clock.Ticks{"alu": cycle / 3, "load": cycle, "store": cycle, "branch": cycle},
		L1I:    mmu.CacheConfig{Size: 32 << 10, Ways: 8, Line: 64, Latency: 3 * cycle},
		L1D:    mmu.CacheConfig{Size: 32 << 10, Ways: 8, Line: 64, Latency: 3 * cycle},
		L2:     mmu.CacheConfig{Size: 6 << 20, Ways: 24, Line: 64, Latency: 15 * cycle},
		Memory: 200 * cycle,
		ITLB:   mmu.TLBConfig{Entries: 128, Ways: 4, LargeEntries: 8, LargeWays: 8},
		DTLB:   mmu.TLBConfig{Entries: 256, Ways: 4, LargeEntries: 32, LargeWays: 4},
		Predictor: cpus.PredictorConfig{
			HistoryBits: 8, TableBits: 12, TargetEntries: 2048, ReturnStack: 16,
		},
		Processor: map[string]uint64{},
	}
	for _, n := range isa.Classes {
		cfg.Classes[n] = cpus.Cost{Latency: cycle, Port: "alu"}
	}
	for _, n := range isa.Processor {
		cfg.Processor[n.Name] = min(1, n.Most)
	}
	for _, n := range isa.Events {
		cfg.Events[n] = 10 * cycle
	}
	return cfg
}

// Piped describes a core of the window model by pipes, in which loads go ahead of stores and are wrong.
func Piped(cfg *cpus.Config, isa *cpus.ISA) {
	cfg.BackEnd = cpus.BackEnd{On: true, Retire: 6, Scheduler: 40, ConflictStores: 128, StorePairs: true}
	cfg.Pipes = map[string][]string{"store_address": {"c", "d"}}
	for i, n := range isa.Ports {
		cfg.Pipes[n] = []string{string(rune('a' + i)), string(rune('b' + i))}
	}
	for n, k := range cfg.Classes {
		k.Port, k.Ops, k.To, k.Latency = "", 1, [cpus.MaxUops]string{"alu"}, 9*clock.PerCycle
		cfg.Classes[n] = k
	}
}

// Ahead gives a machine by a seed, one in three, what brings lines in ahead of loads and predicts by long histories.
func Ahead(cfg *cpus.Config, seed uint64) {
	if seed%3 == 0 {
		two := cpus.Stream{Streams: 2, Ahead: 1 + int(seed%5)}
		cfg.Prefetch = cpus.Prefetch{InFlight: 4, Next: two, Stream: two, Stride: cpus.Stride{Entries: 8, Most: 1 << 10}}
		cfg.Predictor.Tagged = cpus.TaggedTables{Tables: 4, Bits: 6, TagBits: 7, Shortest: 3, Longest: 60}
		cfg.Predictor.ReturnsByTarget = true
		cfg.L3 = cfg.L2
		cfg.L3.Latency = 12 * clock.PerCycle
		one := cfg.L1I.Line == cfg.L3.Line && cfg.L1D.Line == cfg.L3.Line
		cfg.L3.Exclusive = seed%2 == 0 && one
		cfg.L3.Inclusive = seed%2 == 1 && !cfg.L1I.Incoherent && one
		cfg.Prefetch.Pair.Bytes, cfg.Prefetch.WrongPath = 2*cfg.L1D.Line, 64*int(seed/3%2)
		cfg.PerLine[1], cfg.PerStored = clock.PerCycle, [3]clock.Ticks{2 * clock.PerCycle, 3 * clock.PerCycle, 9 * clock.PerCycle}
	}
}

// RunOn runs a CPU four times for 2,000 cycles at least, or until it leaves the guest. A shutdown has to say why.
func RunOn(t *testing.T, c cpus.CPU) {
	t.Helper()
	for range 4 {
		e := c.Run(c.Now() + 60*2000)
		if e.Reason == cpus.Shutdown && e.Detail == "" {
			t.Fatal("a shutdown without a reason")
		}
		if e.Reason != cpus.Limit {
			return
		}
	}
}

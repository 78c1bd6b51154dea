package races

import (
	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// hz is the clock of the machines that schedules run on, in cycles a second of simulated time: no
// rate of a real processor, as only the order of things counts here.
const hz = 1_000_000_000

// plainCPU describes a CPU on which everything takes about a cycle. A search does not predict times;
// short ones let jiffies and grace periods pass within few instructions.
// Every class, event and port of the instruction set has a number, as cpus.Config.Check wants it, by itself or by another.
// Caches and TLBs are small, because their contents change nothing that a search looks at.
//
// Where software has to keep instruction caches in step they are not coherent, unless a variant says so, and data
// caches hold stores back. Lines then stay in the caches for long, so that what software leaves out shows.
func plainCPU(isa *cpus.ISA, coherent bool) cpus.Config {
	const cycle = clock.PerCycle
	cfg := cpus.Config{
		Name: "plain", Hz: hz, Model: cpus.Throughput, Width: 1, Window: 1, StoreBuffer: 1,
		Classes: map[string]cpus.Cost{}, Events: map[string]clock.Ticks{},
		Ports: map[string]clock.Ticks{}, Processor: map[string]uint64{},
		L1I:    mmu.CacheConfig{Size: 4 << 10, Ways: 4, Line: 64, Latency: cycle},
		L1D:    mmu.CacheConfig{Size: 4 << 10, Ways: 4, Line: 64, Latency: cycle},
		L2:     mmu.CacheConfig{Size: 64 << 10, Ways: 8, Line: 64, Latency: cycle},
		Memory: cycle,
		ITLB:   mmu.TLBConfig{Entries: 16, Ways: 4, LargeEntries: 8, LargeWays: 4},
		DTLB:   mmu.TLBConfig{Entries: 16, Ways: 4, LargeEntries: 8, LargeWays: 4},
		Predictor: cpus.PredictorConfig{
			TableBits: 4, TargetEntries: 16, ReturnStack: 8,
		},
	}
	for _, n := range isa.Classes {
		if _, inherits := isa.Inherited[n]; !inherits {
			cfg.Classes[n] = cpus.Cost{Latency: cycle}
		}
	}
	for _, n := range isa.Events {
		cfg.Events[n] = cycle
	}
	for _, n := range isa.Processor {
		cfg.Processor[n.Name] = min(1, n.Most)
	}
	for _, n := range isa.Ports {
		cfg.Ports[n] = cycle
	}
	if isa.CodeLine != 0 {
		for _, c := range []*mmu.CacheConfig{&cfg.L1I, &cfg.L1D, &cfg.L2} {
			c.Size, c.Line = 64<<10, isa.CodeLine
		}
		cfg.L1I.Incoherent = !coherent
	}
	return cfg
}

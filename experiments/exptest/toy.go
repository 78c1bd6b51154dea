package exptest

import (
	"debug/elf"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/kprobes"
	"kprobesim/targets"
	"kprobesim/workloads"
)

const ToyCollection = `name = "both"
title = "Two toys"
collect = ["./toy.toml", "./slow.toml"]
figures = ["overhead"]

[[differences]]
of = "k"
less = "b"
era = "2010"
means = "the step"
`

// CollectionFiles writes a collection of the toy experiment and of the same on a slower machine, which
// has published figures of its own, and returns its path.
func CollectionFiles(t testing.TB) string {
	dir := filepath.Dir(ToyFiles(t))
	Write(t, dir, "slow.toml", `base = "toy.toml"
name = "slow"
machine = "./slower.toml"
[[points]]
name = "k"
role = "predicted"
published = { time = "0.99 us", source = "A paper" }
[[points]]
name = "b"
published = { time = "0.43 us", source = "A paper" }
`)
	Write(t, dir, "slower.toml", `base = "machine.toml"
name = "toy-2"
[event]
trap = { cycles = 200, source = "book: 7" }
`)
	return Write(t, dir, "both.toml", ToyCollection)
}

// toyISA is an instruction set small enough for a description of a few lines; it decodes every byte
// as one instruction but 0xf1, which starts one of three.
func toyISA() *cpus.ISA {
	return &cpus.ISA{
		Name: "toy", Bits: 64, Machine: elf.EM_X86_64, Order: binary.LittleEndian,
		Classes: []string{"alu", "load"}, Events: []string{"mispredict", "trap"}, Ports: []string{"alu"},
		Disasm: func(code []byte, _ uint64, _ func(uint64) (string, uint64)) (string, int) {
			if len(code) > 0 && code[0] == 0xf1 {
				return "long", 3
			}
			return "short", 1
		},
	}
}

// ToyLoader knows the toy ISA and the images of this program under the name of that ISA.
func ToyLoader() *planning.Loader {
	probes := &kprobes.Arch{Name: "toy", Then: kprobes.Boosted}
	return &planning.Loader{Targets: []targets.Target{{Name: "toy", ISA: toyISA(), Probes: probes, Images: workloads.List()}}}
}

// ToyMeasure gives each point numbers that follow from its probe, its machine and its replicate, without
// simulating. Each replicate is a cycle dearer than the one before it.
func ToyMeasure(p *schema.Point) (*kinds.Measurement, error) {
	n := p.Workload.Hits
	cost := int64(p.Machine.CPU.Events["trap"]) + int64(len(p.Label)+p.Replicate)*60
	if p.Probe.Mode == kprobes.Stepped {
		cost *= 2
	}
	phases := kinds.Phases()
	m := &kinds.Measurement{
		Counts: kinds.Counts{Calls: n, Hits: n},
		Base:   kinds.Sample{Time: clock.Ticks(n) * 10 * 60, Instructions: n * 5, Phases: make([]clock.Ticks, len(phases))},
		Probed: kinds.Sample{Time: clock.Ticks(n * (600 + cost)), Instructions: n * 100, Phases: make([]clock.Ticks, len(phases))},
		First:  kinds.Sample{Time: clock.Ticks(3 * (600 + cost)), Instructions: 120, Counts: kinds.Counts{Calls: 1, Hits: 1}},
		Single: kinds.Sample{Time: 600, Instructions: 5},
	}
	m.Probed.Phases[slices.Index(phases, image.PhaseEntry)] = clock.Ticks(n * cost / 2)
	m.Probed.Phases[slices.Index(phases, image.PhaseStep)] = clock.Ticks(n * (cost - cost/2))
	return m, nil
}

const ToyMachine = `name = "toy-1"
title = "Toy"
isa = "toy"
[sources]
book = "A book"
[calibration]
experiment = "./toy.toml"
[clock]
frequency = "2 GHz"
timer = "200 MHz"
source = "book: cover"
[core]
model = "window"
width = 4
window = 96
store_buffer = 20
source = "book: 1"
[predictor]
history_bits = 8
table_bits = 12
target_entries = 2048
return_stack = 16
source = "book: 2"
[cache]
l1i = { size = "32 KiB", ways = 8, line = "64 B", latency = 3, source = "book: 3" }
l1d = { size = "32 KiB", ways = 8, line = "64 B", latency = 3, source = "book: 3" }
l2 = { size = "6 MiB", ways = 24, line = "64 B", latency = 15, source = "book: 3" }
[memory]
latency = 280
source = "book: 4"
[tlb]
instruction = { entries = 128, ways = 4, large_entries = 8, large_ways = 8, source = "book: 5" }
data = { entries = 256, ways = 4, large_entries = 32, large_ways = 4, source = "book: 5" }
[port]
alu = { cycles = "1/3", source = "book: 6" }
[event]
mispredict = { cycles = "15", source = "book: 7" }
trap = { cycles = 100, fitted = ["k"], source = "fitted: published k of toy" }
[cost]
alu = { uops = 1, latency = 1, port = "alu", source = "book: 8" }
load = { issue = "1/4", latency = 0, source = "book: 9" }
`

const ToyExperiment = `name = "toy"
title = "A toy"
machine = "./machine.toml"
figures = ["overhead", "phases"]
[kernel]
image = "x86_64-2010"
isa = "toy"
era = "2010"
[workload]
loop = "bench_loop"
target = "bench_target"
hits = 100
warmup = 10
[[points]]
name = "k"
kind = "kprobe"
mode = "step"
handler = "handler_empty"
role = "fitted"
published = { time = "0.99 us", source = "A paper" }
[[points]]
name = "b"
kind = "kprobe"
mode = "boosted"
handler = "handler_empty"
published = { time = "0.43 us", source = "A paper" }
`

// ToyFiles writes the toy machine and experiment into a folder and returns the experiment's path.
func ToyFiles(t testing.TB) string {
	dir := t.TempDir()
	Write(t, dir, "machine.toml", ToyMachine)
	return Write(t, dir, "toy.toml", ToyExperiment)
}

// TiedMachine is the toy machine with its first event tied to the one that is fitted.
func TiedMachine(table string) string {
	return strings.Replace(ToyMachine, `mispredict = { cycles = "15", source = "book: 7" }`, "mispredict = { "+table+" }", 1)
}

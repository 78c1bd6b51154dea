package exptest

import (
	"debug/elf"
	_ "embed"
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

// ToyCollection has the toy experiment twice, on two machines.
//
//go:embed toy/both.toml
var ToyCollection string

//go:embed toy/slow.toml
var slow string

//go:embed toy/slower.toml
var slower string

// CollectionFiles writes a collection of the toy experiment and of the same on a slower machine, which
// has published figures of its own, and returns its path.
func CollectionFiles(t testing.TB) string {
	dir := filepath.Dir(ToyFiles(t))
	Write(t, dir, "slow.toml", slow)
	Write(t, dir, "slower.toml", slower)
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
	return planning.NewLoader(targets.Target{Name: "toy", ISA: toyISA(), Probes: probes, Images: workloads.List()})
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

// ToyMachine describes a machine of the toy ISA.
//
//go:embed toy/machine.toml
var ToyMachine string

// ToyExperiment measures two probes on the toy machine.
//
//go:embed toy/toy.toml
var ToyExperiment string

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

package schema

import (
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/machines"
	"kprobesim/modules"
	"kprobesim/targets"
)

// TestWorkOfPoints counts calls with a probe and without, each as often as there are CPUs that simulate them, and tells points apart by
// what their time depends on.
func TestWorkOfPoints(t *testing.T) {
	p := Point{Kind: "overhead", Target: &targets.Target{Name: "isa"}, Machine: &machines.Machine{}, Workload: Workload{Hits: 100, Warmup: 10, Loop: "l", Target: "t"}, Kernel: Kernel{Era: "2010"}}
	require.Equal(t, p.Calls(), 220, "calls of 10 to warm up and 100, with a probe and without")
	alone := p.Work()
	for cpus, want := range map[int64]float64{0: 1, 1: 1, 3: 3} {
		p.Kernel.CPUs = cpus
		require.Equal(t, p.Work(), want*alone, "the work of %d CPUs", cpus)
	}
	require.Equal(t, alone, 220+float64(bootCalls), "the work of a CPU")
	sort := p.Sort()
	require.That(t, !strings.Contains(sort, ","), "%s has a comma, which parts columns", sort)
	for what, change := range map[string]func(p *Point){
		"kind": func(p *Point) { p.Kind = "x" }, "instruction set": func(p *Point) { p.Target = &targets.Target{Name: "x"} }, "loop": func(p *Point) { p.Workload.Loop = "x" },
		"load": func(p *Point) { p.Workload.Load = "x" }, "era": func(p *Point) { p.Kernel.Era = "x" }, "target": func(p *Point) { p.Workload.Target = "x" }, "mode": func(p *Point) { p.Probe.Mode++ },
		"kind of a probe": func(p *Point) { p.Probe.Kind++ }, "crowd": func(p *Point) { p.Crowd.Probes++ }, "bucket": func(p *Point) { p.Crowd.SameBucket++ }, "position": func(p *Point) { p.Crowd.Position = "x" },
	} {
		other := p
		change(&other)
		require.That(t, other.Sort() != sort, "another %s makes no other sort", what)
	}
}

// TestModule finds a module that a point loads by the first part of a name.
func TestModule(t *testing.T) {
	p := Point{Modules: []Module{{File: &modules.File{Name: "one"}}, {File: &modules.File{Name: "two"}}}}
	for name, want := range map[string]string{"one:f": "one f", "two:g:h": "two g:h", "three:f": "", "one": "", "": ""} {
		m, function := p.Module(name)
		got := ""
		if m != nil {
			got = m.File.Name + " " + function
		}
		require.That(t, got == want && (m != nil || function == ""), "%q is %q, %q, want %q", name, got, function, want)
	}
}

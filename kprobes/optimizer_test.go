package kprobes

import (
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// A detour buffer that cannot be built is free again, and the probe says why.
func TestRefusedDetour(t *testing.T) { eachRegion(t, holdRefusedDetour) }

func holdRefusedDetour(t *testing.T, image string) {
	g := newGuest(t, image, Default())
	far := *g.k.jump
	far.Detour = func(Template, Region, DetourAt) ([]byte, *Refusal) {
		return nil, Refuse(RuleDisplacement, 1, "too far")
	}
	g.k.jump = &far
	st := g.state(g.add(Spec{Symbol: "bench_target"}))
	require.That(t, !st.Queued && st.Refusal != nil && st.Refusal.Rule == RuleDisplacement && !slices.Contains(g.k.detours.used, true), "%+v %v", st, st.Refusal)
}

// An architecture's kernels know some of the protocols, and use the first of them unasked.
func TestProtocolsOfAnArchitecture(t *testing.T) { eachRegion(t, holdProtocolsOfAnArchitecture) }

func holdProtocolsOfAnArchitecture(t *testing.T, image string) {
	g := newGuest(t, image, Default())
	arch, jumps := *ArchOf(g.im), *g.k.jump
	arch.Eras = slices.Clone(arch.Eras)
	for i := range arch.Eras {
		arch.Eras[i].Change = nil // it says which protocols there are, too
	}
	jumps.Patchings = []string{PatchBatch, PatchStop}
	arch.Optimizer = &jumps
	for asked, used := range map[string]string{"": PatchBatch, PatchStop: PatchStop, PatchBreakpoint: ""} {
		o := Default()
		o.Patching = asked
		k, err := build(g, g.im, g.smp, &arch, o)
		switch {
		case used == "" && (err == nil || !strings.Contains(err.Error(), `patching = "breakpoint"`)):
			t.Errorf("a protocol of others: %v", err)
		case used != "" && (err != nil || k.opt.Patching != used):
			t.Errorf("%q: %v, want %s", asked, err, used)
		}
	}
}

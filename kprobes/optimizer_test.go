package kprobes

import (
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/clock"
)

func TestOptimizeAfterDelay(t *testing.T) { eachRegion(t, holdOptimizeAfterDelay) }

func holdOptimizeAfterDelay(t *testing.T, image string) {
	g := newGuest(t, image, Default())
	was := g.text("bench_target", 0, 8)
	p := g.add(Spec{Symbol: "bench_target", Handler: "handler_empty"})
	if st := g.state(p); st.Mode != g.before() || !st.Queued || st.Refusal != nil {
		t.Errorf("at first %+v", st)
	}
	begin := g.now
	g.do(g.smp.Sleep(g, 4))
	if st := g.state(p); st.Mode != g.before() {
		t.Errorf("after 4 jiffies %+v", st)
	}
	g.do(g.smp.Sleep(g, 3))
	st := g.state(p)
	if st.Mode != Optimized || st.Queued || st.Refusal != nil {
		t.Errorf("after 7 jiffies (%d cycles) %+v", (g.now - begin).Cycles(), st)
	}
	s := g.k.site(st.Addr)
	jump, _ := g.k.jump.Jump(s.region, s.detour)
	if got := g.text("bench_target", 0, 8); got != hex(jump)+was[14:] {
		t.Errorf("text %s, want a jump to %#x", got, s.detour)
	}
	if g.passes != 1 {
		t.Errorf("%d changes of text, want one", g.passes)
	}
	g.do(g.k.Remove(g, p))
	g.do(g.k.WaitOptimizer(g))
	if got := g.text("bench_target", 0, 8); got != was {
		t.Errorf("text afterwards %s, was %s", got, was)
	}
	if len(g.k.sites) != 0 || slices.Contains(g.k.detours.used, true) || slices.Contains(g.k.slots.used, true) {
		t.Error("the optimized probe leaves something behind")
	}
}

func TestWaitOptimizerDoesNotWaitForTheDelay(t *testing.T) {
	eachRegion(t, holdWaitOptimizerDoesNotWaitForTheDelay)
}

func holdWaitOptimizerDoesNotWaitForTheDelay(t *testing.T, image string) {
	g := newGuest(t, image, Default())
	p := g.add(Spec{Symbol: "bench_target"})
	begin := g.now
	g.do(g.k.WaitOptimizer(g))
	if st := g.state(p); st.Mode != Optimized {
		t.Errorf("%+v", st)
	}
	if g.now-begin > clock.FromCycles(1e6) {
		t.Errorf("took %d cycles, more than a jiffy", (g.now - begin).Cycles())
	}
}

func TestRefusalsOfWorkloads(t *testing.T) { eachRegion(t, holdRefusalsOfWorkloads) }

func holdRefusalsOfWorkloads(t *testing.T, image string) {
	tests := []struct {
		symbol string
		rule   Rule
	}{
		{"bench_target", ""},
		{"work_frame", ""},
		{"work_rip_relative", ""},
		{"work_switch", RuleIndirectJump},
		{"work_faulting", RuleExceptionTable},
		{"work_tight_loop", RuleJumpIntoRegion},
		{"work_call_first", RuleNotBoostable},
		{"work_short", RuleTooShort},
		{"work_jcc_first", RuleNotBoostable},
	}
	for _, tt := range tests {
		t.Run(tt.symbol, func(t *testing.T) {
			g := newGuest(t, image, Default())
			p := g.add(Spec{Symbol: tt.symbol})
			g.do(g.k.WaitOptimizer(g))
			st := g.state(p)
			if tt.rule == "" {
				if st.Mode != Optimized || st.Refusal != nil {
					t.Errorf("%+v %v", st, st.Refusal)
				}
				return
			}
			if st.Mode == Optimized || st.Refusal == nil || st.Refusal.Rule != tt.rule {
				t.Errorf("%+v, %v, want %s", st, st.Refusal, tt.rule)
			}
		})
	}
}

func TestPassingRefusals(t *testing.T) { eachRegion(t, holdPassingRefusals) }

func holdPassingRefusals(t *testing.T, image string) {
	o := Default()
	o.Optimization = false
	g := newGuest(t, image, o)
	p := g.add(Spec{Symbol: "bench_target"})
	want := func(rule Rule, mode Mode) {
		t.Helper()
		g.do(g.k.WaitOptimizer(g))
		st := g.state(p)
		if st.Mode != mode || (st.Refusal == nil) != (rule == "") || st.Refusal != nil && st.Refusal.Rule != rule {
			t.Errorf("%+v, %v; want %s and %q", st, st.Refusal, mode, rule)
		}
	}
	want(RuleOff, g.before())
	g.do(g.k.SetOptimization(g, true))
	want("", Optimized)
	q := g.add(Spec{Symbol: "bench_target", Post: "post_empty"})
	want(RulePostHandler, Stepped)
	g.do(g.k.Remove(g, q))
	want("", Optimized)
	g.do(g.k.Disable(g, p))
	want(RuleDisabled, Disabled)
	g.do(g.k.Enable(g, p))
	want("", Optimized)
	g.do(g.k.SetOptimization(g, false))
	want(RuleOff, g.before())
}

func TestProbeInsideRegion(t *testing.T) { eachRegion(t, holdProbeInsideRegion) }

func holdProbeInsideRegion(t *testing.T, image string) {
	g := newGuest(t, image, Default())
	was := g.text("work_frame", 0, 5)
	outer := g.add(Spec{Symbol: "work_frame"})
	g.do(g.k.WaitOptimizer(g))
	inner := g.add(Spec{Symbol: "work_frame", Offset: g.insn("work_frame", 2)})
	st := g.state(outer)
	if st.Mode != g.before() || st.Refusal == nil || st.Refusal.Rule != RuleProbeInRegion {
		t.Errorf("with a probe inside: %+v %v", st, st.Refusal)
	}
	if g.passes != 2 {
		t.Errorf("%d changes of text: the jump must go before the breakpoint comes", g.passes)
	}
	g.do(g.k.WaitOptimizer(g))
	if st := g.state(outer); st.Mode == Optimized {
		t.Errorf("optimized over another probe: %+v", st)
	}
	g.do(g.k.Disable(g, inner))
	g.do(g.k.WaitOptimizer(g))
	if st := g.state(outer); st.Mode != Optimized {
		t.Errorf("with the probe inside disabled: %+v %v", st, st.Refusal)
	}
	g.do(g.k.Remove(g, inner))
	g.do(g.k.Remove(g, outer))
	g.do(g.k.WaitOptimizer(g))
	if got := g.text("work_frame", 0, 5); got != was {
		t.Errorf("text afterwards %s", got)
	}
}

// A jump that waits for being undone stands until it is, or until somebody wants it again.
func TestRegisterWhileUnoptimizing(t *testing.T) { eachRegion(t, holdRegisterWhileUnoptimizing) }

func holdRegisterWhileUnoptimizing(t *testing.T, image string) {
	g := newGuest(t, image, Default())
	was := g.text("bench_target", 0, 5)
	p := g.add(Spec{Symbol: "bench_target"})
	g.do(g.k.WaitOptimizer(g))
	g.do(g.k.Remove(g, p))
	if got := g.text("bench_target", 0, 1); got != "e9" {
		t.Fatalf("text %s right after removal, want the jump", got)
	}
	again := g.add(Spec{Symbol: "bench_target"})
	if st := g.state(again); st.Mode != Optimized {
		t.Errorf("taken over: %+v", st)
	}
	g.do(g.k.WaitOptimizer(g))
	if st := g.state(again); st.Mode != Optimized {
		t.Errorf("taken over and settled: %+v", st)
	}
	g.do(g.k.Remove(g, again))
	post := g.add(Spec{Symbol: "bench_target", Post: "post_empty"})
	if st := g.state(post); st.Mode != Stepped || g.text("bench_target", 1, 4) != was[3:] {
		t.Errorf("taken over with a post handler: %+v, %s", st, g.text("bench_target", 0, 5))
	}
	g.do(g.k.Remove(g, post))
	g.do(g.k.WaitOptimizer(g))
	if got := g.text("bench_target", 0, 5); got != was {
		t.Errorf("text afterwards %s, was %s", got, was)
	}
}

// A probe that goes before the optimizer comes is only taken off its list: no jump is written.
func TestWaitingWishIsTakenOff(t *testing.T) { eachKernel(t, holdWaitingWishIsTakenOff) }

func holdWaitingWishIsTakenOff(t *testing.T, image string) {
	g := newGuest(t, image, Default())
	was := g.text("bench_target", 0, 8)
	p := g.add(Spec{Symbol: "bench_target"})
	g.do(g.k.Disable(g, p))
	if st := g.state(p); st.Queued {
		t.Errorf("%+v", st)
	}
	g.do(g.smp.Sleep(g, 8))
	g.do(g.k.WaitOptimizer(g))
	if got := g.text("bench_target", 0, 8); got != was || len(g.pokes) != 2 {
		t.Errorf("text %s, was %s; want a breakpoint and its end: %q", got, was, g.pokes)
	}
}

func TestBatchLimit(t *testing.T) { eachRegion(t, holdBatchLimit) }

func holdBatchLimit(t *testing.T, image string) {
	o := Default()
	o.Batch = 2
	g := newGuest(t, image, o)
	var ps []*Probe
	for _, s := range []string{"bench_target", "work_frame", "work_rip_relative", "work_divide", "work_atomic"} {
		ps = append(ps, g.add(Spec{Symbol: s}))
	}
	g.do(g.smp.Sleep(g, 6))
	optimized := func() (n int) {
		for _, p := range ps {
			if g.state(p).Mode == Optimized {
				n++
			}
		}
		return n
	}
	if n := optimized(); n != 2 {
		t.Errorf("%d optimized by the first pass, want 2", n)
	}
	g.do(g.smp.Sleep(g, 6))
	if n := optimized(); n != 4 {
		t.Errorf("%d optimized by two passes, want 4", n)
	}
	g.do(g.k.WaitOptimizer(g))
	if n := optimized(); n != 5 || g.passes != 3 {
		t.Errorf("%d optimized with %d changes of text, want 5 with 3", n, g.passes)
	}
}

// The analysis of a function sees it as the compiler made it, whatever probes stand in it.
func TestAnalysisSeesOriginalText(t *testing.T) { eachRegion(t, holdAnalysisSeesOriginalText) }

func holdAnalysisSeesOriginalText(t *testing.T, image string) {
	g := newGuest(t, image, Default())
	g.add(Spec{Symbol: "bench_target"})
	g.do(g.k.WaitOptimizer(g))
	late := g.add(Spec{Symbol: "bench_target", Offset: g.insn("bench_target", 2)})
	g.do(g.k.WaitOptimizer(g))
	if st := g.state(late); st.Refusal != nil && (st.Refusal.Rule == RuleForeign || st.Refusal.Rule == RuleUndecodable) {
		t.Errorf("a probe's own change stands in the way: %v", st.Refusal)
	}
}

// A reason that lasts is named before one that passes.
func TestLastingReasonsComeFirst(t *testing.T) { eachRegion(t, holdLastingReasonsComeFirst) }

func holdLastingReasonsComeFirst(t *testing.T, image string) {
	for rule, change := range map[Rule]func(*Options){
		RulePreempt: func(o *Options) { o.Preempt, o.Quiesce = true, QuiesceSched }, RuleUnsupported: func(o *Options) { o.OptProbes = false },
		RuleOff: func(*Options) {},
	} {
		o := Default()
		o.Optimization = false
		change(&o)
		g := newGuest(t, image, o)
		if st := g.state(g.add(Spec{Symbol: "bench_target"})); st.Refusal == nil || st.Refusal.Rule != rule {
			t.Errorf("%v, want %s", st.Refusal, rule)
		}
	}
}

// A detour buffer that cannot be built is free again, and the probe says why.
func TestRefusedDetour(t *testing.T) { eachRegion(t, holdRefusedDetour) }

func holdRefusedDetour(t *testing.T, image string) {
	g := newGuest(t, image, Default())
	far := *g.k.jump
	far.Detour = func(Template, Region, DetourAt) (Detour, *Refusal) {
		return Detour{}, Refuse(RuleDisplacement, 1, "too far")
	}
	g.k.jump = &far
	st := g.state(g.add(Spec{Symbol: "bench_target"}))
	if st.Queued || st.Refusal == nil || st.Refusal.Rule != RuleDisplacement || slices.Contains(g.k.detours.used, true) {
		t.Errorf("%+v %v", st, st.Refusal)
	}
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
		k, err := Build(g, g.im, g.smp, &arch, o)
		switch {
		case used == "" && (err == nil || !strings.Contains(err.Error(), `patching = "breakpoint"`)):
			t.Errorf("a protocol of others: %v", err)
		case used != "" && (err != nil || k.opt.Patching != used):
			t.Errorf("%q: %v, want %s", asked, err, used)
		}
	}
}

// A preemptible kernel does not optimize. One whose optimizer waits for tasks does, whatever the documents say.
func TestPreemptibleKernelRefuses(t *testing.T) { eachKernel(t, holdPreemptibleKernelRefuses) }

func holdPreemptibleKernelRefuses(t *testing.T, image string) {
	o := Default()
	o.Preempt = true
	g := newGuest(t, image, o)
	st := g.state(g.add(Spec{Symbol: "bench_target"}))
	if refused := st.Refusal != nil && st.Refusal.Rule == RulePreempt; refused == g.k.era.Tasks {
		t.Errorf("%+v %v", st, st.Refusal)
	}
}

// A disabled probe between a jump's start and a new breakpoint does not hide the jump.
func TestDisabledProbeDoesNotHideJump(t *testing.T) { eachRegion(t, holdDisabledProbeDoesNotHideJump) }

func holdDisabledProbeDoesNotHideJump(t *testing.T, image string) {
	g := newGuest(t, image, Default())
	jumping := g.add(Spec{Symbol: "work_frame"})
	g.add(Spec{Symbol: "work_frame", Offset: 1, Disabled: true})
	g.do(g.k.WaitOptimizer(g))
	if st := g.state(jumping); st.Mode != Optimized {
		t.Fatalf("%+v %v", st, st.Refusal)
	}
	g.add(Spec{Symbol: "work_frame", Offset: g.insn("work_frame", 2)})
	if st := g.state(jumping); st.Mode != g.before() {
		t.Errorf("with a breakpoint in the region: %+v", st)
	}
}

// A jump that nobody wants any more is freed also when a new breakpoint forces it away early.
func TestForcedAwayAfterRemoval(t *testing.T) { eachRegion(t, holdForcedAwayAfterRemoval) }

func holdForcedAwayAfterRemoval(t *testing.T, image string) {
	g := newGuest(t, image, Default())
	inner := g.insn("work_frame", 2)
	was := g.text("work_frame", 0, int(inner))
	p := g.add(Spec{Symbol: "work_frame"})
	g.do(g.k.WaitOptimizer(g))
	g.do(g.k.Remove(g, p))
	q := g.add(Spec{Symbol: "work_frame", Offset: inner})
	if got := g.text("work_frame", 0, int(inner)+1); got != was+" cc" {
		t.Errorf("text %s, was %s", got, was)
	}
	g.do(g.k.Remove(g, q))
	g.do(g.k.WaitOptimizer(g))
	if len(g.k.sites) != 0 || slices.Contains(g.k.detours.used, true) {
		t.Error("the site stays")
	}
}

// While the jump of a disabled probe still stands, no jump and no pending one may span it.
func TestDisabledJumpIsInTheWay(t *testing.T) { eachRegion(t, holdDisabledJumpIsInTheWay) }

func holdDisabledJumpIsInTheWay(t *testing.T, image string) {
	g := newGuest(t, image, Default())
	inner := g.add(Spec{Symbol: "work_frame", Offset: g.insn("work_frame", 2)})
	g.do(g.k.WaitOptimizer(g))
	g.do(g.k.Disable(g, inner))
	outer := g.add(Spec{Symbol: "work_frame"})
	if st := g.state(outer); st.Queued || st.Refusal == nil || st.Refusal.Rule != RuleProbeInRegion {
		t.Errorf("before the inner jump is undone: %+v %v", st, st.Refusal)
	}
	g.do(g.k.WaitOptimizer(g))
	if st := g.state(outer); st.Mode != Optimized {
		t.Errorf("afterwards: %+v %v", st, st.Refusal)
	}
}

package targets

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
	"kprobesim/sim"
)

// seen is the trace that a layout leaves in a run.
type seen struct {
	stack, slot, detour uint64 // the stack pointer behind the first instruction of the loop, the first instruction in a slot and in a detour
	object, page        uint64 // what the heap gives for 64 bytes and for a page
	mispredicts         uint64
	online              clock.Ticks // when the ticks have run for the drawn time
}

// watcher notes the first instructions in slots and detours, and the stack at the entry of the loop.
type watcher struct {
	m             *sim.Machine
	loop          uint64
	slots, detour [2]uint64
	seen
}

// Step implements cpus.Observer.
func (w *watcher) Step(s *cpus.Step) {
	first := func(at *uint64, in [2]uint64) {
		if *at == 0 && s.PC >= in[0] && s.PC < in[1] {
			*at = s.PC
		}
	}
	first(&w.slot, w.slots)
	first(&w.seen.detour, w.detour)
	if s.PC == w.loop && w.stack == 0 {
		w.stack = w.m.CPU(0).SP()
	}
}

// look returns what shows under a layout: of an optimized probe, and of the slot of one that is stepped.
func look(t *testing.T, l sim.Layout) seen {
	t.Helper()
	s := run(t, l, true)
	s.slot = run(t, l, false).slot
	return s
}

// run boots a kernel under a layout, hits a probe twice, and returns what shows.
func run(t *testing.T, l sim.Layout, optimize bool) seen {
	t.Helper()
	c := config(t, Find(List(), "x86_64"), "x86_64-2010")
	c.Machine.Layout = l
	c.Probes.OptProbes, c.Probes.Optimization = optimize, optimize
	sys, err := Find(List(), "x86_64").Build(c)
	require.NoError(t, err)
	w := &watcher{m: sys.Machine}
	err = sys.Run(func(call *sim.Call) error {
		if err := sys.Kernel.Online(call); err != nil {
			return err
		}
		w.online = call.Now()
		im := sys.Machine.Image()
		span := func(name string) [2]uint64 {
			from, _ := im.Symbol("__" + name + "_start")
			to, _ := im.Symbol("__" + name + "_end")
			return [2]uint64{from.Addr, to.Addr}
		}
		target, _ := im.Func("bench_target")
		loop, _ := im.Func("bench_loop")
		w.loop, w.slots, w.detour = loop.Entry, span("slots"), span("detours")
		w.object, _ = sys.Machine.Alloc(64, 64)
		w.page, _ = sys.Machine.Alloc(4096, 4096)
		if _, err := sys.Probes.Add(call, kprobes.Spec{Symbol: "bench_target", Handler: "handler_empty"}); err != nil {
			return err
		}
		sys.Machine.CPU(0).Observe(w)
		defer sys.Machine.CPU(0).Observe(nil)
		if _, err := call.InvokeSym("bench_loop", target.Pointer, 1, 1, 2); err != nil {
			return err
		}
		if err := sys.Probes.WaitOptimizer(call); err != nil {
			return err
		}
		_, err := call.InvokeSym("bench_loop", target.Pointer, 1, 1, 2)
		w.mispredicts = sys.Machine.CPU(0).Counters().Mispredicts
		return err
	})
	require.Need(t, err == nil, "%+v: %v", l, err)
	return w.seen
}

// Each part of a layout reaches what it is drawn for, and by as much as is drawn.
func TestLayoutReaches(t *testing.T) {
	plain := look(t, sim.Layout{})
	require.Need(t, plain.slot != 0 && plain.detour != 0 && plain.stack != 0, "a run shows %+v", plain)
	if got := look(t, sim.Layout{Stack: 160}); plain.stack-got.stack != 160 {
		t.Errorf("stack at %#x, 160 bytes below %#x wanted", got.stack, plain.stack)
	}
	near, far := look(t, sim.Layout{Heap: 64}), look(t, sim.Layout{Heap: 192})
	require.That(t, far.object == near.object+128 && far.page == near.page, "objects at %#x and %#x under offsets of 64 and 192; pages %#x and %#x", near.object, far.object, near.page, far.page)
	if got := look(t, sim.Layout{Pages: 5}); got.page == plain.page || got.page&0xfff != 0 {
		t.Errorf("page %#x, without a draw %#x", got.page, plain.page)
	}
	got := look(t, sim.Layout{Slots: 7, Detours: 3})
	require.That(t, got.slot > plain.slot && (got.slot-plain.slot)%7 == 0 && got.detour > plain.detour && (got.detour-plain.detour)%3 == 0, "slot %#x and detour %#x, without a draw %#x and %#x", got.slot, got.detour, plain.slot, plain.detour)
	if got := look(t, sim.Layout{Predictor: 9}); got.mispredicts == plain.mispredicts {
		t.Errorf("%d mispredictions with a filled predictor and an empty one", got.mispredicts)
	}
	jiffy := clock.FromCycles(config(t, Find(List(), "x86_64"), "x86_64-2010").Machine.CPU.Hz / 1000)
	if got := look(t, sim.Layout{Phase: 1 << 15}); got.online-plain.online < jiffy*49/100 || got.online-plain.online > jiffy*51/100 {
		t.Errorf("online after %d ticks, half a jiffy of %d behind %d wanted", got.online, jiffy, plain.online)
	}
}

package kprobes

import (
	"testing"

	"kprobesim/internal/require"
	"kprobesim/sim"
)

// Where a jump went its breakpoint stays. A CPU may hit it when the patch is nearly done, and look it up
// while the next patch begins. Wherever it is held up on the way, it must not go on in the
// detour of the other.
func TestPatchEndsUnderItsHit(t *testing.T) {
	for _, tt := range []struct {
		protocol, last string
		fns            []string // of the guest, that look the breakpoint up
	}{
		{PatchBreakpoint, "first", []string{"poke_notify"}},
		{PatchBatch, "tail", []string{"batch_notify", "poke_find"}},
	} {
		images := kernelsWith(tt.protocol)
		if tt.protocol == PatchBreakpoint { // later ones look up as in a batch
			images = older(images)
		}
		for _, image := range images {
			t.Run(image+"/"+tt.protocol, func(t *testing.T) {
				o := Default()
				o.Patching, o.Delay = tt.protocol, 1
				a := &lookupRace{ambush: ambush{victim: 1}, last: tt.last}
				bootUnder(t, a, image, 2, o, func(w *crowd) { w.patchUnderAll(a, tt.fns) })
			})
		}
	}
}

// patchUnderAll holds the victim up in front of each instruction of the functions.
func (w *crowd) patchUnderAll(a *lookupRace, fns []string) {
	want := w.call("bench_target", 5, 77)
	a.addr = w.addr("bench_target")
	w.m.Watch(a.event)
	w.prey(&a.ambush, want, 0)
	held := 0
	for _, fn := range fns {
		for _, off := range w.offsets(fn) {
			held += w.patchUnder(a, w.addr(fn)+off)
		}
	}
	require.That(w.t, held >= 10, "held up at %d instructions", held)
	a.released = true
	w.survives(&a.ambush)
}

// lookupRace is an ambush in front of an instruction that looks a breakpoint up, once the last step of
// undoing its jump has been synchronized.
type lookupRace struct {
	ambush
	addr uint64 // where the jump was
	last string // step of the protocol
	step string // of the patch there
	lie  uint64 // in wait; 0 for not yet
	rush int    // instructions for which the victim alone runs
}

func (a *lookupRace) Next(m *sim.Machine, runnable []int) (cpu, steps int) {
	if a.rush > 0 && m.CPU(a.victim).PC() != a.at {
		a.rush--
		return a.victim, 1
	}
	a.rush = 0
	return a.ambush.Next(m, runnable)
}

func (a *lookupRace) event(e sim.Event) {
	switch {
	case e.Kind == EventPatch && e.Arg-a.addr < 2: // the first byte, or those behind it
		a.step = e.Name
	case e.Kind == EventSync && e.CPU == a.victim && a.lie != 0 && a.step == a.last:
		a.at, a.rush, a.lie = a.lie, 3000, 0
	}
}

// patchUnder undoes two jumps in patches that follow one another, with the victim held up in front of
// an instruction on its way from the breakpoint of the first. It returns 1 if the victim came there.
func (w *crowd) patchUnder(a *lookupRace, at uint64) int {
	w.t.Helper()
	p, q := w.add(Spec{Symbol: "bench_target"}), w.add(Spec{Symbol: "work_frame"})
	a.ambush = ambush{victim: a.victim, turn: a.turn, patience: 60}
	a.lie, a.step = at, ""
	w.do(w.k.locked(w.Call, func() error {
		for _, x := range []*Probe{p, q} {
			if err := w.k.unoptimize(w.Call, w.k.siteOf(x.Addr), true); err != nil {
				return err
			}
		}
		return nil
	}))
	a.released = true
	w.remove(p)
	w.remove(q)
	if a.held {
		return 1
	}
	return 0
}

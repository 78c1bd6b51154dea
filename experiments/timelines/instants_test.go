package timelines

import (
	"fmt"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/smp"
)

// TestInstants draws an event of each kind, with an address of code and without. The golden file has what stands in a timeline then.
func TestInstants(t *testing.T) {
	im := exptest.PointOf(t, exptest.E5410, "k").Image.Image
	at, _ := im.Func("bench_target")
	w := newWatcher(im, 3, 1000, "instants")
	text := ""
	for _, kind := range []sim.EventKind{
		sim.EventIPISend, sim.EventIPI, sim.EventSignal, sim.EventTask, smp.EventWake, smp.EventTick, smp.EventGraceBegin, smp.EventGraceEnd,
		smp.EventQuiescent, smp.EventLate, smp.EventStop, kprobes.EventPatch, kprobes.EventSync, kprobes.EventProbe, kprobes.EventSlot,
		kprobes.EventDetour, kprobes.EventWatch, kprobes.EventPatch, kprobes.EventSync, kprobes.EventSync,
	} {
		for i, arg := range []uint64{0, 3, at.Entry + 4} {
			m, drawn := w.instant(sim.Event{Kind: kind, Name: "n", CPU: i, ID: 7, Arg: arg})
			text += fmt.Sprintf("%s %d: %v %+v\n", kind, i, drawn, m)
		}
	}
	for _, e := range []sim.Event{{Name: "idle"}, {Name: "idle", Arg: 1}, {Name: "migration/1"}, {Name: "a task"}} {
		text += fmt.Sprintf("%s: %s\n", e.Name, taskCategory(e))
	}
	for _, at := range []uint64{3, at.Entry, at.Entry + 4} {
		text += fmt.Sprintf("%#x: %s, %s\n", at, w.function(at), w.place(at))
	}
	exptest.Golden(t, "instants.txt", text)
}

// TestOtherCPUs leaves events of CPUs out that there are not, and draws no step before one that it follows.
func TestOtherCPUs(t *testing.T) {
	w := newWatcher(exptest.PointOf(t, exptest.E5410, "k").Image.Image, 2, 1000, "others")
	for cpu, want := range map[int]int{-1: 0, 2: 0, 0: 1, 1: 1} {
		before := w.t.Len()
		w.event(sim.Event{Kind: kprobes.EventSync, CPU: cpu, At: 5})
		require.Equal(t, w.t.Len()-before, want, "events drawn of CPU %d", cpu)
	}
	stop, ipi := mark(onStop, "s"), mark(onIPI, "i")
	require.That(t, w.causal(9, stop) == 9 && w.causal(8, ipi) == 8 && w.causal(8, stop) == 9 && w.causal(10, stop) == 10, "the order of steps")
	empty := newWatcher(w.im, 2, 1000, "nothing")
	empty.cpus = nil
	empty.t.Instant(0, 0, stop)
	require.NoError(t, require.Err(empty.finish()))
}

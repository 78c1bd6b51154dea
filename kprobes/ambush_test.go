package kprobes

import (
	"slices"
	"testing"

	"kprobesim/sim"
	"kprobesim/smp"
)

// ambush lets CPUs run in turn and holds one of them up in front of an instruction, so that what
// may happen there once in a long time happens.
type ambush struct {
	victim   int
	at       uint64 // the instruction, 0 to hold nobody up
	held     bool
	released bool
	turn     int
}

func (a *ambush) Next(m *sim.Machine, runnable []int) (cpu, steps int) {
	const turns = 300 // of one instruction, as many as another CPU gets at once
	a.turn++
	cpu = runnable[a.turn/turns%len(runnable)]
	if cpu != a.victim {
		a.turn += turns - 1
		return cpu, turns
	}
	if a.at != 0 && !a.released && m.CPU(cpu).PC() == a.at {
		a.held = true
	}
	if i := slices.IndexFunc(runnable, func(c int) bool { return c != a.victim }); a.held && !a.released && i >= 0 {
		return runnable[i], turns
	}
	return cpu, 1
}

// A CPU has seen the breakpoint of a probe, and before it looks for the probe both are gone.
func TestBreakpointVanishesUnderItsHit(t *testing.T) {
	for _, o := range kernels() {
		o.opt.OptProbes = false
		t.Run(o.name, func(t *testing.T) {
			a := &ambush{victim: 1}
			bootUnder(t, a, o.image, 2, o.opt, func(w *crowd) { vanish(t, w, a) })
		})
	}
}

func vanish(t *testing.T, w *crowd, a *ambush) {
	want := w.call("bench_target", 5, 77)
	p := w.add(Spec{Symbol: "bench_target", Handler: "handler_count"})
	task, err := w.smp.GoOn(w.Call, a.victim, "loop", func(c smp.Caller) error {
		return w.loop(c, "bench_target", want)
	})
	w.do(err)
	w.tasks = append(w.tasks, task)
	w.sleep(2)
	w.m.Watch(func(e sim.Event) {
		if e.Kind == "grace-begin" {
			a.released = true // nothing is left of the probe
		}
	})
	a.at = w.addr("get_kprobe")
	for !a.held {
		w.call("cond_resched")
	}
	w.do(w.k.Remove(w.Call, p))
	calls := w.calls
	w.sleep(2)
	w.end()
	if !a.released || w.calls == calls {
		t.Errorf("the loop does not go on: %d calls before and after, held %v, released %v", calls, a.held, a.released)
	}
	w.holdNothingLeft()
}

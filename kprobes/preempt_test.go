package kprobes

import (
	"slices"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/sim"
	"kprobesim/smp"
)

// On a kernel with preemption a task that is in a handler is interrupted, with the handler in a detour,
// but not preempted: the path of a hit counts that preemption is disabled, and every count is taken back.
func TestHandlersAreNotPreempted(t *testing.T) {
	preemptible := slices.DeleteFunc(kernels(), func(o kernel) bool { return !o.opt.Preempt })
	for _, o := range hosttools.Share(t, "kernels", 3, preemptible) {
		for _, kind := range []Kind{Kprobe, Kretprobe} {
			bootMany(t, o.image, 1, o.opt, func(w *crowd) { holdHandlers(t, w, kind) })
		}
	}
}

func holdHandlers(t *testing.T, w *crowd, kind Kind) {
	handler := map[Kind]string{Kprobe: "handler_work", Kretprobe: "ret_work"}[kind]
	p := w.add(Spec{Kind: kind, Symbol: "bench_target", Handler: handler, MaxActive: 4})
	if st := w.state(p); st.Mode != Optimized && st.Mode != Ftrace {
		t.Errorf("the probe is %s", st.Mode)
	}
	inside, switches, ticks := false, 0, 0
	w.m.Watch(func(e sim.Event) {
		switch e.Kind {
		case smp.EventTick:
			if w.percpu("hit_record") != 0 {
				ticks++
			}
		case sim.EventTask:
			switches++
			inside = inside || w.percpu("hit_record") != 0
		}
	})
	calls := 600 * max(w.m.ISA().TimerCycles, 1) // a jiffy is longer where timers count coarser
	for range 2 {
		task, err := w.smp.Go(w.Call, "loop", func(c smp.Caller) error {
			_, err := c.InvokeSym("bench_loop", w.pointer("bench_target"), uint64(calls), 5, 77)
			return err
		})
		w.do(err)
		w.tasks = append(w.tasks, task)
	}
	w.end()
	if switches < 10 || inside {
		t.Errorf("%s, %s: %d switches of tasks, one within a handler: %v", w.m.Image().Name, handler, switches, inside)
	}
	// A detour on ppc64 disables interrupts around its handlers.
	if ticked := ticks != 0; kind == Kprobe && ticked != (w.k.arch.Then == Boosted) {
		t.Errorf("%s: a tick came in a handler: %v", handler, ticked)
	}
	w.remove(p)
}

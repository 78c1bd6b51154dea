package kprobes

import (
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
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
	hurry    bool // the others hardly get on until the victim is held
	patience int  // turns of others after which it goes on, 0 for never
}

func (a *ambush) Next(m *sim.Machine, runnable []int) (cpu, steps int) {
	const turns = 300 // of one instruction, as many as another CPU gets at once
	a.turn++
	cpu = runnable[a.turn/turns%len(runnable)]
	if cpu != a.victim {
		a.turn += turns - 1
		if a.hurry && !a.held {
			return cpu, 1
		}
		return cpu, turns
	}
	if a.at != 0 && !a.released && m.CPU(cpu).PC() == a.at {
		a.held = true
	}
	if i := slices.IndexFunc(runnable, func(c int) bool { return c != a.victim }); a.held && !a.released && i >= 0 {
		if a.patience--; a.patience == 0 {
			a.released = true
		}
		return runnable[i], turns
	}
	return cpu, 1
}

// A CPU has seen the breakpoint of a probe, and before it looks for the probe both are gone.
func TestBreakpointVanishesUnderItsHit(t *testing.T) {
	for _, o := range hosttools.Share(t, "kernels", 3, kernels()) {
		o.opt.OptProbes = false
		t.Run(o.name, func(t *testing.T) {
			a := &ambush{victim: 1}
			bootUnder(t, a, o.image, 2, o.opt, func(w *crowd) { vanish(t, w, a) })
		})
	}
}

// vanish holds the victim up until nothing is left of the probe, or until something waits for the hit: a stop of the
// machine, or a CPU that changes text and wants the others to answer before it goes on.
func vanish(t *testing.T, w *crowd, a *ambush) {
	want := w.call("bench_target", 5, 77)
	p := w.add(Spec{Symbol: "bench_target", Handler: "handler_count"})
	until := []sim.EventKind{smp.EventGraceBegin} // then nothing is left of the probe
	if w.k.arch.StopsToRestore {
		until = append(until, smp.EventStop)
	}
	if answered(w) {
		until = append(until, sim.EventIPISend)
	}
	w.prey(a, want, w.addr("find_probe"), until...)
	w.do(w.k.Remove(w.Call, p))
	w.survives(a)
}

// answered tells kernels in which every change of text waits for an answer of all CPUs.
func answered(w *crowd) bool { return w.k.arch.SyncsBreakpoints }

// A CPU has seen that there is a post handler, and before it calls it the last probe that has one leaves; or
// it is in the function of a jprobe, and before it comes back the jprobe leaves the others.
func TestProbeLeavesOthersUnderItsHit(t *testing.T) {
	for _, x := range []struct {
		name   string
		leaves Spec
		at     func(w *crowd) uint64 // where the CPU is held up
		until  []sim.EventKind
	}{
		{"post handler", Spec{Post: "post_count"}, (*crowd).postCall, []sim.EventKind{smp.EventStop, smp.EventGraceBegin}},
		{"jprobe", Spec{Kind: Jprobe, Handler: "jprobe_arguments"}, func(w *crowd) uint64 { return w.addr("jprobe_arguments") }, []sim.EventKind{smp.EventGraceBegin}},
	} {
		x.leaves.Symbol = "bench_target"
		able := slices.DeleteFunc(kernels(), func(o kernel) bool { return x.leaves.Kind == Jprobe && !o.jprobes() })
		for _, o := range hosttools.Share(t, "kernels", 3, able) {
			o.opt.OptProbes = false
			t.Run(x.name+"/"+o.name, func(t *testing.T) {
				a := &ambush{victim: 1}
				bootUnder(t, a, o.image, 2, o.opt, func(w *crowd) {
					want := w.call("bench_target", 5, 77)
					stays := w.add(Spec{Symbol: "bench_target", Handler: "handler_count"})
					leaves := w.add(x.leaves)
					w.prey(a, want, x.at(w), x.until...)
					w.do(w.k.Remove(w.Call, leaves))
					w.do(w.k.Remove(w.Call, stays))
					w.survives(a)
				})
			})
		}
	}
}

// postCall is the instruction that calls the post handler of a probe.
func (w *crowd) postCall() uint64 {
	at := entrance{fn: w.addr("group_after")}
	for i := range w.cpus { // the task may move
		w.m.CPU(i).Observe(&at)
	}
	w.call("bench_target", 5, 77)
	for i := range w.cpus {
		w.m.CPU(i).Observe(nil)
	}
	require.That(w.t, at.from != 0, "no post handler was called")
	return at.from
}

// entrance notes the instruction from which a function is entered first.
type entrance struct{ fn, last, from uint64 }

// Step implements cpus.Observer.
func (e *entrance) Step(s *cpus.Step) {
	if s.PC == e.fn && e.from == 0 {
		e.from = e.last
	}
	e.last = s.PC
}

// prey starts a loop on the victim and waits until it is held up in front of an instruction. It goes on
// after the first event of one of the kinds.
func (w *crowd) prey(a *ambush, want, at uint64, until ...sim.EventKind) {
	w.t.Helper()
	task, err := w.smp.GoOn(w.Call, a.victim, "loop", func(c smp.Caller) error {
		return w.loop(c, "bench_target", want)
	})
	w.do(err)
	w.tasks = append(w.tasks, task)
	w.sleep(2)
	a.at = at
	for !a.held && at != 0 {
		w.call("cond_resched")
	}
	w.m.Watch(func(e sim.Event) { a.released = a.released || slices.Contains(until, e.Kind) })
}

// survives expects that the victim goes on with its loop and that no probe is left.
func (w *crowd) survives(a *ambush) {
	w.t.Helper()
	calls := w.calls
	w.sleep(2)
	w.end()
	w.do(w.k.WaitOptimizer(w.Call))
	require.That(w.t, a.released && w.calls != calls, "the loop does not go on: %d calls before and after, held %v, released %v", calls, a.held, a.released)
	w.holdNothingLeft()
}

// A CPU is on its way through a detour, and before it calls the handlers a jprobe joins them, which
// cannot be called from there.
func TestJprobeJoinsUnderADetour(t *testing.T) {
	able := slices.DeleteFunc(kernels(), func(o kernel) bool { return o.old() || !o.jprobes() }) // the old ones have no detours
	for _, o := range hosttools.Share(t, "kernels", 3, able) {
		t.Run(o.name, func(t *testing.T) {
			a := &ambush{victim: 1}
			bootUnder(t, a, o.image, 2, o.opt, func(w *crowd) {
				want := w.call("bench_target", 5, 77)
				p := w.add(Spec{Symbol: "bench_target", Handler: "handler_count"})
				w.prey(a, want, w.addr("detour_called"), EventPatch, smp.EventStop)
				q := value(w.k.Add(w.Call, Spec{Symbol: "bench_target", Kind: Jprobe, Handler: "jprobe_arguments"}))(w)
				w.sleep(2)
				st := w.state(p)
				require.That(t, st.Mode != Optimized && st.Refusal != nil && st.Refusal.Rule == RuleJprobe, "beside a jprobe: %+v %v", st, st.Refusal)
				w.do(w.k.Remove(w.Call, q))
				w.do(w.k.Remove(w.Call, p))
				w.survives(a)
			})
		})
	}
}

package kprobes

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/sim"
	"kprobesim/smp"
)

// A function that runs in interrupts of all CPUs is seen each time, or counted as missed when the
// interrupt struck a handler.
func TestProbesInInterrupts(t *testing.T) {
	const cpus, rounds = 4, 40
	eachKernelOfMany(t, cpus, kernel.losesNested, func(t *testing.T, w *crowd) {
		want := w.call("bench_target", 5, 77)
		outer := w.add(Spec{Symbol: "bench_target", Handler: "handler_work"})
		inner := w.add(Spec{Symbol: "work_frame", Handler: "handler_count"})
		before := w.sum("handler_hits")
		w.begin("bench_target", want)
		for range rounds {
			w.do(w.smp.OnEachCPU(w.Call, "work_frame", 3))
		}
		w.end()
		st := w.state(inner)
		got := w.sum("handler_hits") - before + st.NMissed
		require.That(t, got == cpus*rounds, "%d hits of %d calls in interrupts, %d of them missed", got, cpus*rounds, st.NMissed)
		if w.state(outer).NMissed != 0 {
			t.Errorf("the loop's probe has missed hits: %+v", w.state(outer))
		}
		w.remove(outer)
		w.remove(inner)
		w.holdNothingLeft()
	})
}

// The timer interrupts of all CPUs are seen, and their returns, while everything else is probed too.
func TestProbesOnTheTimer(t *testing.T) {
	eachKernelOfMany(t, 3, kernel.losesNested, func(t *testing.T, w *crowd) {
		want := w.call("bench_target", 5, 77)
		outer := w.add(Spec{Symbol: "bench_target", Handler: "handler_work"})
		w.begin("bench_target", want)
		ticks := uint64(0)
		w.m.Watch(func(e sim.Event) {
			if e.Kind == smp.EventTick {
				ticks++
			}
		})
		timer := w.add(Spec{Symbol: "timer_interrupt", Handler: "handler_count"})
		ret := w.add(Spec{
			Kind: Kretprobe, Symbol: "timer_interrupt", Handler: "ret_shared_count", MaxActive: 9,
		})
		before, shared, began := w.sum("handler_hits"), w.shared(), ticks
		missed, unseen := w.state(timer).NMissed, w.state(ret).NMissed
		w.sleep(20)
		hits := w.sum("handler_hits") - before + w.state(timer).NMissed - missed
		returns := w.shared() - shared + w.state(ret).NMissed - unseen
		n := ticks - began
		require.That(t, n >= 30 && hits+3 >= n && hits <= n+3 && returns+3 >= n && returns <= n+3, "%d timer interrupts, %d hits, %d returns", n, hits, returns)
		w.remove(ret)
		w.remove(timer)
		w.end()
		w.remove(outer)
		w.holdNothingLeft()
	})
}

// Probes on instructions that run with interrupts off.
func TestProbesWithInterruptsOff(t *testing.T) {
	eachKernelOfMany(t, 3, nil, func(t *testing.T, w *crowd) {
		fn := "work_cli_sti"
		want := w.call(fn, 5, 77)
		var ps []*Probe
		for _, off := range w.offsets(fn) {
			p := value(w.k.Add(w.Call, Spec{Symbol: fn, Offset: off, Handler: "handler_count"}))(w)
			ps = append(ps, p)
		}
		before := w.sum("handler_hits")
		w.begin(fn, want)
		w.sleep(8)
		w.end()
		got, missed := w.sum("handler_hits")-before, uint64(0)
		for _, p := range ps {
			missed += w.state(p).NMissed
		}
		require.That(t, got+missed == w.calls*uint64(len(ps)) && w.calls != 0, "%d hits and %d missed of %d calls with %d probes", got, missed, w.calls, len(ps))
		for _, p := range ps {
			w.do(w.k.Remove(w.Call, p))
		}
		w.do(w.k.WaitOptimizer(w.Call))
		w.holdNothingLeft()
	})
}

// Random operations on functions that all CPUs are calling: results stay right, and in the end
// nothing is left.
func TestRandomOperationsOnManyCPUs(t *testing.T) {
	operations := hosttools.Part(t, "random operations on functions that all CPUs call", 40, 20)
	for i, o := range hosttools.Share(t, "kernels", 5, kernels()) {
		cpus := 2 + i%4
		t.Run(fmt.Sprintf("%d/%s", cpus, o.name), func(t *testing.T) {
			bootMany(t, o.image, cpus, o.opt, func(w *crowd) { w.storm(uint64(i), operations) })
		})
	}
}

// storm does random operations while every function of them is called on every CPU.
func (w *crowd) storm(seed uint64, operations int) {
	books := w.keepBooks()
	s := newStorm(w.live, seed)
	for _, fn := range s.fns {
		w.begin(fn, s.want[fn])
	}
	rng := rand.New(rand.NewPCG(seed, 9))
	for range operations {
		s.step()
		w.sleep(int64(rng.IntN(2)))
	}
	w.end()
	s.run(0)
	books.balance(w.t)
}

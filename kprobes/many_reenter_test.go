package kprobes

import (
	"testing"

	"kprobesim/internal/require"
)

// A probe that is hit in a handler runs none of its own, on whichever CPU: each such hit is counted. In
// 2005 the first of them takes the probe away.
func TestReentryOnManyCPUs(t *testing.T) {
	eachKernelOfMany(t, 4, nil, func(t *testing.T, w *crowd) {
		want := w.call("bench_target", 5, 77)
		outer := w.add(Spec{Symbol: "bench_target", Handler: "handler_count"})
		before := w.sum("handler_hits")
		shared := w.shared()
		inner := w.add(Spec{Symbol: "handler_count", Offset: w.offsets("handler_count")[0], Handler: "handler_shared_count"})
		w.begin("bench_target", want)
		w.sleep(6)
		w.do(w.k.SetOptimization(w.Call, false))
		w.sleep(6)
		w.end()
		got := w.sum("handler_hits") - before
		require.That(t, got == w.calls && w.calls != 0, "%d hits of %d calls", got, w.calls)
		missed := w.calls
		if w.k.era.Year == 2005 {
			missed = 0
		}
		if st := w.state(inner); st.NMissed != missed || w.shared() != shared {
			t.Errorf("%d of %d hits in handlers counted as missed, %d handled",
				st.NMissed, w.calls, w.shared()-shared)
		}
		w.remove(inner)
		w.remove(outer)
		w.holdNothingLeft()
	})
}

// shared reads the counter that all CPUs share.
func (w *crowd) shared() uint64 { return w.k.m.Load(w.addr("handler_shared_hits"), w.k.l.list) }

// Probes in text that vanishes while other functions are hit on every CPU.
func TestModuleVanishesOnManyCPUs(t *testing.T) {
	eachKernelOfMany(t, 4, nil, func(t *testing.T, w *crowd) {
		want := w.call("bench_target", 5, 77)
		sum := w.call("module_sum", 3, 4)
		p := w.add(Spec{Symbol: "bench_target", Handler: "handler_count"})
		before := w.sum("handler_hits")
		w.begin("bench_target", want)
		for range 4 {
			q := value(w.k.Add(w.Call, Spec{Symbol: "module_mix", Handler: "handler_shared_count"}))(w)
			w.sleep(2)
			got := w.call("module_sum", 3, 4)
			require.That(t, got == sum, "module_sum returns %#x, was %#x", got, sum)
			w.do(w.k.Unload(w.Call, "work_module"))
			w.do(w.k.Remove(w.Call, q))
			w.do(w.k.Load(w.Call, "work_module"))
		}
		w.end()
		got := w.sum("handler_hits") - before + w.state(p).NMissed
		require.That(t, got == w.calls && w.calls != 0, "%d hits of %d calls", got, w.calls)
		w.remove(p)
		w.holdNothingLeft()
	})
}

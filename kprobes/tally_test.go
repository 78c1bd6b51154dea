package kprobes

import (
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// tally counts the hits of registered probes on all CPUs from here on.
func (l *live) tally(probes ...*Probe) *Tally {
	l.t.Helper()
	var addrs []uint64
	for _, p := range probes {
		addrs = append(addrs, p.Addr)
	}
	t := value(l.k.NewTally(addrs...))(l)
	for i := range l.m.CPUs() {
		l.m.CPU(i).ObserveCode(t, t.Spans(), false)
	}
	return t
}

// sum returns what all CPUs have counted.
func (t *Tally) sum() (h Hits) {
	for i := range t.cpus {
		h.All, h.Missed = h.All+t.Of(i).All, h.Missed+t.Of(i).Missed
	}
	return h
}

// TestTallyInEveryMode holds the hits of a probe, and of one in its handler, against the counters of the handlers and
// of the guest. In 2005 the inner probe goes with its first hit, which no kernel of that year counts.
func TestTallyInEveryMode(t *testing.T) {
	const calls = 20
	for _, m := range hosttools.Share(t, "ways of a hit", 2, modes()) {
		t.Run(m.name(), func(t *testing.T) {
			bootImage(t, m.image, m.opt, func(l *live) {
				outer := l.add(Spec{Symbol: "bench_target", Handler: "handler_count"})
				alone, before := l.tally(outer), l.percpu("handler_hits")
				for range calls {
					l.call("bench_target", 5, 77)
				}
				if got := alone.sum(); got != (Hits{All: calls}) || l.percpu("handler_hits")-before != calls {
					t.Errorf("a probe alone: %+v, and %d calls of its handler", got, l.percpu("handler_hits")-before)
				}
				inner := l.add(Spec{Symbol: "handler_count", Offset: l.offsets("handler_count")[0], Handler: "handler_shared_count"})
				l.do(l.k.WaitOptimizer(l.Call))
				both := l.tally(outer, inner)
				for range calls {
					l.call("bench_target", 5, 77)
				}
				missed := int64(l.state(inner).NMissed)
				if l.k.era.Year == 2005 {
					missed = 1
				}
				if got := both.sum(); got != (Hits{All: calls + missed, Missed: missed}) || missed != calls && missed != 1 {
					t.Errorf("with one in the handler: %+v, and the guest counts %d", got, missed)
				}
				l.remove(inner)
				for range calls {
					l.call("bench_target", 5, 77)
				}
				if got := both.sum(); got.All != 2*calls+missed {
					t.Errorf("behind its removal: %+v", got)
				}
				l.remove(outer)
				l.call("bench_target", 5, 77)
				if got := both.sum(); got.All != 2*calls+missed {
					t.Errorf("a call without probes counts: %+v", got)
				}
			})
		})
	}
}

// TestTallyOfGroups holds hits of several probes at an address, and of one without a handler before the instruction, to one
// each. One that is disabled is hit by nobody.
func TestTallyOfGroups(t *testing.T) {
	const calls = 10
	for _, m := range hosttools.Share(t, "ways of a hit", 2, modes()) {
		t.Run(m.name(), func(t *testing.T) {
			bootImage(t, m.image, m.opt, func(l *live) {
				post := l.add(Spec{Symbol: "work_recursive", Post: "post_count"})
				of := l.tally(post)
				for range calls {
					l.call("work_recursive", 3, 7)
				}
				got := of.sum()
				require.That(t, got == (Hits{All: 4 * calls}), "a post handler alone: %+v, want 4 hits a call", got)
				l.remove(post)
				l.call("work_recursive", 3, 7)
				require.Equal(t, of.sum(), (Hits{All: 4 * calls}), "a post handler alone, removed")
				post = l.add(Spec{Symbol: "work_recursive", Post: "post_count"})
				more := l.add(Spec{Symbol: "work_recursive", Handler: "handler_count"})
				ret := l.add(Spec{Kind: Kretprobe, Symbol: "work_recursive", Handler: "ret_count", MaxActive: 2})
				of = l.tally(post, more, ret)
				for range calls {
					l.call("work_recursive", 3, 7)
				}
				if got := of.sum(); got != (Hits{All: 4 * calls}) || l.state(ret).Unseen != 2*calls {
					t.Errorf("three probes: %+v, and %d returns missed", got, l.state(ret).Unseen)
				}
				if l.k.era.Year < 2010 {
					return
				}
				for _, p := range []*Probe{post, more, ret} {
					l.do(l.k.Disable(l.Call, p))
				}
				l.call("work_recursive", 3, 7)
				if got := of.sum(); got.All != 4*calls {
					t.Errorf("disabled: %+v", got)
				}
			})
		})
	}
}

// TestTallyOnManyCPUs counts while CPUs hit, optimize and change the text at the same time, and tasks are switched in hits.
func TestTallyOnManyCPUs(t *testing.T) {
	eachKernelOfMany(t, 4, nil, func(t *testing.T, w *crowd) {
		want := w.call("bench_target", 5, 77)
		outer := w.add(Spec{Symbol: "bench_target", Handler: "handler_count"})
		inner := w.add(Spec{Symbol: "handler_count", Offset: w.offsets("handler_count")[0], Handler: "handler_shared_count"})
		of := w.tally(outer, inner)
		w.begin("bench_target", want)
		w.sleep(6)
		w.do(w.k.SetOptimization(w.Call, false))
		w.sleep(6)
		w.end()
		missed := int64(w.state(inner).NMissed)
		got := of.sum()
		if w.k.era.Year == 2005 {
			missed = got.Missed // CPUs may have seen the breakpoint before it went
		}
		require.That(t, got == (Hits{All: int64(w.calls) + missed, Missed: missed}) && missed != 0, "%+v of %d calls, of which the guest counts %d missed", got, w.calls, missed)
	})
}

// TestTallyOfConditions: a breakpoint whose condition does not hold is no hit, and none that is missed, also when it has
// just gone.
func TestTallyOfConditions(t *testing.T) {
	const calls = 20
	bootImage(t, "arm-2014", plain(), func(l *live) {
		p := l.add(Spec{Symbol: "work_conditions", Offset: 4, Handler: "handler_count"}) // addhi
		of := l.tally(p)
		for range calls {
			l.call("work_conditions", 5, 3)
			l.call("work_conditions", 3, 5)
		}
		want := Hits{All: calls}
		got := of.sum()
		require.That(t, got == want && len(of.cpus[0].open) <= 1, "%+v, want %+v; %d arrivals are open", got, want, len(of.cpus[0].open))
		l.do(l.k.Disable(l.Call, p))
		l.call("work_conditions", 3, 5)
		require.Equal(t, of.sum(), want, "disabled")
		l.remove(p)
	})
}

package kprobes

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/smp"
	"kprobesim/workloads"
)

// A probed function returns what the unprobed one returns: for every function, every instruction
// of it, and all kinds and modes of probes.
func TestProbedFunctionReturnsTheSame(t *testing.T) {
	for _, m := range hosttools.Share(t, "ways of a hit", 3, modes()) {
		t.Run(m.name(), func(t *testing.T) {
			bootImage(t, m.image, m.opt, func(l *live) {
				rng := rand.New(rand.NewPCG(3, 4))
				reached, foretold := map[Mode]int{}, map[Mode]int{}
				try := func(s Spec) {
					is, judged := l.same(rng, s)
					reached[is]++
					foretold[judged]++
				}
				for _, f := range functionsOf(t, m.image) {
					offsets := l.offsets(f.Name)
					for _, off := range offsets {
						try(Spec{Symbol: f.Name, Offset: off, Handler: "handler_count"})
					}
					if offsets[0] != 0 {
						continue // later kernels refuse a far call, with which work_far begins on i386
					}
					try(Spec{Kind: Kretprobe, Symbol: f.Name, Handler: "ret_count", MaxActive: 20})
				}
				want := 40
				if m.mode == Ftrace { // one for each function that the compiler made, and its return
					want = 20
				}
				require.That(t, reached[m.mode] >= want && foretold[m.mode] >= want, "modes reached: %v, foretold %v", reached, foretold)
			})
		})
	}
}

// functionsOf returns the functions of an image that are worth probing.
func functionsOf(t *testing.T, image string) []workloads.Function {
	t.Helper()
	im, ok := workloads.Find(image)
	require.Need(t, ok, "no image %s", image)
	return im.Functions()
}

// same calls a function with and without a probe and returns the mode that the probe has reached and the one that was foretold.
func (l *live) same(rng *rand.Rand, s Spec) (is, foretold Mode) {
	l.t.Helper()
	var args [4][2]uint64
	var want [4]uint64 // results
	for i := range args {
		args[i] = [2]uint64{rng.Uint64() >> rng.IntN(64), rng.Uint64() >> rng.IntN(64)}
		want[i] = l.call(s.Symbol, args[i][:]...)
	}
	judged := value(l.k.Judge(l.addr(s.Symbol) + s.Offset))(l)
	p := l.add(s)
	if p == nil {
		return Gone, Gone
	}
	require.That(l.t, judged.Denied == nil, "%s+%#x is judged %v", s.Symbol, s.Offset, judged.Denied)
	hits := l.percpu("handler_hits")
	for i := range args {
		if got := l.call(s.Symbol, args[i][:]...); got != want[i] {
			l.t.Errorf("%s+%#x, probed (%s): %s(%#x, %#x) is %#x, was %#x", s.Symbol, s.Offset,
				l.state(p).Mode, s.Symbol, args[i][0], args[i][1], got, want[i])
		}
	}
	if n := l.percpu("handler_hits") - hits; s.Offset == 0 && !l.mayFail(s.Symbol) && n < uint64(len(args)) {
		l.t.Errorf("%s kind %s: %d hits of %d calls", s.Symbol, s.Kind, n, len(args))
	}
	st := l.state(p)
	require.That(l.t, st.NMissed == 0, "%s+%#x: missed %d hits", s.Symbol, s.Offset, st.NMissed)
	if judged.Kept == nil { // as it is of no jprobe
		judged.First, judged.Then = Optimized, Optimized
	}
	unknown := st.Mode == Stepped && l.percpu("handler_hits") == hits // it was never hit
	require.That(l.t, s.Kind == Jprobe || unknown || st.Mode == judged.First || st.Mode == judged.Then, "%s+%#x is %s, judged %+v", s.Symbol, s.Offset, st.Mode, judged)
	l.remove(p)
	return st.Mode, judged.Then
}

// mayFail reports whether the breakpoint at a function has a condition.
func (l *live) mayFail(symbol string) bool {
	fn, _ := l.k.text(l.addr(symbol))
	return l.k.era.Conditional && !bytes.Equal(l.k.arch.Conditional(fn.Code), l.k.arch.Breakpoint)
}

// A probe that is hit while another one's handler runs only counts. In 2005 it is lost: its breakpoint goes.
func TestReentrantHitsAreMissed(t *testing.T) {
	eachMode(t, modes(), func(l *live, m hitMode) {
		outer := l.add(Spec{Symbol: "bench_target", Handler: "handler_count"})
		inner := l.add(Spec{Symbol: "handler_count", Offset: l.offsets("handler_count")[0], Handler: "handler_shared_count"})
		hits := l.percpu("handler_hits")
		l.call("bench_loop", l.pointer("bench_target"), 5, 1, 2)
		if n := l.percpu("handler_hits") - hits; n != 5 {
			t.Errorf("%s: %d hits of the outer probe, want 5", m.name(), n)
		}
		want, shared := uint64(5), l.word("handler_shared_hits")
		if l.k.era.Year == 2005 {
			want = 0
			l.call("handler_count", 0, 0)
			if n := l.word("handler_shared_hits") - shared; n != 0 {
				t.Errorf("%s: %d hits of a probe that was lost", m.name(), n)
			}
		}
		if o, i := l.state(outer).NMissed, l.state(inner).NMissed; o != 0 || i != want {
			t.Errorf("%s: outer missed %d, inner %d; want 0 and %d", m.name(), o, i, want)
		}
	})
}

func TestHandlersOfAnAggregateAllRun(t *testing.T) {
	eachMode(t, modes(), func(l *live, m hitMode) {
		a := l.add(Spec{Symbol: "bench_target", Handler: "handler_count"})
		l.add(Spec{Symbol: "bench_target", Handler: "handler_shared_count"})
		l.add(Spec{Symbol: "bench_target", Handler: "handler_empty", Disabled: l.k.era.disabled})
		l.add(Spec{Kind: Kretprobe, Symbol: "bench_target", Handler: "ret_count"})
		hits, shared := l.percpu("handler_hits"), l.word("handler_shared_hits")
		want := l.call("bench_target", 8, 9)
		if n := l.percpu("handler_hits") - hits; n != 2 {
			t.Errorf("%s: counted %d, want one hit and one return", m.name(), n)
		}
		if n := l.word("handler_shared_hits") - shared; n != 1 {
			t.Errorf("%s: second probe counted %d, want 1", m.name(), n)
		}
		if got := l.percpu("handler_last_value"); got != want {
			t.Errorf("%s: the return handler saw %#x, the caller %#x", m.name(), got, want)
		}
		if st := l.state(a); m.mode == Optimized && st.Mode != Optimized {
			t.Errorf("%s: %+v", m.name(), st)
		}
	})
}

// word reads a variable of the guest.
func (l *live) word(symbol string) uint64 {
	l.t.Helper()
	v := value(l.m.Load(l.addr(symbol), l.size()))(l)
	return v
}

func TestPostHandlerRunsAfterEachHit(t *testing.T) {
	eachMode(t, modes(), func(l *live, m hitMode) {
		p := l.add(Spec{Symbol: "bench_target", Handler: "handler_count", Post: "post_count"})
		hits := l.percpu("handler_hits")
		l.call("bench_loop", l.pointer("bench_target"), 3, 1, 2)
		if n := l.percpu("handler_hits") - hits; n != 6 {
			t.Errorf("%s: %d calls of handlers, want 3 before and 3 after", m.name(), n)
		}
		if st := l.state(p); st.Mode != m.posted(l.k) {
			t.Errorf("%s: %+v, but a post handler runs behind a step or an emulation", m.name(), st)
		}
	})
}

func TestFaultInHandler(t *testing.T) {
	bootImages(t, older(images()), plain(), func(l *live, image string) {
		p := l.add(Spec{Symbol: "bench_target", Handler: "handler_faulting", Fault: "fault_count"})
		hits := l.percpu("handler_hits")
		l.call("bench_target", 1, 2)
		n := l.percpu("handler_hits") - hits
		require.That(t, n == 1, "fault handler called %d times", n)
		want := uint64(1)
		if l.k.era.Year == 2005 {
			want = 0
		}
		st := l.state(p)
		require.That(t, st.NMissed == want, "%+v: a handler that faults counts as missed, but for 2005", st)
	})
}

// A fault handler that answers 1 has handled the fault: the kernel does not look at it. This one leads behind the
// instruction that faults.
func TestFaultHandlerMends(t *testing.T) {
	bootImages(t, older(images()), plain(), func(l *live, image string) {
		want := l.call("bench_target", 1, 2)
		l.do(l.m.Store(l.symbol("handler_divert_to"), l.size(), l.fixup("handler_faulting")))
		l.add(Spec{Symbol: "bench_target", Handler: "handler_faulting", Fault: "handler_divert"})
		for range 2 {
			require.Equal(t, l.call("bench_target", 1, 2), want, "%s", image)
		}
	})
}

// fixup is where the exception table has a function go on behind its fault.
func (l *live) fixup(symbol string) uint64 {
	l.t.Helper()
	f, table := l.function(symbol), l.symbol("__start___ex_table")
	for at := table; at < l.symbol("__stop___ex_table"); at += uint64(2 * l.size()) {
		if l.k.m.Load(at, l.k.l.list)-f.Entry < f.Size {
			return l.k.m.Load(at+uint64(l.size()), l.k.l.list)
		}
	}
	l.t.Errorf("no instruction of %s may fault", symbol)
	return 0
}

func TestRecursionWantsInstances(t *testing.T) {
	eachMode(t, modes(), func(l *live, m hitMode) {
		const depth = 5 // calls of the function at the top level included: six
		p := l.add(Spec{Kind: Kretprobe, Symbol: "work_recursive", Handler: "ret_count", MaxActive: 2})
		hits := l.percpu("handler_hits")
		l.call("work_recursive", depth, 1)
		if n := l.percpu("handler_hits") - hits; n != 2 {
			t.Errorf("%s: %d returns seen with 2 instances", m.name(), n)
		}
		if st := l.state(p); st.Unseen != depth+1-2 || st.NMissed != 0 {
			t.Errorf("%s: %d calls with 2 instances: %+v", m.name(), depth+1, st)
		}
	})
}

func TestEntryHandlerVetoes(t *testing.T) {
	boot(t, plain(), func(l *live) {
		l.add(Spec{Kind: Kretprobe, Symbol: "bench_target", Handler: "ret_count", Entry: "entry_veto", MaxActive: 9})
		hits, want := l.percpu("handler_hits"), l.call("bench_target", 1, 2)
		if got := l.call("bench_target", 1, 2); got != want || l.percpu("handler_hits") != hits {
			t.Errorf("result %#x (want %#x), %d returns seen", got, want, l.percpu("handler_hits")-hits)
		}
	})
}

// An instance that is out when its probe goes is freed by the guest when the function returns.
func TestUnregisterWithInstanceOut(t *testing.T) {
	bootImages(t, images(), plain(), func(l *live, image string) {
		var q smp.Queue
		wake, woken := false, false
		_, err := l.smp.Go(l.Call, "sleeper", func(c smp.Caller) error {
			err := l.smp.Wait(c, &q, func() bool { return wake })
			woken = true
			return err
		})
		l.do(err)
		p := l.add(Spec{Kind: Kretprobe, Symbol: "schedule", Handler: "ret_count", MaxActive: 8})
		l.do(l.smp.Schedule(l.Call)) // the sleeper runs and enters schedule()
		free := len(l.k.hlist(l.k.freeHead(p.Addr), l.k.instanceLinks()))
		require.That(t, free == 7, "%d instances free, want one of 8 out", free)
		hook, out := uint64(0), l.instancesOut()
		if l.k.era.Hooks {
			hook = l.k.m.Load(p.Addr, l.k.l.r.hook)
		}
		l.remove(p)
		wake = true
		l.smp.Wake(l.Call, &q)
		l.do(l.smp.Schedule(l.Call))
		l.do(l.smp.Schedule(l.Call))
		require.That(t, woken, "the sleeper has not come back through the trampoline")
		if l.k.era.Hooks {
			require.That(t, l.m.Free(hook) != nil, "what held the instances together was not freed with the last of them")
			return
		}
		left := l.instancesOut()
		require.That(t, len(left) == 0 && len(out) == 1, "%s: instances %x of %x stay", image, left, out)
		for _, ri := range out {
			require.That(t, l.m.Free(ri) != nil, "%s: the instance was not freed when it came back", image)
		}
	})
}

// instancesOut are the return instances in use, of kernels that have a table of them.
func (l *live) instancesOut() (all []uint64) {
	if l.k.era.Hooks {
		return nil
	}
	for i := range uint64(hashBuckets) {
		all = append(all, l.k.hlist(l.k.sym.instances+uint64(l.size())*i, l.k.instanceLinks())...)
	}
	return all
}

// The guest's own calls of the API go through the native slots.
func TestGuestRegisters(t *testing.T) {
	boot(t, plain(), func(l *live) {
		p := value(l.m.Alloc(l.k.l.p.size, 64))(l)
		require.Equal(t, l.status("register_kprobe", p), -int32(EINVAL), "neither address nor symbol")
		l.store(p, l.k.l.p.addr, l.addr("bench_target")+1)
		inside := EILSEQ
		if l.k.arch.Align > 1 {
			inside = EINVAL
		}
		require.Equal(t, l.status("register_kprobe", p), -int32(inside), "inside an instruction")
		l.store(p, l.k.l.p.addr, l.addr("bench_target"))
		l.store(p, l.k.l.p.pre, l.pointer("handler_count"))
		q := value(l.m.Alloc(l.k.l.p.size, 64))(l)
		l.store(q, l.k.l.p.addr, l.addr("work_read"))
		l.store(q, l.k.l.p.pre, l.pointer("handler_count"))
		array := value(l.m.Alloc(16, 64))(l)
		l.do(l.m.Store(array, l.size(), p))
		l.do(l.m.Store(array+uint64(l.size()), l.size(), q))
		require.Equal(t, l.status("register_kprobes", array, 0), -int32(EINVAL), "no probes")
		require.Equal(t, l.status("register_kprobes", array, 2), 0, "register_kprobes")
		hits := l.percpu("handler_hits")
		l.call("bench_target", 1, 2)
		l.call("kfree", 0)
		l.call("disable_kprobe", p)
		l.call("bench_target", 1, 2)
		l.call("enable_kprobe", p)
		l.call("bench_target", 1, 2)
		l.call("work_read", 1, 2)
		l.call("unregister_kprobes", array, 2)
		l.call("bench_target", 1, 2)
		l.call("work_read", 1, 2)
		n := l.percpu("handler_hits") - hits
		require.That(t, n == 3, "%d hits, want 3: before it was disabled, and enabled again, and of the second one", n)
	})
}

// Between the wish and the jump, hits go through the breakpoint.
func TestHitsWhileOptimizationIsPending(t *testing.T) {
	boot(t, Default(), func(l *live) {
		want := l.call("bench_target", 3, 4)
		p := value(l.k.Add(l.Call, Spec{Symbol: "bench_target", Handler: "handler_count"}))(l)
		hits := l.percpu("handler_hits")
		if got := l.call("bench_target", 3, 4); got != want || l.percpu("handler_hits") != hits+1 {
			t.Errorf("pending: result %#x (want %#x), %d hits", got, want, l.percpu("handler_hits")-hits)
		}
		st := l.state(p)
		require.That(t, st.Mode != Optimized && st.Queued, "%+v", st)
		l.do(l.k.WaitOptimizer(l.Call))
		if got := l.call("bench_target", 3, 4); got != want || l.percpu("handler_hits") != hits+2 {
			t.Errorf("optimized: result %#x (want %#x), %d hits", got, want, l.percpu("handler_hits")-hits)
		}
	})
}

// The optimizer comes by itself, five jiffies after the wish, while everybody sleeps.
func TestOptimizerWakesTheIdleCPU(t *testing.T) {
	boot(t, Default(), func(l *live) {
		p := value(l.k.Add(l.Call, Spec{Symbol: "bench_target"}))(l)
		begin := l.smp.Jiffies()
		l.do(l.smp.Sleep(l.Call, 8))
		if st := l.state(p); st.Mode != Optimized {
			t.Errorf("after %d jiffies: %+v", l.smp.Jiffies()-begin, st)
		}
	})
}

package kprobes

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// A probe that is hit in a post handler only counts, in kernels of 2005 it is lost. Either way the outer probe
// goes on.
func TestProbeInAPostHandler(t *testing.T) {
	eachMode(t, modes(), func(l *live, m hitMode) {
		l.add(Spec{Symbol: "bench_target", Handler: "handler_empty", Post: "post_count"})
		inner := l.add(Spec{Symbol: "post_count", Offset: l.offsets("post_count")[0], Handler: "handler_shared_count"})
		hits, shared := l.percpu("handler_hits"), l.word("handler_shared_hits")
		l.call("bench_loop", l.pointer("bench_target"), 4, 1, 2)
		missed := uint64(4)
		if l.k.era.Year == 2005 {
			missed = 0
		}
		if got := l.percpu("handler_hits") - hits; got != 4 {
			t.Errorf("%s: %d calls of the post handler, want 4", m.name(), got)
		}
		if st := l.state(inner); st.NMissed != missed || l.word("handler_shared_hits") != shared {
			t.Errorf("%s: the inner probe missed %d, want %d", m.name(), st.NMissed, missed)
		}
	})
}

// The stepped instruction faults: only kernels of 2005 ask the user's fault handler. The exception table
// mends it in all of them, and the next hit is like the first.
func TestFaultInTheStep(t *testing.T) {
	bootImages(t, images(), plain(), func(l *live, image string) {
		want := l.call("work_faulting", 1, 2)
		s := Spec{
			Symbol: "work_faulting", Offset: l.faultsAt("work_faulting"), Handler: "handler_empty", Fault: "fault_count",
		}
		if l.k.era.faultless {
			s.Fault = ""
		}
		l.add(s)
		hits, calls := l.percpu("handler_hits"), uint64(0)
		for range 3 {
			require.Equal(t, l.call("work_faulting", 1, 2), want, "%s with a probe", image)
		}
		if l.k.era.Year == 2005 {
			calls = 3
		}
		got := l.percpu("handler_hits") - hits
		require.That(t, got == calls, "%s: %d calls of the fault handler, want %d", image, got, calls)
	})
}

// faultsAt is the offset of the instruction of a function that the exception table names.
func (l *live) faultsAt(symbol string) uint64 {
	l.t.Helper()
	f := l.function(symbol)
	for _, a := range l.k.sym.exceptions {
		if a-f.Entry < f.Size {
			return a - f.Entry
		}
	}
	l.t.Errorf("no instruction of %s may fault", symbol)
	return 0
}

// A return address that is gone is fatal. Kernels of 2010 name the return probe first, kernels of 2020 say what is
// missing.
func TestLostReturnAddress(t *testing.T) {
	for _, name := range images() {
		m, l := newMachine(t, name, plain())
		var rp uint64
		m.Bind("sim_main", func(c *sim.Call) uint64 {
			l.Call = c
			rp = l.add(Spec{Kind: Kretprobe, Symbol: "bench_target", Handler: "ret_empty"}).Addr - l.k.l.r.kp.Offset
			l.putLostInstance(rp)
			regs := value(m.Alloc(256, 64))(l)
			_, _ = c.InvokeSym("function_returned", regs) // ends the machine, the error is Run's
			return 0
		})
		err := errors.Join(m.Run(), l.smp.Err())
		line := fmt.Sprintf("kretprobe BUG!: Processing kretprobe 0x%x @ 0x%x", rp, l.addr("bench_target"))
		if l.k.era.Hooks {
			line = "rethook: Return address not found!"
		}
		names := strings.Contains(m.Console(), line)
		require.That(t, err != nil && names == (l.k.era.Year >= 2010), "%s: error %v, log %q, line %q", name, err, m.Console(), line)
	}
}

// putLostInstance gives the running task an instance in use whose return address is the trampoline's.
func (l *live) putLostInstance(rp uint64) {
	ri := value(l.k.m.alloc(l.k.l.r.instSize))(l)
	st := value(l.m.Image().Struct("kretprobe_instance"))(l)
	task := l.k.smp.Current(l.Call)
	for path, v := range map[string]uint64{"ret_addr": l.addr("kretprobe_trampoline"), "rp": rp, "task": task} {
		f := value(st.Field(path))(l)
		l.store(ri, f, v)
	}
	if l.k.era.Hooks {
		tasks := value(l.m.Image().Struct("task_struct"))(l)
		f := value(tasks.Field("hooks"))(l)
		l.store(task, f, ri)
		return
	}
	if used := l.k.l.r.used; used.Size != 0 {
		next := value(st.Field("used.next"))(l)
		pprev := value(st.Field("used.pprev"))(l)
		l.k.hlistAdd(rp+used.Offset, ri, links{next, pprev})
	}
	l.k.hlistAdd(l.k.bucket(l.k.sym.instances, task), ri, l.k.instanceLinks())
}

// Where a hit has interrupts off: on x86 from the breakpoint to the end of the step. On ppc64 handlers in front of the
// instruction run as the probed code did, and a handler behind a step has them off. That behind an emulation has
// them as in front. A call of the function tracer leaves interrupts as they are.
func TestInterruptsInHandlers(t *testing.T) {
	eachMode(t, modes(), func(l *live, m hitMode) {
		l.add(Spec{Symbol: "bench_target", Handler: "handler_count", Post: "post_count"})
		l.call("bench_target", 1, 2)
		w := masked{at: map[uint64]bool{l.addr("handler_count"): false, l.addr("post_count"): false}}
		l.m.CPU(0).Observe(&w)
		l.call("bench_target", 1, 2)
		l.m.CPU(0).Observe(nil)
		before, behind := m.mode != Ftrace, m.mode != Ftrace
		if l.m.Image().Descriptors() {
			before, behind = false, m.posted(l.k) == Stepped
		}
		if w.seen != 2 || w.at[l.addr("handler_count")] != before || w.at[l.addr("post_count")] != behind {
			t.Errorf("%s: %d handlers; off before %v, behind %v; want %v and %v", m.name(), w.seen,
				w.at[l.addr("handler_count")], w.at[l.addr("post_count")], before, behind)
		}
	})
}

// Handlers of return probes run as the code did where return instances need no lock, and so does a detour's handler on
// x86. Kernels whose buckets of instances have locks hold one with interrupts off, whatever the documents say of them, and
// so do those whose trampoline has a probe on x86.
func TestInterruptsInReturnHandlers(t *testing.T) {
	eachMode(t, modes(), func(l *live, m hitMode) {
		l.add(Spec{Symbol: "bench_target", Handler: "handler_count"})
		l.add(Spec{Kind: Kretprobe, Symbol: "work_read", Handler: "ret_count"})
		l.call("bench_target", 1, 2)
		w := masked{at: map[uint64]bool{l.addr("handler_count"): false, l.addr("ret_count"): false}}
		l.m.CPU(0).Observe(&w)
		l.call("bench_target", 1, 2)
		l.call("work_read", 1, 2)
		l.m.CPU(0).Observe(nil)
		locked := !l.k.era.Hooks && !(l.m.Image().Descriptors() && l.k.sym.hitCPU != 0)
		if w.seen != 2 || w.at[l.addr("ret_count")] != locked {
			t.Errorf("%s: %d handlers; off in a return handler: %v, want %v", m.name(), w.seen, w.at[l.addr("ret_count")], locked)
		}
		if detour := m.mode == Optimized && l.k.arch.Align == 1; detour && w.at[l.addr("handler_count")] {
			t.Errorf("%s: interrupts are off in a handler that a detour calls", m.name())
		}
	})
}

// masked notes whether interrupts are off at the first instruction of functions.
type masked struct {
	at   map[uint64]bool
	seen int
}

// Step implements cpus.Observer.
func (w *masked) Step(s *cpus.Step) {
	if _, ok := w.at[s.PC]; ok {
		w.at[s.PC] = s.Masked
		w.seen++
	}
}

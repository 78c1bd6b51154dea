package kprobes

import (
	"errors"
	"testing"

	"kprobesim/internal/require"
)

// A fault handler gets the number of its trap, whichever it is. On ARM only aborts reach it, as in the kernels.
func TestFaultHandlerGetsEveryNumber(t *testing.T) {
	numbers := map[string][]uint64{"x86_64": {0, 6, 13}, "i386": {0, 6, 13}, "ppc64": {0x600, 0x700}, "arm": {5}}
	for _, isa := range isas() {
		bootImage(t, withJprobes(isa), plain(), func(l *live) {
			p := l.add(Spec{Symbol: "bench_target", Handler: "handler_traps", Fault: "fault_sees_number"})
			want := l.call("bench_loop", l.pointer("work_divide"), 1, 5, 2)
			for i, n := range numbers[isa] {
				l.do(l.m.Store(l.symbol("rare_trap"), l.size(), n))
				l.call("bench_target", 1, 2)
				require.Equal(t, l.percpu("handler_last_value"), n, "%s: trap number", isa)
				st := l.state(p)
				require.That(t, st.NMissed == uint64(i+1), "%s: %+v after %d faults", isa, st, i+1)
			}
			got := l.call("bench_loop", l.pointer("work_divide"), 1, 5, 2)
			require.That(t, got == want, "%s: %#x after the traps, %#x before", isa, got, want)
		})
	}
}

// Hits take no memory: whatever they need was allocated when their probes were registered.
func TestHitsAllocateNothing(t *testing.T) {
	eachMode(t, modes(), func(l *live, m hitMode) {
		l.add(Spec{Symbol: "bench_target", Handler: "handler_count"})
		l.add(Spec{Kind: Kretprobe, Symbol: "work_recursive", Handler: "ret_count", MaxActive: 3})
		if l.hasJprobes() {
			l.add(Spec{Kind: Jprobe, Symbol: "work_divide", Handler: "jprobe_empty"})
		}
		before := l.m.Allocations()
		hits := l.percpu("handler_hits")
		for range 5 {
			l.call("bench_target", 1, 2)
			l.call("work_recursive", 5, 2) // more calls than instances
			l.call("work_divide", 1, 2)
		}
		if n := l.percpu("handler_hits") - hits; n != 5+5*3 {
			t.Errorf("%s: %d calls of handlers", m.name(), n)
		}
		if n := l.m.Allocations() - before; n != 0 {
			t.Errorf("%s: %d allocations during hits", m.name(), n)
		}
		l.add(Spec{Symbol: "work_read"})
		if l.m.Allocations() == before {
			t.Errorf("%s: a registration allocates nothing either, so the count says nothing", m.name())
		}
	})
}

// Hits take no mutex: they go on while somebody is registering, who has it.
func TestHitsWhileSomebodyRegisters(t *testing.T) {
	eachMode(t, modes(), func(l *live, m hitMode) {
		want := l.call("bench_target", 1, 2)
		l.add(Spec{Symbol: "bench_target", Handler: "handler_count"})
		l.add(Spec{Kind: Kretprobe, Symbol: "work_read", Handler: "ret_count"})
		hits := l.percpu("handler_hits")
		l.do(l.k.locked(l.Call, func() error {
			if got := l.call("bench_target", 1, 2); got != want {
				t.Errorf("%s: %#x, want %#x", m.name(), got, want)
			}
			l.call("work_read", 1, 2)
			return nil
		}))
		if n := l.percpu("handler_hits") - hits; n != 2 {
			t.Errorf("%s: %d handlers were called, want 2", m.name(), n)
		}
	})
}

// A probe stands in one copy of a function. Those that the compiler put into others go on without it.
func TestInlinedCopiesAreNotFound(t *testing.T) {
	bootImages(t, kernelsWith(""), plain(), func(l *live, image string) {
		l.add(Spec{Symbol: "next_number", Handler: "handler_count"})
		hits := l.percpu("handler_hits")
		table, _ := l.m.Image().Symbol("hash_table")
		l.do(l.m.WriteBytes(table.Addr, make([]byte, table.Size)))
		for i := range 2 { // the list is empty, as before the first time
			l.do(l.m.Store(l.symbol("item_list")+uint64(i*l.size()), l.size(), l.symbol("item_list")))
		}
		l.do(l.m.Store(l.symbol("buffer"), 2, 0))
		l.call("work_init") // fills tables by inlined copies
		v, err := l.m.Load(l.symbol("buffer"), 2)
		require.That(t, v != 0 && err == nil, "%s: the tables were not filled: %v", image, err)
		n := l.percpu("handler_hits") - hits
		require.That(t, n == 0, "%s: %d hits in inlined copies", image, n)
		l.call("next_number", 1, 2)
		if n := l.percpu("handler_hits") - hits; n != 1 {
			t.Errorf("%s: %d hits of a call, want 1", image, n)
		}
	})
}

// A call for which no instance is free does not get to the entry handler.
func TestNoEntryHandlerWithoutAnInstance(t *testing.T) {
	eachMode(t, modes(), func(l *live, m hitMode) {
		if !l.k.era.entry {
			return
		}
		p := l.add(Spec{Kind: Kretprobe, Symbol: "work_recursive", Handler: "ret_empty", Entry: "entry_counts", MaxActive: 2})
		before := l.percpu("handler_last_value")
		l.call("work_recursive", 5, 1) // six calls
		if n := l.percpu("handler_last_value") - before; n != 2 || l.state(p).Unseen != 4 {
			t.Errorf("%s: %d calls of the entry handler, %d calls missed; want 2 and 4", m.name(), n, l.state(p).Unseen)
		}
	})
}

// A kernel without CONFIG_KPROBES has the calls, and each of them answers ENOSYS. It has no files of Kprobes.
func TestKernelWithoutKprobes(t *testing.T) {
	for _, name := range []string{"x86_64-2010-nokprobes", "ppc64-2010-nokprobes"} {
		bootImage(t, name, Default(), func(l *live) {
			text := l.call("bench_target", 1, 2)
			for _, kind := range []Kind{Kprobe, Kretprobe, Jprobe} {
				_, err := l.k.Add(l.Call, Spec{Kind: kind, Symbol: "bench_target", Handler: "handler_empty"})
				require.That(t, errors.Is(err, ENOSYS), "%s: a %s: %v", name, kind, err)
			}
			at := value(l.m.Alloc(512, 64))(l)
			for _, call := range []string{"register_kprobe", "register_kretprobe", "register_jprobe", "enable_kprobe", "disable_kprobe"} {
				require.Equal(t, l.status(call, at), -int32(ENOSYS), "%s: %s", name, call)
			}
			if got := l.call("bench_target", 1, 2); got != text || len(l.smp.Paths()) != 0 {
				t.Errorf("%s: %#x, was %#x; files %q", name, got, text, l.smp.Paths())
			}
		})
	}
}

// Without a probe, the loop takes the same in a kernel without Kprobes. A fault takes less: nobody asks for a probe
// that runs.
func TestCostOfHavingKprobes(t *testing.T) {
	cycles := func(image, target string) (n int64) {
		bootImage(t, image, Default(), func(l *live) {
			measure := func() int64 {
				before := *l.m.CPU(0).Counters()
				l.call("bench_loop", l.pointer(target), 100, 1, 2)
				d := l.m.CPU(0).Counters().Sub(&before)
				return int64(d.Instructions)
			}
			measure()
			n = measure()
		})
		return n
	}
	for _, isa := range []string{"x86_64", "ppc64"} {
		with, without := isa+"-2010", isa+"-2010-nokprobes"
		a, b := cycles(with, "bench_target"), cycles(without, "bench_target")
		require.That(t, a == b && a != 0, "%s: 100 calls take %d instructions, without Kprobes %d", isa, a, b)
		if a, b := cycles(with, "work_faulting"), cycles(without, "work_faulting"); a <= b {
			t.Errorf("%s: 100 faults take %d instructions, without Kprobes %d", isa, a, b)
		}
	}
}

package kprobes

import (
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// A handler gets its own probe, also where several share the address.
func TestHandlersSeeTheirProbe(t *testing.T) {
	eachMode(t, modes(), func(l *live, m hitMode) {
		p := l.add(Spec{Symbol: "bench_target", Handler: "handler_sees_probe"})
		l.call("bench_target", 1, 2)
		if got := l.percpu("handler_last_value"); got != p.Addr {
			t.Errorf("%s: the handler got %#x, its probe is %#x", m.name(), got, p.Addr)
		}
		l.add(Spec{Symbol: "bench_target", Handler: "handler_empty"})
		l.call("bench_target", 1, 2)
		if got := l.percpu("handler_last_value"); got != p.Addr {
			t.Errorf("%s: beside another one the handler got %#x, its probe is %#x", m.name(), got, p.Addr)
		}
	})
}

// The probed code goes on with what a handler writes to the saved registers: an argument, and a result.
func TestHandlersChangeRegisters(t *testing.T) {
	eachMode(t, modes(), func(l *live, m hitMode) {
		want, plain := l.call("bench_target", 8, 2), l.call("bench_target", 5, 2)
		p := l.add(Spec{Symbol: "bench_target", Handler: "handler_changes_argument"})
		if got := l.call("bench_target", 5, 2); got != want || want == plain {
			t.Errorf("%s: %#x with another argument, want %#x instead of %#x", m.name(), got, want, plain)
		}
		l.remove(p)
		l.add(Spec{Kind: Kretprobe, Symbol: "bench_target", Handler: "ret_changes_value", MaxActive: 2})
		for range 3 {
			if got := l.call("bench_target", 5, 2); got != plain+5 {
				t.Errorf("%s: %#x with another result, want %#x", m.name(), got, plain+5)
			}
		}
	})
}

// symbol is the address of data.
func (l *live) symbol(name string) uint64 {
	l.t.Helper()
	s, ok := l.m.Image().Symbol(name)
	require.That(l.t, ok, "no symbol %s", name)
	return s.Addr
}

// A handler that leads elsewhere and returns nonzero ends the hit there: nothing is stepped, and no post handler
// runs. The kernels leave the hit open, but for the ones of 2020. The handler ends it, or the CPU's next hits are nested in it.
func TestHandlerLeadsElsewhere(t *testing.T) {
	for _, m := range modes() {
		if m.mode == Optimized {
			continue
		}
		bootImage(t, m.image, m.opt, func(l *live) {
			elsewhere := l.call("work_frame", 5, 2)
			l.do(l.m.Store(l.symbol("handler_divert_to"), l.size(), l.addr("work_frame")))
			p := l.add(Spec{Symbol: "bench_target", Handler: "handler_divert_and_end", Post: "post_count"})
			hits := l.percpu("handler_hits")
			for range 3 {
				if got := l.call("bench_target", 5, 2); got != elsewhere || l.percpu("handler_hits") != hits {
					t.Errorf("%s: %#x, want %#x; %d calls of the post handler", m.name(), got, elsewhere, l.percpu("handler_hits")-hits)
				}
			}
			l.remove(p)
			l.add(Spec{Symbol: "bench_target", Handler: "handler_divert"})
			counts := l.add(Spec{Symbol: "work_read", Handler: "handler_count"})
			if got := l.call("bench_target", 5, 2); got != elsewhere {
				t.Errorf("%s: %#x, want %#x", m.name(), got, elsewhere)
			}
			l.call("work_read", 5, 2)
			missed := uint64(1)
			if l.k.era.Year == 2005 {
				missed = 0 // the probe is lost
			}
			ran := uint64(0)
			if l.k.era.Hooks {
				ran, missed = 1, 0
			}
			if n := l.percpu("handler_hits") - hits; n != ran || l.state(counts).NMissed != missed {
				t.Errorf("%s: in an open hit %d handlers ran, %d missed, want %d", m.name(), n, l.state(counts).NMissed, missed)
			}
			l.call("handler_ends_hit")
		})
	}
}

// Where a jump has taken the breakpoint's place, a detour ignores the address and the result. A post handler keeps
// the jump away.
func TestDetourIgnoresAnotherWay(t *testing.T) {
	boot(t, Default(), func(l *live) {
		want := l.call("bench_target", 5, 2)
		l.do(l.m.Store(l.symbol("handler_divert_to"), l.size(), l.addr("work_frame")))
		other := l.add(Spec{Symbol: "bench_target", Handler: "handler_count"}) // which runs behind the next one
		p := l.add(Spec{Symbol: "bench_target", Handler: "handler_divert"})
		hits := l.percpu("handler_hits")
		if got := l.call("bench_target", 5, 2); got != want || l.state(p).Mode != Optimized {
			t.Errorf("%#x, want %#x, %s", got, want, l.state(p).Mode)
		}
		n := l.percpu("handler_hits") - hits
		require.That(t, n == 1, "%d calls of the other probe's handler, want 1", n)
		l.remove(other)
		l.remove(p)
		elsewhere := l.call("work_frame", 5, 2)
		p = l.add(Spec{Symbol: "bench_target", Handler: "handler_divert_and_end", Post: "post_empty"})
		if got := l.call("bench_target", 5, 2); got != elsewhere {
			t.Errorf("with a post handler: %#x, want %#x, %s", got, elsewhere, l.state(p).Mode)
		}
	})
}

// A call that is displaced while the CPU is in another hit comes back: no handler of its probe runs, but what stands for the
// call has to know where it was. The outer hit is one that its handler has left open.
func TestCallDisplacedInAnotherHit(t *testing.T) {
	for _, m := range modes() {
		if m.mode != Optimized {
			continue
		}
		bootImage(t, m.image, m.opt, func(l *live) {
			if l.k.era.Hooks {
				return // closes what a handler has left open
			}
			want := l.call("work_recursive", 4, 2)
			p := l.add(Spec{Symbol: "work_recursive", Offset: l.firstCall("work_recursive"), Handler: "handler_count"})
			if mode := l.state(p).Mode; l.m.ISA().Name == "ppc64" && mode != Optimized {
				t.Errorf("%s: the probe of a call is %s, so that no detour is tried", m.name(), mode)
			}
			hits := l.percpu("handler_hits")
			l.call("work_recursive", 4, 2)
			n := l.percpu("handler_hits") - hits
			l.do(l.m.Store(l.symbol("handler_divert_to"), l.size(), l.addr("work_frame")))
			l.add(Spec{Symbol: "bench_target", Handler: "handler_divert", Post: "post_empty"})
			l.call("bench_target", 5, 2)
			if got := l.call("work_recursive", 4, 2); got != want {
				t.Errorf("%s: %#x, want %#x", m.name(), got, want)
			}
			if got, handled := l.state(p).NMissed, l.percpu("handler_hits")-hits-n; got != n || n == 0 || handled != 0 {
				t.Errorf("%s: %d hits were missed and %d handled, want %d and none", m.name(), got, handled, n)
			}
			l.call("handler_ends_hit")
		})
	}
}

// firstCall is the offset of the first call in a function.
func (l *live) firstCall(symbol string) uint64 {
	fn, _ := l.k.text(l.addr(symbol))
	for _, off := range l.k.starts(fn) {
		text, _ := l.m.ISA().Disasm(fn.Code[off:], fn.Start+off, l.m.Image().SymbolOff)
		if strings.HasPrefix(text, "bl ") || strings.HasPrefix(text, "call") {
			return off
		}
	}
	l.t.Errorf("%s calls nothing", symbol)
	return 0
}

// The instance of a return probe has the task, the probe, the return address and what the entry handler left.
func TestInstancesTellTheCall(t *testing.T) {
	eachMode(t, modes(), func(l *live, m hitMode) {
		p := l.add(Spec{Kind: Kretprobe, Symbol: "bench_target", Handler: "ret_sees_address"})
		l.call("bench_loop", l.pointer("bench_target"), 2, 1, 2)
		loop := l.function("bench_loop")
		if got := l.percpu("handler_last_value"); got-loop.Entry >= loop.Size {
			t.Errorf("%s: the return address is %#x, the call is in bench_loop at %#x", m.name(), got, loop.Entry)
		}
		l.remove(p)
		if !l.k.era.entry {
			return
		}
		l.add(Spec{
			Kind: Kretprobe, Symbol: "bench_target", Handler: "ret_sees_instance", Entry: "entry_argument", DataSize: uint64(l.size()),
		})
		l.call("bench_target", 4711, 2)
		if got := l.percpu("handler_last_value"); got != 4711 {
			t.Errorf("%s: the return handler found %d, the entry handler left 4711", m.name(), got)
		}
	})
}

// The flags of a post handler are zero, and a fault handler gets the number of the trap.
func TestHandlersSeeFlagsAndNumbers(t *testing.T) {
	bootImages(t, images(), plain(), func(l *live, image string) {
		p := l.add(Spec{Symbol: "bench_target", Handler: "handler_sees_probe", Post: "post_sees_flags"})
		l.call("bench_target", 1, 2)
		require.Equal(t, l.percpu("handler_last_value"), 0, "%s: flags", image)
		l.remove(p)
		if l.k.era.faultless {
			return
		}
		l.add(Spec{Symbol: "bench_target", Handler: "handler_faulting", Fault: "fault_sees_number"})
		l.call("bench_target", 1, 2)
		require.Equal(t, l.percpu("handler_last_value"), pageFault[l.m.ISA().Name], "%s: trap number", image)
	})
}

// pageFault holds what a fault handler is told of a page fault: a vector, on ppc64 that of a missing segment, on ARM the
// status of the fault: translation, first level (ARM ARM, B3.13.3).
var pageFault = map[string]uint64{"i386": 14, "x86_64": 14, "ppc64": 0x380, "arm": 5}

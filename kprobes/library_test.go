package kprobes

import (
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/workloads"
)

// libraryImages are a kernel of each instruction set and year, without options.
func libraryImages() (names []string) {
	for _, im := range workloads.List() {
		if im.Options == "" && slices.Contains(isas(), im.ISA) {
			names = append(names, im.Name)
		}
	}
	return names
}

// Every function of the chain that begins a task takes a probe, and a call of the newest hits each.
func TestForksAreHit(t *testing.T) {
	for _, image := range libraryImages() {
		bootImage(t, image, plain(), func(l *live) {
			first := l.call("fork_work", 0, 0x1000)
			chain := []string{"kernel_clone", "_do_fork", "do_fork"}
			var probes []*Probe
			for _, fn := range chain {
				probes = append(probes, l.add(Spec{Kind: Kprobe, Symbol: fn, Handler: "handler_count"}))
			}
			hits := l.percpu("handler_hits")
			got := l.call("fork_work", 0, 0x1000)
			require.That(t, got == first+1, "%s: the second child has number %d, the first %d", image, got, first)
			n := l.percpu("handler_hits") - hits
			require.That(t, n == uint64(len(chain)), "%s: %d hits of %d probes", image, n, len(chain))
			for _, p := range probes {
				l.remove(p)
			}
		})
	}
}

// What begins a task returns once for a call, so that return probes of it are no issue.
func TestForksReturn(t *testing.T) {
	for _, image := range libraryImages() {
		bootImage(t, image, plain(), func(l *live) {
			first := l.call("fork_work", 0, 0x1000)
			for _, fn := range []string{"kernel_clone", "_do_fork", "do_fork"} {
				p := l.add(Spec{Kind: Kretprobe, Symbol: fn, Handler: "ret_count", MaxActive: 2})
				hits := l.percpu("handler_hits")
				first++
				if got := l.call("fork_work", 0, 0x1000); got != first || l.percpu("handler_hits") != hits+1 || l.state(p).Unseen != 0 {
					t.Errorf("%s: %s: child %d, want %d; %d returns, %+v", image, fn, got, first, l.percpu("handler_hits")-hits, l.state(p))
				}
				got := l.percpu("handler_last_value")
				require.That(t, got == first, "%s: %s returns %d to the handler, want %d", image, fn, got, first)
				l.remove(p)
			}
		})
	}
}

// A jprobe of an asmlinkage function sees its arguments when its function is declared asmlinkage, too. Where other
// functions have them in registers, one that is not sees others.
func TestJprobeOfAsmlinkage(t *testing.T) {
	for _, image := range libraryImages() {
		bootImage(t, image, plain(), func(l *live) {
			require.Equal(t, l.call("call_asm_difference", 900, 77), 823, "%s: the function returns", image)
			if _, ok := l.m.Image().Func("jprobe_as_declared"); !ok {
				return // kernels since 2018 have no jprobes
			}
			for _, handler := range []string{"jprobe_as_declared", "jprobe_in_registers"} {
				p := l.add(Spec{Kind: Jprobe, Symbol: "asm_difference", Handler: handler})
				if p == nil {
					continue
				}
				require.Equal(t, l.call("call_asm_difference", 900, 77), 823, "%s: %s: the function returns", image, handler)
				seen, _ := l.m.Image().Symbol("asm_seen")
				word := uint64(l.size())
				a, err := l.m.Load(seen.Addr, l.size())
				b, err2 := l.m.Load(seen.Addr+word, l.size())
				l.do(err)
				l.do(err2)
				right := a == 77 && b == 900
				onStack := strings.HasPrefix(image, "i386")
				want := handler == "jprobe_as_declared" || !onStack
				require.That(t, right == want, "%s: %s saw %d and %d", image, handler, a, b)
				l.remove(p)
			}
		})
	}
}

// A return probe shows: a backtrace names the trampoline, and so does __builtin_return_address.
func TestBacktraceShowsTheTrampoline(t *testing.T) {
	for _, image := range libraryImages() {
		bootImage(t, image, plain(), func(l *live) {
			before := l.call("call_return_address", 1, 2)
			name, _, _ := l.m.Image().In(before)
			require.That(t, name == "call_return_address", "%s: without a probe it returns to %s", image, name)
			if text := l.m.Console(); !strings.Contains(text, "] call_return_address+0x") || strings.Contains(text, "trampoline") {
				t.Errorf("%s: without a probe the backtrace is\n%s", image, text)
			}
			p := l.add(Spec{Kind: Kretprobe, Symbol: "return_address", Handler: "ret_count"})
			after := l.call("call_return_address", 1, 2)
			if name, _, _ := l.m.Image().In(after); name != "kretprobe_trampoline" {
				t.Errorf("%s: with a return probe it returns to %s", image, name)
			}
			if text := l.m.Console(); !strings.Contains(text, "] kretprobe_trampoline+0x0/") {
				t.Errorf("%s: with a return probe the backtrace is\n%s", image, text)
			}
			l.remove(p)
		})
	}
}

// NOKPROBE_SYMBOL keeps probes away in kernels that know it, and is nothing to others.
func TestListedFunctionsRefuse(t *testing.T) {
	for _, image := range libraryImages() {
		bootImage(t, image, plain(), func(l *live) {
			f, _ := l.m.Image().Func("unprobed_sum")
			listed := l.k.era.blacklist
			refused := l.k.barred(f.Entry) != nil
			require.That(t, refused == listed, "%s: refused: %v; the kernel knows NOKPROBE_SYMBOL: %v", image, refused, listed)
			g, _ := l.m.Image().Func("asm_difference")
			require.That(t, l.k.barred(g.Entry) == nil, "%s: its neighbour is refused, too", image)
		})
	}
}

// A name leads to what a pointer in C to the function is, and a name of nothing to 0.
func TestLookUpByName(t *testing.T) {
	for _, image := range libraryImages() {
		bootImage(t, image, plain(), func(l *live) {
			name := value(l.m.Alloc(32, 16))(l)
			for _, want := range []string{"do_fork", "bench_target", "no_such_name"} {
				l.do(l.m.WriteBytes(name, append([]byte(want), 0)))
				f, _ := l.m.Image().Func(want)
				require.Equal(t, l.call("kallsyms_lookup_name", name), f.Pointer, "%s: %s is at", image, want)
			}
		})
	}
}

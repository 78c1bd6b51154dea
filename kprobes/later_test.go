package kprobes

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// laterISAs have kernels of 2020.
func laterISAs() []string { return []string{"x86_64", "i386"} }

// laterImages are the kernels without jprobes.
func laterImages() []string {
	return slices.DeleteFunc(images(), func(name string) bool { return has(name).jprobes() })
}

func TestLaterKernelsLackJprobes(t *testing.T) {
	for _, image := range laterImages() {
		bootImage(t, image, plain(), func(l *live) {
			at := value(l.m.Alloc(512, 64))(l)
			for _, f := range []string{"register_jprobe", "unregister_jprobe", "register_jprobes", "unregister_jprobes"} {
				require.Equal(t, l.status(f, at, 1), -int32(ENOSYS), "%s: %s", image, f)
			}
			_, err := l.k.Add(l.Call, Spec{Symbol: "bench_target", Fault: "fault_count"})
			require.That(t, err != nil, "%s: a fault handler is taken", image)
		})
	}
}

// At least ten instances and twice the CPUs, also where kernel code is not preempted.
func TestLaterKernelsAllocateManyInstances(t *testing.T) {
	for _, image := range laterImages() {
		for _, cpus := range []int{1, 7} {
			o := plain()
			o.Preempt = strings.HasSuffix(image, "-preempt")
			bootMany(t, image, cpus, o, func(w *crowd) {
				p := w.add(Spec{Kind: Kretprobe, Symbol: "bench_target"})
				free := len(w.k.hlist(w.k.freeHead(p.Addr), w.k.instanceLinks()))
				want := max(10, 2*cpus)
				require.That(t, free == want, "%s, %d CPUs: %d instances, want %d", image, cpus, free, want)
				w.remove(p)
			})
		}
	}
}

// Neither a copy nor an emulation serves a jump through memory.
func TestLaterKernelsRefuseIndirectJumps(t *testing.T) {
	for _, image := range laterImages() {
		bootImage(t, image, plain(), func(l *live) {
			fn, _ := l.k.text(l.addr("work_switch"))
			for _, off := range l.k.starts(fn) {
				_, err := l.k.arch.Prepare(Insn{Code: fn.Code[off:], Addr: fn.Start + off, Slot: l.k.sym.slots.Start})
				memory := fn.Code[off] == 0xff && fn.Code[off+1] == 0x24
				require.That(t, errors.Is(err, EOPNOTSUPP) == memory, "%s: work_switch+%#x: %v", image, off, err)
			}
		})
	}
}

// What a hit raises: two breakpoints where a copy runs, one where it jumps back or the kernel emulates, none where
// the function calls.
func TestExceptionsOfLaterHits(t *testing.T) {
	for _, isa := range laterISAs() {
		for _, hit := range laterHits() {
			hit.image = isa + hit.image
			holdExceptions(t, hit)
		}
	}
}

// laterHit is a kernel's name behind its instruction set, a probe, and what its hits raise.
type laterHit struct {
	image, symbol string
	opt           Options
	mode          Mode
	breakpoints   int
}

func laterHits() []laterHit {
	return []laterHit{
		{"-2020-untraced", "bench_target", plain(), Stepped, 2},
		{"-2020-untraced", "bench_target", boosting(), Boosted, 1},
		{"-2020-untraced", "bench_target", Default(), Optimized, 0},
		{"-2020-untraced", "work_jcc_first", Default(), Emulated, 1},
		{"-2020", "bench_target", Default(), Ftrace, 0},
		{"-2020-preempt", "bench_target", Default(), Ftrace, 0},
	}
}

func holdExceptions(t *testing.T, tt laterHit) {
	t.Helper()
	bootImage(t, tt.image, tt.opt, func(l *live) {
		if _, ok := l.m.Image().Func(tt.symbol); !ok {
			t.Errorf("%s has no %s", tt.image, tt.symbol)
			return
		}
		p := l.add(Spec{Symbol: tt.symbol, Handler: "handler_count"})
		l.call(tt.symbol, 1, 2)
		var seen exceptions
		l.m.CPU(0).Observe(&seen)
		l.call(tt.symbol, 1, 2)
		l.m.CPU(0).Observe(nil)
		want := strings.TrimSpace(strings.Repeat("#BP ", tt.breakpoints))
		if got := strings.Join(seen, " "); got != want || l.state(p).Mode != tt.mode {
			t.Errorf("%s, %s: exceptions %q, %s; want %q, %s", tt.image, tt.symbol, got, l.state(p).Mode, want, tt.mode)
		}
	})
}

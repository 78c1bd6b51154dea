package kprobes

import (
	"errors"
	"strings"
	"testing"

	"kprobesim/smp"
)

// What kernels of 2020 refuse, and by which number.
func TestErrorsOfLaterKernels(t *testing.T) {
	for _, image := range laterImages() {
		bootImage(t, image, plain(), func(l *live) {
			second := l.offsets("bench_target")[1]
			for what, tt := range map[string]struct {
				spec Spec
				want error
			}{
				"a symbol that nobody has":       {Spec{Symbol: "no_such_function"}, ENOENT},
				"such a symbol's return":         {Spec{Kind: Kretprobe, Symbol: "no_such_function"}, ENOENT},
				"an address below the kernel":    {Spec{Addr: 8}, ENOENT},
				"one behind it":                  {Spec{Symbol: "bench_target", Offset: 1 << 30}, ENOENT},
				"data":                           {Spec{Symbol: "probe_table"}, EINVAL},
				"a return probe in a function":   {Spec{Kind: Kretprobe, Symbol: "bench_target", Offset: second}, EINVAL},
				"a kprobe there":                 {Spec{Symbol: "bench_target", Offset: second}, nil},
				"as much data as there may be":   {Spec{Kind: Kretprobe, Symbol: "bench_target", DataSize: 4096}, nil},
				"a byte more":                    {Spec{Kind: Kretprobe, Symbol: "bench_target", DataSize: 4097}, E2BIG},
				"the switch of tasks":            {Spec{Symbol: "__switch_to"}, nil},
				"the return of a switched task":  {Spec{Kind: Kretprobe, Symbol: "__switch_to"}, EINVAL},
				"what switches stacks elsewhere": {Spec{Kind: Kretprobe, Symbol: "schedule"}, nil},
			} {
				p, err := l.k.Add(l.Call, tt.spec)
				if !errors.Is(err, tt.want) {
					t.Errorf("%s: %s: %v, want %v", image, what, err, tt.want)
				}
				if err == nil {
					l.remove(p)
				}
			}
		})
	}
}

// Flags of kernels of 2020 say that a probe stands where a function begins.
func TestFlagsOfEntries(t *testing.T) {
	for _, image := range laterImages() {
		bootImage(t, image, plain(), func(l *live) {
			traced, second := uint64(flagFtrace), l.offsets("bench_target")[1]
			if !l.k.Traced() {
				traced = 0
			}
			for _, tt := range []struct{ off, want uint64 }{{0, flagEntry | traced}, {second, 0}} {
				p := l.add(Spec{Symbol: "bench_target", Offset: tt.off})
				if got := l.k.flags(p.Addr); got != tt.want {
					t.Errorf("%s: bench_target+%#x: flags %#x, want %#x", image, tt.off, got, tt.want)
				}
				l.remove(p)
			}
		})
	}
}

// A probe may stand at each instruction of the switch of tasks, which begins on one stack and ends on another.
func TestSwitchOfTasksIsProbed(t *testing.T) {
	for _, image := range laterImages() {
		for _, o := range []Options{boosting(), Default()} {
			o.Preempt = strings.HasSuffix(image, "-preempt")
			bootImage(t, image, o, func(l *live) {
				want := uint64(0)
				for _, off := range l.offsets("__switch_to") {
					p := l.add(Spec{Symbol: "__switch_to", Offset: off, Handler: "handler_count"})
					if o.OptProbes {
						l.do(l.k.WaitOptimizer(l.Call))
					}
					hits := l.percpu("handler_hits")
					task, err := l.smp.Go(l.Call, "other", func(smp.Caller) error { return nil })
					l.do(err)
					l.do(l.smp.Join(l.Call, task))
					n := l.percpu("handler_hits") - hits
					if want == 0 {
						want = n
					}
					if st := l.state(p); n == 0 || n != want || st.NMissed != 0 {
						t.Errorf("%s: __switch_to+%#x (%s): %d hits, %d missed; want %d", image, off, st.Mode, n, st.NMissed, want)
					}
					l.remove(p)
				}
			})
		}
	}
}

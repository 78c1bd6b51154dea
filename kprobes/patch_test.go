package kprobes

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// protocols are the ways of changing text that a kernel has.
func protocols(name string) []string {
	im, err := openImage(name)
	if err != nil {
		panic(err)
	}
	arch, year := *ArchOf(im), has(name).year
	for _, e := range arch.Eras {
		if e.Year == year && e.Change != nil {
			e.Change(&arch)
		}
	}
	return arch.Optimizer.Patchings
}

// kernelsWith are the kernels of every instruction set that have a protocol, "" for any.
func kernelsWith(protocol string) (names []string) {
	for _, isa := range isas() {
		names = append(names, slices.DeleteFunc(kernelsOf(isa), func(name string) bool {
			return protocol != "" && !slices.Contains(protocols(name), protocol)
		})...)
	}
	return names
}

// eachProtocol runs a test for every way in which these kernels change text.
func eachProtocol(t *testing.T, test func(image string, o Options)) {
	t.Helper()
	for _, image := range kernelsWith("") {
		for _, protocol := range protocols(image) {
			o := Default()
			o.Patching = protocol
			test(image, o)
		}
	}
}

// steps collects the steps of patches as words, with "sync" for a CPU that has synchronized.
func (l *live) watchSteps() *[]string {
	var log []string
	l.m.Watch(func(e sim.Event) {
		switch e.Kind {
		case EventPatch:
			log = append(log, e.Name)
		case EventSync:
			log = append(log, "sync")
		}
	})
	return &log
}

// A patch takes the steps of its protocol, and leaves the text as it was.
func TestStepsOfPatches(t *testing.T) {
	whole := []string{"whole"}
	bp := []string{"breakpoint", "sync", "tail", "sync", "first", "sync"}
	patches := map[string][2][]string{ // to a jump, and back
		PatchStop: {whole, whole}, PatchStopEach: {whole, whole}, PatchBreakpoint: {bp, bp}, PatchBatch: {bp, bp[:4]}, PatchStore: {whole, whole},
	}
	eachProtocol(t, func(image string, o Options) {
		protocol, many := o.Patching, patches[o.Patching]
		bootImage(t, image, o, func(l *live) {
			l.do(l.k.WaitOptimizer(l.Call)) // of probes that the kernel has for itself
			log := l.watchSteps()
			was := l.read("bench_target", 16)
			p := l.add(Spec{Symbol: "bench_target", Handler: "handler_count"})
			want := l.percpu("handler_hits") + 10
			l.call("bench_loop", l.pointer("bench_target"), 10, 1, 2)
			if got := l.percpu("handler_hits"); got != want || l.state(p).Mode != Optimized {
				t.Errorf("%s: %d handler calls, want %d; %+v", protocol, got, want, l.state(p))
			}
			l.remove(p)
			away, synced := many[1], []string(nil)
			if l.k.arch.SyncsBreakpoints {
				synced = []string{"sync"}
			}
			if l.k.jump != nil && l.k.jump.Vectors { // the breakpoint that is left behind is not stored twice
				away = patches[PatchBatch][1]
			}
			all := slices.Concat([]string{"breakpoint"}, synced, many[0], away, []string{"restore"}, synced)
			require.That(t, slices.Equal(*log, all), "%s: steps\n%q\nwant\n%q", protocol, *log, all)
			got := l.read("bench_target", 16)
			require.That(t, got == was, "%s: text %s afterwards, was %s", protocol, got, was)
		})
	})
}

func (l *live) read(symbol string, n int) string {
	l.t.Helper()
	b := value(l.m.ReadBytes(l.addr(symbol), n))(l)
	return hex(b)
}

func TestOptionsAreChecked(t *testing.T) {
	tests := []struct {
		change func(*Options)
		want   string // part of the error, "" for none
	}{
		{func(*Options) {}, ""},
		{func(o *Options) { o.Patching = PatchBreakpoint }, ""},
		{func(o *Options) { o.Patching = PatchBatch }, ""},
		{func(o *Options) { o.Patching = "bare" }, `patching = "bare"`},
		{func(o *Options) { o.Quiesce = "forever" }, `quiesce = "forever"`},
		{func(o *Options) { o.Mutant = MutantNoQuiesce }, ""},
		{func(o *Options) { o.Mutant = "x" }, `mutant = "x"`},
	}
	for _, tt := range tests {
		o := Default()
		tt.change(&o)
		got, err := o.check()
		require.That(t, tt.want != "" || err == nil && got.Batch == 256, "%+v: %v", got, err)
		require.That(t, tt.want == "" || err != nil && strings.Contains(err.Error(), tt.want), "error %v, want one with %q", err, tt.want)
	}
}

// The machine stands still for a look at the stacks, where that is the way of waiting, and for no other way.
func TestStacksAreReadWhileTheMachineStands(t *testing.T) { eachKernel(t, holdStacksAreRead) }

func holdStacksAreRead(t *testing.T, image string) {
	for _, quiesce := range Quiesces() {
		o := Default()
		o.Preempt, o.Quiesce = true, quiesce
		g := newGuest(t, image, o)
		g.do(g.k.quiesce(g))
		require.That(t, (g.passes == 1) == (quiesce == QuiesceStacks), "%s: the machine was stopped %d times", quiesce, g.passes)
		require.Equal(t, len(g.k.leaving([]*site{{}})), 0, "buffers of a site that has none")
	}
}

// TestStepsLeftOut wants the bits of omitted steps to be those that the guest looks at.
func TestStepsLeftOut(t *testing.T) {
	for _, family := range []string{"ppc64", "arm"} {
		text := require.Must(os.ReadFile("../workloads/kernel/arch/" + family + "/text.c"))(t)
		for _, m := range []string{MutantSkipClean, MutantSkipInvalidate, MutantSkipRefetch} {
			step := strings.ToUpper(strings.TrimPrefix(m, "skip-"))
			line := fmt.Sprintf("#define OMIT_%s\t%d\n", step, omitted(m))
			require.That(t, strings.Contains(string(text), line), "%s has no line %q", family, line)
		}
	}
	require.That(t, omitted("") == 0, "a kernel without a mistake leaves something out")
}

// Each mutant is another kernel in one respect only: in peace it does what the others do. A short run tries a mutant on some
// of the kernels, and so on each protocol several mutants.
func TestMutantsWorkInPeace(t *testing.T) {
	whole := hosttools.Whole(t, "each mutant on every kernel", "a third of the kernels for each")
	for i, m := range append(Mutants(), "") {
		turn := i
		eachProtocol(t, func(image string, o Options) {
			if turn++; turn%3 != 0 && !whole {
				return
			}
			o.Mutant, o.Preempt = m, m == MutantPreemptSched
			bootImage(t, image, o, func(l *live) {
				was := l.read("work_tight_loop", 16)
				symbol := "bench_target"
				if m == MutantJumpIntoRegion {
					symbol = "work_tight_loop"
				}
				p := l.add(Spec{Symbol: symbol, Handler: "handler_count"})
				st := l.state(p)
				require.That(t, st.Mode == Optimized, "%s: %+v %v", m, st, st.Refusal)
				l.remove(p)
				got := l.read("work_tight_loop", 16)
				require.That(t, got == was, "%s: text %s afterwards, was %s", m, got, was)
			})
		})
	}
}

// While its jump is pending a probe steps nothing where the detour buffer has a copy of the instruction: hits go
// there. That holds for the first one, too, and without boosting.
func TestPendingHitsTakeTheDetour(t *testing.T) {
	o := Default()
	o.Boost = false
	boot(t, o, func(l *live) {
		want := l.call("bench_target", 1, 2)
		p := value(l.k.Add(l.Call, Spec{Symbol: "bench_target", Handler: "handler_count"}))(l)
		hits := l.percpu("handler_hits")
		var seen exceptions
		l.m.CPU(0).Observe(&seen)
		got := l.call("bench_target", 1, 2)
		l.m.CPU(0).Observe(nil)
		if got != want || l.percpu("handler_hits") != hits+1 {
			t.Errorf("result %#x, was %#x; %d handler calls", got, want, l.percpu("handler_hits")-hits)
		}
		way := l.exceptions("bp")
		if l.k.arch.Then == Emulated && !l.neverSteps() {
			way = l.exceptions("bp step")
		}
		st := l.state(p)
		require.That(t, st.Mode == l.k.arch.First && st.Queued && strings.Join(seen, " ") == way, "exceptions %q of a pending hit, want %q; %+v", seen, way, st)
		l.remove(p)
	})
}

// What changes text, and what runs while the machine stands still, must not run into its own work.
func TestPatchingCannotBeProbed(t *testing.T) {
	boot(t, plain(), func(l *live) {
		there := 0
		for _, fn := range []string{
			"text_poke", "text_poke_patch", "text_poke_bp", "store_text", "sync_this_cpu", "poke_notify",
			"text_poke_bp_batch", "poke_first", "batch_notify", "poke_find", "stopper_thread", "text_poke_leave_stop",
		} {
			if _, ok := l.m.Image().Func(fn); !ok {
				continue // of another instruction set
			}
			there++
			_, err := l.k.Add(l.Call, Spec{Symbol: fn})
			require.That(t, errors.Is(err, EINVAL), "registering a probe at %s: %v, want %v", fn, err, EINVAL)
		}
		require.That(t, there >= 4, "%d of the functions are known", there)
	})
}

// A refused registration names the rule beside the kernel's number.
func TestRefusalNamesTheRule(t *testing.T) {
	boot(t, Default(), func(l *live) {
		_, err := l.k.Add(l.Call, Spec{Addr: 4, Handler: "handler_empty"})
		number := EINVAL
		if l.k.era.located {
			number = ENOENT
		}
		if want := "0x4 is in no text of the kernel (rule no-kernel-text)"; !errors.Is(err, number) || !strings.Contains(err.Error(), want) {
			l.t.Errorf("%s: %v, want %v and %q", l.m.Image().Name, err, number, want)
		}
	})
}

package kprobes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus/cpustest"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/sim"
	"kprobesim/smp"
)

// crowd is a machine of several CPUs, each with a task that calls a function over and over.
type crowd struct {
	*live
	cpus  int
	tasks []uint64
	calls uint64 // of all tasks
	done  bool   // the tasks are to end
}

// bootMany runs body as the first task of a kernel whose CPUs are all up.
func bootMany(t *testing.T, image string, cpus int, opt Options, body func(w *crowd)) {
	t.Helper()
	bootUnder(t, nil, image, cpus, opt, body)
}

// bootUnder is bootMany with somebody who says which CPU runs when.
func bootUnder(t *testing.T, policy sim.Policy, image string, cpus int, opt Options, body func(w *crowd)) {
	t.Helper()
	m, l := newMany(t, policy, image, cpus, opt)
	m.Bind("sim_main", func(c *sim.Call) uint64 {
		l.Call = c
		l.do(l.smp.Online(c))
		l.own = len(l.k.sites)
		body(&crowd{live: l, cpus: cpus})
		return 0
	})
	err := errors.Join(m.Run(), l.smp.Err())
	require.Need(t, err == nil, "%v\n%s", err, m.Console())
}

// bootAll is bootMany with the newest kernel of every instruction set that has the variant of it and
// the protocol.
func bootAll(t *testing.T, variant string, cpus int, opt Options, body func(w *crowd)) {
	t.Helper()
	for _, image := range kernelsWith(opt.Patching) {
		if image += variant; slices.Contains(images(), image) {
			bootMany(t, image, cpus, opt, body)
		}
	}
}

// eachKernelOfMany boots every combination of protocols on some CPUs, but for those that are left out; nil leaves out none.
func eachKernelOfMany(t *testing.T, cpus int, left func(kernel) bool, body func(t *testing.T, w *crowd)) {
	all := kernels()
	if left != nil {
		all = slices.DeleteFunc(all, left)
	}
	for _, o := range hosttools.Share(t, "kernels", 6, all) {
		t.Run(o.name, func(t *testing.T) { bootMany(t, o.image, cpus, o.opt, func(w *crowd) { body(t, w) }) })
	}
}

func newMany(t *testing.T, policy sim.Policy, image string, cpus int, opt Options) (*sim.Machine, *live) {
	t.Helper()
	im := loadImage(t, image)
	kit := KitOf(im)
	m, err := sim.New(sim.Config{
		ISA: kit.ISA, Board: kit.Board, CPU: cpustest.Config(kit.ISA), Image: im, CPUs: cpus, Policy: policy, Zeroed: cpustest.RAM(t),
		Budget: 400_000_000 * clock.PerCycle,
	})
	require.NoError(t, err)
	l := &live{t: t, m: m}
	// A slow clock: a jiffy has room for some dozen hits and not for thousands. Of a slice of one tick a task
	// may get so little, every time, that it never leaves the interrupt in which it was preempted. Where timers
	// count coarser, hits take longer too.
	hz := 1e7 * cpustest.Config(kit.ISA).Hz / m.TimerHz() // by counts of the timer, of which a second has 1e7
	ticks := max(1000, hz/1e5)
	if m.ISA().TimerCycles > 1 {
		ticks = 1250 // 1000 are in step with the calls of user tasks, so that hardly any tick finds user mode
	}
	l.smp, err = smp.New(m, im, smp.Options{
		HZ: ticks, CPUHz: hz, TimerHz: 1e7, CPUs: cpus, Preempt: opt.Preempt, Tick: true, Slice: 2,
	})
	require.NoError(t, err)
	l.smp.Bind(m)
	if l.k, err = New(m, im, l.smp, ArchOf(im), opt); err != nil {
		t.Fatal(err)
	}
	return m, l
}

// begin starts a task on every CPU that calls the function until end; want is its result.
func (w *crowd) begin(fn string, want uint64) {
	w.t.Helper()
	for i := range w.cpus {
		task, err := w.smp.GoOn(w.Call, i, fmt.Sprintf("loop/%d", i), func(c Caller) error {
			return w.loop(c, fn, want)
		})
		w.do(err)
		w.tasks = append(w.tasks, task)
	}
}

// loop makes bursts of calls of changing length. Bursts of one length fall into step with the ticks: then a
// tick strikes the same instruction each time, and another task may never get to run one.
func (w *crowd) loop(c Caller, fn string, want uint64) error {
	yield := "cond_resched"
	if w.k.opt.Quiesce == QuiesceTasks {
		yield = "schedule" // only what a task does of its own will ends a grace period of the tasks
	}
	mask := ^uint64(0) >> (64 - w.m.Image().Bits)
	dice := uint64(1)
	for !w.done {
		dice = dice * 5 % 97
		n := 2 + dice%3
		got, err := c.InvokeSym("bench_loop", w.pointer(fn), n, 5, 77)
		if err != nil {
			return err
		}
		w.calls += n
		if got != n*want&mask {
			return fmt.Errorf("cpu %d: %d calls of %s sum up to %#x, want %#x", c.CPU(), n, fn, got, n*want)
		}
		if _, err := c.InvokeSym(yield); err != nil {
			return err
		}
	}
	return nil
}

// end lets the tasks end and waits for them.
func (w *crowd) end() {
	w.t.Helper()
	w.done = true
	for _, task := range w.tasks {
		w.do(w.smp.Join(w.Call, task))
	}
	w.tasks, w.done = nil, false
}

// sum adds up a per-CPU counter.
func (w *crowd) sum(symbol string) (sum uint64) {
	w.t.Helper()
	for i := range w.cpus {
		a := value(w.m.PerCPU(i, symbol))(w)
		v := value(w.m.Load(a, w.m.Image().Bits/8))(w)
		sum += v
	}
	return sum
}

func (w *crowd) sleep(jiffies int64) {
	w.t.Helper()
	w.do(w.smp.Sleep(w.Call, jiffies))
}

// Every call is seen by a probe that stands there all the time, exactly once, while it is optimized
// and unoptimized under the CPUs that run into it, and while others come and go beside it.
func TestEveryHitCountsOnManyCPUs(t *testing.T) {
	sizes := []int{1, 2, 4, 8}
	whole := hosttools.Whole(t, "every kernel on 1 and 4 or on 2 and 8 CPUs", "one of five kernels, each on one of these numbers")
	for n, cpus := range sizes {
		for i, o := range kernels() {
			if whole && (i+n)%2 != 0 || !whole && i%(5*len(sizes)) != 5*n {
				continue
			}
			t.Run(fmt.Sprintf("%d/%s", cpus, o.name), func(t *testing.T) {
				bootMany(t, o.image, cpus, o.opt, func(w *crowd) { countHits(t, w) })
			})
		}
	}
}

// kernel is a combination of protocols.
type kernel struct {
	name, image string
	opt         Options
}

func kernels() (all []kernel) {
	for _, isa := range isas() {
		if image := isa + "-2005"; slices.Contains(imagesOf2005(), image) && !uniprocessor(image) {
			all = append(all, kernel{isa + "/2005", image, Default()})
		}
		for i, patching := range protocols(withJprobes(isa)) {
			for _, quiesce := range Quiesces() {
				if quiesce == QuiesceFreeze && i > 0 {
					continue // what is frozen does not depend on how text is changed
				}
				o := Default()
				o.Patching, o.Quiesce, o.Delay = patching, quiesce, 1
				name := isa + "/" + patching + "/" + quiesce
				if quiesce != QuiesceStacks && quiesce != QuiesceFreeze {
					all = append(all, kernel{name, withJprobes(isa), o})
				}
				if image := withJprobes(isa) + "-preempt"; quiesce != QuiesceSched && slices.Contains(images(), image) {
					o.Preempt = true
					all = append(all, kernel{name + "/preempt", image, o})
				}
			}
		}
	}
	for _, image := range laterImages() {
		o := Default()
		o.Delay, o.Preempt = 1, strings.HasSuffix(image, "-preempt")
		isa, variant, _ := strings.Cut(image, "-")
		all = append(all, kernel{isa + "/" + variant, image, o})
	}
	return all
}

// uniprocessor tells a kernel that runs on one CPU only.
func uniprocessor(image string) bool {
	return strings.HasPrefix(image, "i386-2005") || strings.HasPrefix(image, "i386-2006")
}

// old tells a kernel of 2005: one lock for all hits, and no jumps.
func (k kernel) old() bool { return strings.HasSuffix(k.image, "-2005") }

// jprobes tells a kernel that has them still.
func (k kernel) jprobes() bool { return has(k.image).jprobes() }

// losesNested tells a kernel in which an interrupt may strike a handler, and a hit in it takes the probe away.
func (k kernel) losesNested() bool { return k.old() && strings.HasPrefix(k.image, "ppc64") }

func countHits(t *testing.T, w *crowd) {
	text := w.read("bench_target", 32)
	before := w.sum("handler_hits")
	want := w.call("bench_target", 5, 77)
	p := value(w.k.Add(w.Call, Spec{Symbol: "bench_target", Handler: "handler_count"}))(w)
	w.begin("bench_target", want)
	for range 3 {
		w.churn("bench_target")
	}
	w.end()
	st := w.state(p)
	got := w.sum("handler_hits") - before + st.NMissed
	require.That(t, got == w.calls && w.calls != 0, "%d hits of %d calls, %d of them missed", got, w.calls, st.NMissed)
	w.remove(p)
	w.holdNothingLeft()
	if got := w.read("bench_target", 32); got != text {
		t.Errorf("text %s afterwards, was %s", got, text)
	}
}

// churn does to a function what makes its text change.
func (w *crowd) churn(fn string) {
	w.sleep(3)
	w.do(w.k.SetOptimization(w.Call, false))
	w.sleep(1)
	w.do(w.k.SetOptimization(w.Call, true))
	w.do(w.k.WaitOptimizer(w.Call))
	other := value(w.k.Add(w.Call, Spec{Symbol: fn, Offset: w.offsets(fn)[1], Handler: "handler_shared_count"}))(w)
	w.sleep(2)
	w.do(w.k.Disable(w.Call, other))
	w.sleep(3)
	w.do(w.k.Enable(w.Call, other))
	w.sleep(1)
	w.do(w.k.Remove(w.Call, other))
	post := value(w.k.Add(w.Call, Spec{Symbol: fn, Handler: "handler_empty", Post: "post_empty"}))(w)
	w.sleep(1)
	w.do(w.k.Remove(w.Call, post))
	w.do(w.k.WaitOptimizer(w.Call))
}

// A handler of whatever kind that sleeps ends the run with its name and that of its probe.
func TestSleepingHandlerIsNamed(t *testing.T) {
	for _, image := range kernelsWith("") {
		t.Run(image, func(t *testing.T) { holdSleepingHandlerIsNamed(t, image) })
	}
}

func holdSleepingHandlerIsNamed(t *testing.T, image string) {
	const bad = "handler_sleeping"
	for _, spec := range []Spec{
		{Handler: bad},
		{Handler: "handler_empty", Post: bad},
		{Kind: Kretprobe, Handler: bad},
		{Kind: Kretprobe, Handler: "ret_empty", Entry: bad},
		{Kind: Jprobe, Handler: bad},
	} {
		if spec.Kind == Jprobe && !has(image).jprobes() {
			continue
		}
		for _, o := range []Options{plain(), boosting(), Default()} {
			spec.Symbol = "work_frame"
			name, at := bad, "work_frame+0x0"
			if spec.Kind == Kretprobe && spec.Handler == bad && returnsTrap(image) {
				name, at = "trampoline_hit", "kretprobe_trampoline+0x0" // the handler of its probe calls the user's
			}
			err := sleepIn(t, image, o, spec)
			if err == nil || !strings.Contains(err.Error(), "scheduling while atomic") ||
				!strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "of the probe at "+at) {
				t.Errorf("%+v: error %v", spec, err)
			}
		}
	}
}

// sleepIn hits a probe once and returns how the run ended.
func sleepIn(t *testing.T, image string, o Options, spec Spec) error {
	m, l := newMany(t, nil, image, 1, o)
	m.Bind("sim_main", func(c *sim.Call) uint64 {
		l.Call = c
		l.add(spec)
		l.call("work_frame", 1, 2)
		return 0
	})
	return errors.Join(m.Run(), l.smp.Err())
}

// Once a probe is unregistered, no handler of it runs any more, whatever the CPUs are doing; and
// none runs twice for a call or without one.
func TestNoHandlerAfterUnregister(t *testing.T) {
	eachKernelOfMany(t, 4, nil, func(t *testing.T, w *crowd) {
		text := w.read("bench_target", 32)
		w.begin("bench_target", w.call("bench_target", 5, 77))
		before, calls := w.sum("handler_hits"), w.calls
		for i := range 6 {
			p := value(w.k.Add(w.Call, Spec{Symbol: "bench_target", Handler: "handler_count"}))(w)
			w.sleep(int64(1 + i))
			if i%2 == 0 {
				w.do(w.k.Disable(w.Call, p))
				w.do(w.k.WaitOptimizer(w.Call))
			}
			w.do(w.k.Remove(w.Call, p))
			after := w.sum("handler_hits")
			w.sleep(2)
			got := w.sum("handler_hits")
			require.That(t, got == after, "round %d: %d handler calls after the probe was gone", i, got-after)
		}
		w.end()
		// A call that is under way at the begin and at the end is not among those that were counted.
		got := w.sum("handler_hits") - before
		require.That(t, got != 0 && got <= w.calls-calls, "%d handler calls of %d calls", got, w.calls-calls)
		w.do(w.k.WaitOptimizer(w.Call))
		w.holdNothingLeft()
		if got := w.read("bench_target", 32); got != text {
			t.Errorf("text %s afterwards, was %s", got, text)
		}
	})
}

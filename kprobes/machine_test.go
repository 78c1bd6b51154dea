package kprobes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus/cpustest"
	"kprobesim/image"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/sim"
	"kprobesim/smp"
	"kprobesim/workloads"
)

// live is a machine that executes its guest, seen from the task that runs the tests.
type live struct {
	t *testing.T
	*sim.Call
	m   *sim.Machine
	k   *Kprobes
	smp *smp.Kernel
	own int // probes that the kernel has for itself
}

// newMachine makes a machine with Kprobes, ready to run.
func newMachine(t *testing.T, image string, opt Options) (*sim.Machine, *live) {
	t.Helper()
	im := loadImage(t, image)
	kit := KitOf(im)
	m, err := sim.New(sim.Config{ISA: kit.ISA, Board: kit.Board, CPU: cpustest.Config(kit.ISA), Image: im, Zeroed: cpustest.RAM(t)})
	require.NoError(t, err)
	l := &live{t: t, m: m}
	if l.smp, err = smp.New(m, im, smp.Options{HZ: 1000, CPUHz: 1e9, TimerHz: timerHz(m, 1e9), Preempt: smp.Preemptible(im)}); err != nil {
		t.Fatal(err)
	}
	l.smp.Bind(m)
	opt.Preempt = opt.Preempt || smp.Preemptible(im)
	if l.k, err = New(m, m.Image(), l.smp, ArchOf(m.Image()), opt); err != nil {
		t.Fatal(err)
	}
	return m, l
}

// timerHz returns the clock of the timers where the kernel is told another clock of the CPUs than they have.
func timerHz(m *sim.Machine, cpuHz int64) int64 {
	return cpuHz / (cpustest.Config(m.ISA()).Hz / m.TimerHz())
}

// boot runs body as the first task of the kernels of every instruction set that have the protocol.
func boot(t *testing.T, opt Options, body func(l *live)) {
	t.Helper()
	for _, image := range kernelsWith(opt.Patching) {
		bootImage(t, image, opt, body)
	}
}

// bootEach is boot with one kernel of every instruction set.
func bootEach(t *testing.T, which func(isa string) string, opt Options, body func(l *live)) {
	t.Helper()
	for _, isa := range isas() {
		bootImage(t, which(isa), opt, body)
	}
}

// boot2005 is boot with the kernels of 2005.
func boot2005(t *testing.T, opt Options, body func(l *live)) {
	t.Helper()
	for _, image := range imagesOf2005() {
		bootImage(t, image, opt, body)
	}
}

// imagesOf2005 are the kernels of 2005. Not every instruction set had probes then.
func imagesOf2005() (names []string) {
	for _, isa := range isas() {
		if name := isa + "-2005"; slices.Contains(images(), name) {
			names = append(names, name)
		}
	}
	return names
}

// bootImage runs body as the first task of a kernel.
func bootImage(t *testing.T, image string, opt Options, body func(l *live)) {
	t.Helper()
	m, l := newMachine(t, image, opt)
	m.Bind("sim_main", func(c *sim.Call) uint64 {
		l.Call, l.own = c, len(l.k.sites)
		body(l)
		return 0
	})
	err := errors.Join(m.Run(), l.smp.Err())
	require.Need(t, err == nil, "%v\n%s", err, m.Console())
}

// value returns the value of a call, and has its error reported: v := value(f())(l).
func value[T any](v T, err error) func(interface{ do(err error) }) T {
	return func(t interface{ do(err error) }) T {
		t.do(err)
		return v
	}
}

// do reports an error and goes on: leaving a task half-way would hang the machine.
func (l *live) do(err error) {
	if err != nil {
		l.t.Helper() // walks the stack
		l.t.Error(err)
	}
}

func (l *live) add(s Spec) *Probe {
	l.t.Helper()
	p, err := l.k.Add(l.Call, s)
	if err != nil {
		l.t.Error(err)
		return nil
	}
	if l.k.opt.OptProbes {
		l.do(l.k.WaitOptimizer(l.Call))
	}
	return p
}

// hasJprobes reports whether the kernel has them still.
func (l *live) hasJprobes() bool { return l.k.era.jprobes() }

func (l *live) remove(p *Probe) {
	l.t.Helper()
	l.do(l.k.Remove(l.Call, p))
	if l.k.opt.OptProbes {
		l.do(l.k.WaitOptimizer(l.Call))
	}
}

func (l *live) state(p *Probe) State {
	l.t.Helper()
	st := value(l.k.State(p.Addr))(l)
	return st
}

func (l *live) call(fn string, args ...uint64) uint64 {
	l.t.Helper()
	v := value(l.InvokeSym(fn, args...))(l)
	return v
}

func (l *live) percpu(symbol string) uint64 {
	l.t.Helper()
	a := value(l.m.PerCPU(0, symbol))(l)
	v := value(l.m.Load(a, l.size()))(l)
	return v
}

// status calls a function that returns an int.
func (l *live) status(fn string, args ...uint64) int32 {
	l.t.Helper()
	return int32(l.call(fn, args...))
}

// store writes a member of a structure.
func (l *live) store(base uint64, f image.Field, v uint64) {
	l.t.Helper()
	l.do(l.m.Store(base+f.Offset, f.Size, v))
}

// size is the bytes of a word of the guest.
func (l *live) size() int { return l.m.ISA().Bits / 8 }

// isas are the instruction sets, as the names of images begin.
func isas() []string { return []string{"x86_64", "i386", "ppc64", "arm"} }

// images are the guest kernels of every instruction set and era.
func images() (names []string) {
	for _, im := range workloads.List() {
		if slices.Contains(isas(), im.ISA) && !strings.Contains(im.Options, "-nokprobes") {
			names = append(names, im.Name)
		}
	}
	return names
}

// has is the interface of the kernel of an image.
func has(image string) api {
	im, _ := workloads.Find(image)
	i := slices.IndexFunc(apis(), func(a api) bool { return fmt.Sprint(a.year) == im.Era })
	return apis()[i]
}

// jprobes reports whether kernels have them.
func (a api) jprobes() bool { return !slices.Contains(a.lacks, "register_jprobe") }

// plainKernels are the kernels of an instruction set without options, oldest first. Of a year whose kernels enter probed
// functions by a call it is the one that does not: tests that put a probe there are about breakpoints and jumps.
// TestRegistration and all tests over modes have the others.
func plainKernels(isa string) (names []string) {
	for _, im := range workloads.List() {
		switch {
		case im.ISA != isa:
		case im.Options == "-untraced":
			names[len(names)-1] = im.Name
		case im.Options == "":
			names = append(names, im.Name)
		}
	}
	return names
}

// kernelsOf are the newest kernel of an instruction set that has jprobes, and the newest of all if that is another.
func kernelsOf(isa string) []string {
	names := plainKernels(isa)
	for len(names) > 1 && has(names[1]).jprobes() {
		names = names[1:]
	}
	return names
}

// newest is the newest kernel of an instruction set.
func newest(isa string) string { names := plainKernels(isa); return names[len(names)-1] }

// withJprobes is the newest kernel that has jprobes, fault handlers, and every protocol of changing text.
func withJprobes(isa string) string { return kernelsOf(isa)[0] }

// hitMode is one way in which a hit is handled.
type hitMode struct {
	image string
	opt   Options
	mode  Mode // of a probe at the first instruction of bench_target
}

// name is that of the way, for messages.
func (m hitMode) name() string { return m.image + " " + m.mode.String() }

// posted is the mode that a post handler leaves. Behind a jump nobody calls it.
func (m hitMode) posted(k *Kprobes) Mode {
	if k.arch.First == Emulated || m.opt.Boost && k.era.Boost && k.arch.Then == Emulated && m.mode != Stepped {
		return Emulated
	}
	if m.mode == Ftrace {
		return Ftrace
	}
	return Stepped
}

// older leaves out the kernels that have neither jprobes nor fault handlers.
func older(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !has(name).jprobes() })
}

// olderModes are the ways of those kernels.
func olderModes() []hitMode {
	return slices.DeleteFunc(modes(), func(m hitMode) bool { return !has(m.image).jprobes() })
}

// eachMode boots the kernel of each of some ways in which a hit is handled.
func eachMode(t *testing.T, modes []hitMode, body func(l *live, m hitMode)) {
	t.Helper()
	for _, m := range hosttools.Share(t, "ways of a hit", 2, modes) {
		bootImage(t, m.image, m.opt, func(l *live) { body(l, m) })
	}
}

// bootImages boots some kernels with the same options.
func bootImages(t *testing.T, images []string, opt Options, body func(l *live, image string)) {
	t.Helper()
	for _, image := range images {
		bootImage(t, image, opt, func(l *live) { body(l, image) })
	}
}

// modes lists the ways in which a hit is handled. Options choose the ways that no kernel has by itself.
func modes() (list []hitMode) {
	for _, m := range []hitMode{
		{"x86_64-2010", plain(), Stepped},
		{"x86_64-2010", boosting(), Boosted},
		{"x86_64-2010", Default(), Optimized},
		{"x86_64-2020", plain(), Ftrace},
		{"x86_64-2020", Default(), Ftrace},
		{"x86_64-2020-untraced", plain(), Stepped},
		{"x86_64-2020-untraced", boosting(), Boosted},
		{"x86_64-2020-untraced", Default(), Optimized},
		{"i386-2020", plain(), Ftrace},
		{"i386-2020", Default(), Ftrace},
		{"i386-2020-untraced", plain(), Stepped},
		{"i386-2020-untraced", boosting(), Boosted},
		{"i386-2020-untraced", Default(), Optimized},
		{"x86_64-2005", Default(), Stepped},
		{"x86_64-2006", Default(), Stepped},
		{"i386-2010", plain(), Stepped},
		{"i386-2010", boosting(), Boosted},
		{"i386-2010", Default(), Optimized},
		{"i386-2005", Default(), Stepped},
		{"i386-2006", Default(), Boosted},
		{"i386-2006-stepping", Default(), Stepped},
		{"i386-2006-trapping", Default(), Boosted},
		{"i386-2006-stepping-trapping", Default(), Stepped},
		{"ppc64-2005", Default(), Stepped},
		{"ppc64-2010", Default(), Stepped}, // only branches are emulated
		{"ppc64-2011", plain(), Stepped},
		{"ppc64-2011", Default(), Emulated},
		{"ppc64-2017", boosting(), Emulated},
		{"ppc64-2017", Default(), Optimized},
		{"arm-2010", Default(), Emulated},
		{"arm-2014", plain(), Emulated},
		{"arm-2014", Default(), Optimized},
	} {
		if slices.Contains(images(), m.image) {
			list = append(list, m)
		}
	}
	return list
}

// raised is the number of all exceptions of the first CPU so far.
func (l *live) raised() (n uint64) {
	for _, of := range l.m.CPU(0).Counters().Exceptions {
		n += of
	}
	return n
}

// TestEachModeIsReached has ten hits in each way, with as many exceptions as the mode says.
func TestEachModeIsReached(t *testing.T) {
	for _, m := range modes() {
		for _, kind := range []Kind{Kprobe, Kretprobe} {
			bootImage(t, m.image, m.opt, func(l *live) {
				p := l.add(Spec{Kind: kind, Symbol: "bench_target", Handler: "handler_count"})
				if p == nil {
					return
				}
				l.call("bench_loop", l.pointer("bench_target"), 1, 1, 2) // what the first hit finds out
				want, before := l.percpu("handler_hits")+10, l.raised()
				l.call("bench_loop", l.pointer("bench_target"), 10, 1, 2)
				if n := l.raised() - before; kind == Kprobe && n != 10*uint64(m.mode.Exceptions()) {
					t.Errorf("%s: ten hits take %d exceptions, each should %d", m.name(), n, m.mode.Exceptions())
				}
				if got := l.percpu("handler_hits"); got != want {
					t.Errorf("%s, kind %s: %d handler calls short of 10", m.name(), kind, int64(want-got))
				}
				if st := l.state(p); st.Mode != m.mode || st.NMissed != 0 {
					t.Errorf("%s, kind %s: %+v %v", m.name(), kind, st, st.Refusal)
				}
			})
		}
	}
}

// addr is where a variable or the code of a function is.
func (l *live) addr(symbol string) uint64 {
	l.t.Helper()
	return l.function(symbol).Entry
}

// pointer returns what a pointer to a function holds.
func (l *live) pointer(symbol string) uint64 {
	l.t.Helper()
	return l.function(symbol).Pointer
}

func (l *live) function(symbol string) image.Func {
	l.t.Helper()
	f, ok := l.m.Image().Func(symbol)
	require.That(l.t, ok, "no symbol %s", symbol)
	return f
}

// offsets lists where the instructions of a function start.
func (l *live) offsets(symbol string) []uint64 {
	fn, ok := l.k.text(l.addr(symbol))
	require.That(l.t, ok, "no function %s", symbol)
	return l.k.starts(fn)
}

// The i386 kernel of 2005 has its per-CPU data once.
func TestUniprocessorKernelWantsOneCPU(t *testing.T) {
	for _, name := range images() {
		im := loadImage(t, name)
		kit := KitOf(im)
		_, err := sim.New(sim.Config{ISA: kit.ISA, Board: kit.Board, CPU: cpustest.Config(kit.ISA), CPUs: 2, Image: im})
		require.That(t, (err != nil && strings.Contains(err.Error(), "one processor")) == uniprocessor(name), "%s on two CPUs: %v", name, err)
	}
}

// What the guest prints: integers are as wide as the format says, long and pointers as words are.
func TestGuestPrints(t *testing.T) {
	for _, image := range images() {
		bootImage(t, image, plain(), func(l *live) { holdGuestPrints(l) })
	}
}

func holdGuestPrints(l *live) {
	const format = "%d %u %x %ld %lx|%s%c %%\x00"
	all := ^uint64(0)
	for _, tt := range []struct {
		args []uint64
		want string
	}{
		{[]uint64{all, all, all, all, all}, fmt.Sprintf("-1 4294967295 ffffffff -1 %x|(?)(?) %%", all>>(64-8*l.size()))},
		{[]uint64{1 << 31, 7, 8, 9, 10}, "-2147483648 7 8 9 a|(?)(?) %"},
	} {
		at := value(l.m.Alloc(256, 64))(l)
		l.do(l.m.WriteBytes(at, []byte(format)))
		for i, v := range tt.args {
			l.do(l.m.Store(at+128+uint64(i*l.size()), l.size(), v))
		}
		before := len(l.m.Console())
		n := l.call("sim_printk", at, at+128)
		got := l.m.Console()[before:]
		require.That(l.t, got == tt.want && int(n) == len(got), "%q (%d characters), want %q", got, n, tt.want)
	}
}

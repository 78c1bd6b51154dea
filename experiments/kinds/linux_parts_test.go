package kinds

import (
	"debug/elf"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"kprobesim/boards/pc"
	"kprobesim/boards/vexpress"
	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/distro/attaching"
	"kprobesim/distro/measuring"
	"kprobesim/distro/probing"
	"kprobesim/experiments/schema"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
	"kprobesim/machines"
	"kprobesim/sim"
	"kprobesim/workloads"
)

// madeUp is a stretch or a run with numbers that tell each of its parts from all others; with is larger than without by something else
// in each part.
func madeUp(seed uint64) cpus.Counters {
	c := cpus.Counters{Instructions: 100_000 + 977*seed, L1IMisses: 11 * seed, L1DMisses: 13 * seed, L2Misses: 17 * seed, ITLBMisses: 19 * seed, DTLBMisses: 23 * seed, Mispredicts: 29 * seed}
	for context := range c.Time {
		for phase := range c.Time[context] {
			c.Time[context][phase] = clock.Ticks(60*(100+uint64(context)*7+uint64(phase)*3)*seed + 31*seed)
			c.Count[context][phase] = uint64(context+1) * uint64(phase+1) * seed
		}
	}
	return c
}

// byPhase sums them up by phase.
func byPhase(c *cpus.Counters) map[image.Phase]clock.Ticks {
	all := map[image.Phase]clock.Ticks{}
	for context := range c.Time {
		for phase, t := range c.Time[context] {
			all[image.Phase(phase)] += t
		}
	}
	return all
}

// pointOf is a point of a packaged kernel.
func pointOf(l schema.LinuxProbe) *schema.Point {
	p := &schema.Point{Machine: &machines.Machine{}, Linux: &schema.Linux{}, Workload: schema.Workload{Loop: "read", Target: "vfs_read", Hits: 40, Warmup: 30}}
	p.Machine.CPU.Hz = 2_000_000_000
	p.Probe = schema.Probe{Name: "p", Mode: kprobes.Emulated, Linux: &l}
	return p
}

// observed writes what was observed.
func observed(m *Measurement) string {
	var b strings.Builder
	for _, q := range m.Quantities {
		fmt.Fprintf(&b, "  %s %d/%d %s\n", q.Metric, q.Num, q.Den, q.Unit)
	}
	for _, n := range m.Notes {
		fmt.Fprintf(&b, "  %s\n", n)
	}
	return b.String()
}

// programs of a way or an object.
func programs(names ...string) (all []attaching.Program) {
	for i, name := range names {
		all = append(all, attaching.Program{Name: name, Code: [][2]uint64{{uint64(0x100 * (i + 1)), 64}, {0x9000, 64}}})
	}
	return all
}

// everyProbe are probes of each kind.
func everyProbe() []schema.LinuxProbe {
	object := &schema.UserObject{Path: "my.bpf.o"}
	return []schema.LinuxProbe{
		{What: schema.LinuxNone},
		{What: schema.LinuxKprobe},
		{What: schema.LinuxKretprobe, Target: "f"},
		{What: schema.LinuxUprobe, Loop: "function"},
		{What: "uretprobe"},
		{What: schema.LinuxWatch},
		{What: schema.LinuxModule},
		{What: schema.LinuxObject, Object: object},
		{What: "fentry", Program: attaching.Count},
		{What: "tool", Tool: &schema.UserTool{Command: []string{"/bin/tool"}, Settle: 7}},
		{What: schema.LinuxUprobe, Handler: schema.LinuxEmpty},
	}
}

// LinuxRegions says what is made of a region of a loop, for each kind of probe, where the machine is made up.
func LinuxRegions(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	symbols := map[string]uint64{"uprobe_dispatcher": 0x50, "kprobes_inc_nmissed_count": 0x51, "trampoline_handler": 0x52, "__kretprobe_trampoline_handler": 0x53, "vfs_read": 0x54}
	kernel := func(name string) (image.Symbol, bool) { return image.Symbol{Addr: symbols[name]}, symbols[name] != 0 }
	seen := arrivals{0x100: 40, 0x200: 40, 0x300: 39, 0x50: 39, 0x51: 2, 0x52: 30, 0x53: 35, 0x54: 40, 0x7: 40, 0x8: 5}
	names := []string{"breakpoint", "interrupt 32", "page fault", "irq", "debug"}
	region := func(seed uint64) *stretch {
		r := &measuring.Region{Counters: madeUp(seed)}
		for i := range names {
			r.Counters.Exceptions[i] = seed * uint64(10+i*i)
		}
		r.Ticks, r.Instructions, r.Interrupted = r.Counters.Total(), r.Counters.Instructions, 777
		r.Breakpoints, r.Debug = r.Counters.Exceptions[0], r.Counters.Exceptions[4]
		return require.Must(stretchOf(r, names, byPhase(&r.Counters), nil))(t)
	}
	unknown := &measuring.Region{Counters: cpus.Counters{Unmodelled: 1, LastUnknown: "cpuid"}}
	require.Error(t, require.Err(stretchOf(unknown, names, nil, nil)), "1 instructions were not modelled, the last cpuid", "a region with an unknown instruction")
	for _, probe := range everyProbe() {
		p := pointOf(probe)
		o := loopOf(p)
		fmt.Fprintf(&out, "%s %s: loop %s %d+%d, busy %q, at %q, %q\n", probe.What, probe.Handler, o.Workload, o.Warm, o.Calls, o.Busy, placed(p), eventLine(p, "f+0x0"))
		plain, with := region(1), region(3)
		sites := []*site{nil, {place: "f", addr: 0x7}, {place: "/init:f", addr: 0x7, user: true}}
		for i, s := range sites {
			for _, with.List = range [][]measuring.Listed{nil, {{Addr: 0x7, Kind: "r"}, {Addr: 0x8, Kind: "k"}}} {
				c, err := s.counts(p, kernel, plain, with, seen)
				fmt.Fprintf(&out, " site %d, %d listed: %+v %v\n", i, len(with.List), c, err)
			}
		}
		m := &Measurement{Counts: Counts{Calls: 40, Hits: 40}}
		m.linux(p, plain, with)
		out.WriteString(observed(m))
		require.NoError(t, verifyAttached(p, with, Counts{}))
		for i, at := range []*attaching.Attached{
			{Programs: programs("one")},
			{Programs: programs("one", "two")},
			{Programs: programs("one", "two", "three")},
			{Function: "vfs_read"},
			{Function: "nothing"},
		} {
			with.attached, with.Counts, with.Counted = at, i%2 == 0, 40
			c, err := sites[0].counts(p, kernel, plain, with, seen)
			fmt.Fprintf(&out, " attached %d: %+v %v; %v; %v\n", i, c, err, verifyAttached(p, with, c), verifyAttached(p, with, Counts{Calls: 40, Hits: 40 + int64(i)}))
		}
		with.Counts, with.Counted = true, 39
		fmt.Fprintf(&out, " %v\n", verifyAttached(p, with, Counts{Calls: 40, Hits: 40}))
		m = &Measurement{Counts: Counts{Calls: 40, Hits: 40}}
		m.attached(p, plain, with)
		out.WriteString(observed(m))
	}
	return out.String()
}

// LinuxRuns says what is made of the run of a program on one CPU and on two, for each kind of probe.
func LinuxRuns(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	run := func(seed uint64, cpus int, hit *entries, attached *attaching.Attached, names ...string) *working {
		o := &measuring.Outcome{Ticks: clock.Ticks(9_000_000 * seed), Output: []byte("printed\n")}
		phases := map[image.Phase]clock.Ticks{}
		for i := range cpus {
			c := madeUp(seed + uint64(i))
			o.CPUs = append(o.CPUs, measuring.Share{Counters: c, Slept: clock.Ticks(600 * seed)})
			for phase, t := range byPhase(&c) {
				phases[phase] += t
			}
		}
		for i, name := range names {
			o.Processes = append(o.Processes, measuring.Process{Name: name, Work: clock.Ticks(60 * (100 + 7*uint64(i)) * seed)})
		}
		r := require.Must(workingOf(o, hit, attached))(t)
		r.phases = phases
		return r
	}
	unknown := measuring.Outcome{Output: []byte("said"), CPUs: []measuring.Share{{}, {Counters: cpus.Counters{Unmodelled: 2, LastUnknown: "cpuid"}}}}
	ended, cut := unknown, unknown
	ended.Status, cut.Cut = 3<<8, true
	for want, o := range map[string]*measuring.Outcome{
		"2 instructions were not modelled, the last cpuid": &unknown, "exit status 3; it has printed:\nsaid": &ended, "more than the 4 bytes that are compared": &cut,
	} {
		require.Error(t, require.Err(workingOf(o, &entries{}, nil)), want, "a run")
	}
	for i, probe := range everyProbe() {
		p := pointOf(probe)
		hit := &entries{of: programs([]string{"two", "one", "two"}[:i%4]...), n: []int64{10, 5, 3}[:i%4]}
		before, told := slices.Clone(hit.n), int64(0)
		hit.tell = func(e sim.Event) {
			told++
			require.That(t, e.CPU == 1 && e.Kind == kprobes.EventProbe && strings.HasPrefix(e.Name, "program ") && e.Arg != 0, "%+v", e)
		}
		for _, pc := range []uint64{0x100, 0x200, 0x100, 0x300, 0x140, 0x9000} {
			hit.Step(&cpus.Step{PC: pc, CPU: 1})
		}
		for i := range before {
			told -= hit.n[i] - before[i]
		}
		require.Equal(t, told, 0, "entries that were told or counted alone")
		attached := &attaching.Attached{Sampled: i%3 == 0}
		if i%2 == 1 {
			attached = nil
		}
		plain, with := run(1, 1+i%3/2, &entries{}, nil, "sh", "dd", "kernel threads"), run(3, 1+i%3/2, hit, attached, "dd", "sh", "a/b é")
		with.hits += 20 - with.hits%20
		with.Counts = i%2 == 0
		for _, with.Counted = range []uint64{17, 18, 20, 22, 23} {
			fmt.Fprintf(&out, "%s, %d CPUs, %d counted: %v\n", probe.What, len(with.CPUs), with.Counted, with.verify(p, plain))
		}
		with.Counted = 19
		with.Output = []byte("other\n")
		fmt.Fprintf(&out, " %v\n%s", with.verify(p, plain), observed(with.measurement(p, plain)))
		with.hits = 0
		fmt.Fprintf(&out, " %v\n alone\n%s", with.verify(p, plain), observed(plain.measurement(p, plain)))
		plain.Processes, with.Processes = plain.Processes[:1], with.Processes[1:2]
		fmt.Fprintf(&out, " %q %q\n", with.byProcess(plain), metricName("a/b-é_.0\u007fZ"))
		var o measuring.Command
		err := attach(&probe, &o)
		if err != nil {
			o.Attach = nil // of a file that is none
		}
		fmt.Fprintf(&out, " %+v %v %d %v\n", o.Attach, o.Tool, o.Settle, err)
	}
	return out.String()
}

// TestLinuxNames tells interrupts from other exceptions, kernels of boards with a device tree from others, and how a module of the user's
// and one of this program are told what to probe.
func TestLinuxNames(t *testing.T) {
	for name, want := range map[string]bool{"interrupt": true, "interrupt 7": true, "irq": true, "fiq": true, "breakpoint": false, "irq 3": false, "an interrupt": false} {
		require.Equal(t, interrupt(name), want, "whether %q is an interrupt", name)
	}
	require.Equal(t, boardOf(&schema.Linux{Tree: []byte{0}, Date: 7}), sim.Board(vexpress.Board{}), "the board of a tree")
	require.Equal(t, boardOf(&schema.Linux{Date: 7}), sim.Board(pc.Legacy{Date: 7}), "the board without a tree")
	for _, x := range []struct {
		what, want string
		s          site
	}{
		{schema.LinuxKprobe, "kind=kprobe symbol=f", site{place: "f"}},
		{schema.LinuxKprobe, "kind=kprobe symbol=f", site{place: "f+0x0"}},
		{schema.LinuxKprobe, "kind=kprobe symbol=f offset=0x7", site{place: "f+0x7"}},
		{schema.LinuxUprobe, "kind=uprobe symbol=/init offset=0x1234", site{place: "/init:f+0x7", user: true, file: 0x1234}},
		{schema.LinuxWatch, "kind=watchpoint symbol=0x5678 access=2", site{place: "/init:w", addr: 0x5678}},
	} {
		require.Equal(t, moduleParams(pointOf(schema.LinuxProbe{What: x.what}), &x.s), x.want, "%s at %s", x.what, x.s.place)
	}
	for _, x := range []struct {
		what               string
		mode               kprobes.Mode
		machine            elf.Machine
		calls              bool
		breakpoints, debug int64 // of a place of the program, and breakpoints of one of the kernel
		kernel             int64
	}{
		{schema.LinuxUprobe, kprobes.Emulated, elf.EM_X86_64, false, 1, 0, 1},
		{schema.LinuxUprobe, kprobes.Stepped, elf.EM_X86_64, false, 1, 1, 2},
		{schema.LinuxUprobe, kprobes.Stepped, elf.EM_ARM, false, 2, 0, 2},
		{"uretprobe", kprobes.Emulated, elf.EM_386, false, 2, 0, 1},
		{"uretprobe", kprobes.Stepped, elf.EM_386, false, 2, 1, 2},
		{"uretprobe", kprobes.Stepped, elf.EM_ARM, false, 3, 0, 2},
		{"uretprobe", kprobes.Emulated, elf.EM_X86_64, true, 1, 0, 1},
		{"uretprobe", kprobes.Stepped, elf.EM_X86_64, true, 1, 1, 2},
		{schema.LinuxUprobe, kprobes.Stepped, elf.EM_X86_64, true, 1, 1, 2},
		{schema.LinuxUprobe, kprobes.Optimized, elf.EM_X86_64, true, 0, 0, 0},
		{"uretprobe", kprobes.Optimized, elf.EM_X86_64, true, 0, 0, 0},
		{schema.LinuxKprobe, kprobes.Boosted, elf.EM_X86_64, false, 1, 0, 1},
		{schema.LinuxKprobe, kprobes.Ftrace, elf.EM_386, false, 1, 0, 0},
		{schema.LinuxKprobe, kprobes.Optimized, elf.EM_386, false, 1, 0, 0},
	} {
		p := pointOf(schema.LinuxProbe{What: x.what})
		p.Probe.Mode = x.mode
		s := userSiteOf(p, "f+0x7", measuring.Place{Addr: 5, File: 6, Instruction: "nop"}, x.machine, x.calls)
		require.Equal(t, *s, site{"/init:f+0x7", "nop", 5, true, 6, p.Probe.Called(), x.breakpoints, x.debug}, "%s that is %s on %s", x.what, x.mode, x.machine)
		k := siteOf(&probing.Verdict{Addr: 5, Place: "f", Instruction: "nop"}, x.mode)
		require.Equal(t, *k, site{place: "f", instruction: "nop", addr: 5, breakpoints: x.kernel}, "%s in the kernel", x.mode)
	}
	for _, x := range []struct {
		v       probing.Verdict
		mode    kprobes.Mode
		handler string
		want    string // "" for none
	}{
		{probing.Verdict{Place: "f", Why: "listed", Rule: "blacklist"}, kprobes.Stepped, "", "no probe may stand at f: listed (rule blacklist)"},
		{probing.Verdict{Place: "f", Probe: true, Kind: "stepped"}, kprobes.Stepped, schema.LinuxEvent, "no trace event may stand at f"},
		{probing.Verdict{Place: "f", Probe: true, Kind: "stepped"}, kprobes.Stepped, schema.LinuxEmpty, ""},
		{probing.Verdict{Place: "f", Probe: true, Event: true, Kind: "emulated", Kept: "end", KeptWhy: "short"}, kprobes.Optimized, schema.LinuxEvent, "the probe at f is emulated, not optimized: short (rule end)"},
		{probing.Verdict{Place: "f", Probe: true, Event: true, Kind: "emulated", Optimized: true}, kprobes.Optimized, schema.LinuxEvent, ""},
		{probing.Verdict{Place: "f", Probe: true, Event: true, Kind: "emulated", Optimized: true}, kprobes.Emulated, schema.LinuxEvent, ""},
		{probing.Verdict{Place: "f", Probe: true, Event: true, Kind: "emulated"}, kprobes.Stepped, schema.LinuxEvent, "the probe at f is emulated, not stepped"},
	} {
		p := pointOf(schema.LinuxProbe{Handler: x.handler})
		p.Probe.Mode = x.mode
		got := errorText(refused(p, &x.v))
		require.That(t, (got == "") == (x.want == "") && strings.Contains(got, x.want), "%+v, %s: %q, want %q", x.v, x.mode, got, x.want)
	}
	for machine, want := range map[elf.Machine]measuring.Access{elf.EM_ARM: measuring.ReadWrite, elf.EM_X86_64: measuring.Write, elf.EM_386: measuring.Write} {
		require.Equal(t, accessOf(machine), want, "a watchpoint of %s waits for", machine)
	}
	got := userModule(&schema.UserModule{Path: "a/b/mine.ko", File: []byte{1}, Params: "x=1", Hits: "hits"})
	require.Equal(t, fmt.Sprint(got.Name, got.File, got.Params, got.Hits), "mine[1]x=1hits", "a module of the user's")
	for symbol, offset := range map[string]uint64{"f": 0, "f+0x10": 16} {
		require.Equal(t, symbolPlace("f", offset), symbol, "a place")
	}
	p := pointOf(schema.LinuxProbe{Loop: "own"})
	p.Workload.Load = schema.LinuxBusy
	require.Equal(t, fmt.Sprint(loopOf(p).Workload, loopOf(p).Busy), "ownown", "a loop on all CPUs")
	require.That(t, randomOf(p) == nil, "the first layout draws places")
	p.Seed, p.Replicate = 3, 2
	require.Equal(t, string(randomOf(p)), "kprobesim: seed 3, replicate 2", "what another layout draws by")
}

// TestMergedProfiles adds the profiles of CPUs up: one is as it is, and several have the samples of each, but for those that did nothing.
func TestMergedProfiles(t *testing.T) {
	im := require.Must(image.Load("x86_64-2010", require.Must(workloads.Open("x86_64-2010"))(t)))(t)
	f, _ := im.Func("bench_target")
	one := func(steps int) *sim.Profile {
		p := sim.NewPhasedProfile(im)
		for i := range steps {
			p.Step(&cpus.Step{PC: f.Entry, Start: clock.Ticks(60 * i), End: clock.Ticks(60 * (i + 1))})
		}
		return p
	}
	for steps, want := range map[[3]int]int64{{5, 0, 0}: 5, {5, 3, 0}: 8, {1, 2, 4}: 7} {
		b := require.Must(merged([]*sim.Profile{one(steps[0]), one(steps[1]), one(steps[2])}))(t)
		p := require.Must(profile.ParseData(b))(t)
		sum := int64(0)
		for _, s := range p.Sample {
			sum += s.Value[1]
		}
		require.That(t, sum == want && p.TimeNanos == 0 && p.DurationNanos == 0, "%v: %d cycles in all, want %d; %d, %d", steps, sum, want, p.TimeNanos, p.DurationNanos)
		alone := require.Must(merged([]*sim.Profile{one(steps[0])}))(t)
		require.Equal(t, len(require.Must(profile.ParseData(alone))(t).Sample), 1, "samples of one CPU")
	}
}

// TestArmingIsAskedFor measures how an event is armed where the workload asks for that, and reports what goes wrong.
func TestArmingIsAskedFor(t *testing.T) {
	b, two := &bench{lab: &measuring.Lab{}}, measuring.Order{Events: []string{"p a", "p b"}}
	m, p := &Measurement{}, &schema.Point{}
	require.NoError(t, m.arming(p, b, two))
	p.Workload.Arming = true
	require.NoError(t, m.arming(p, b, measuring.Order{}))
	require.Error(t, m.arming(p, b, two), "arming is measured of one trace event", "two events")
	require.Error(t, m.arming(p, b, measuring.Order{Events: two.Events[:1], UserEvents: two.Events[:1]}), "arming is measured of one trace event", "two events of two kinds")
}

// TestModuleIsNotBuilt says why not, and leaves nothing behind.
func TestModuleIsNotBuilt(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	require.Error(t, require.Err(BuildModule("none", "/none")), "none", "a module that is not there")
	require.Error(t, require.Err(BuildModule(distro.EmptyModule, "/none")), "was not built for /none: exit status", "headers that are not there")
	require.That(t, len(require.Must(os.ReadDir(dir))(t)) == 0, "files are left behind")
	t.Setenv("TMPDIR", "/none")
	require.Error(t, require.Err(BuildModule(distro.EmptyModule, "/none")), "/none: ", "no folder for temporary files")
}

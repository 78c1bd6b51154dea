package kinds_test

import (
	"strings"
	"testing"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// attachPlan is a short run of linux-attach.
func attachPlan(t *testing.T, sets ...string) *schema.Plan {
	t.Helper()
	return linuxPlan(t, "linux-attach", sets...)
}

// TestLinuxAttach attaches in every way that the kernel has. Each is hit once a call, and its phases add up. One that the kernel
// was built without is left out by name.
func TestLinuxAttach(t *testing.T) {
	p := attachPlan(t)
	exceptions := map[string]float64{"kprobe-step": 2, "kprobe-emulated": 1, "uprobe": 1, "uprobe-step": 2, "uretprobe": 2, "usdt": 1}
	seen := 0
	for _, o := range (&running.Runner{Measure: kinds.Measure, Workers: 2}).Run(p) {
		if o.Err != nil {
			t.Errorf("%s: %v", o.Point.Name, o.Err)
			continue
		}
		holdKnown(t, p, o.Point, o.Measurement)
		if o.Point.Probe.Linux.What == schema.LinuxNone {
			continue
		}
		seen++
		got := require.Must(reports.Records(o.Point, o.Measurement))(t)
		require.Equal(t, o.Measurement.Counts, (kinds.Counts{Calls: 40, Hits: 40}), "%s: counted", o.Point.Name)
		name := strings.TrimSuffix(strings.TrimSuffix(o.Point.Name, "-count"), "-ringbuf")
		checkAttached(t, got, exceptions[name], o.Point.Probe.Linux.Program != "")
	}
	if _, multi := p.Points[0].Linux.Kernel.Image.Symbol("register_fprobe_ips"); multi {
		return
	}
	require.That(t, seen == 56 && strings.Contains(strings.Join(p.Notes, "\n"), "left out: kprobe-multi, kprobe-multi-count"), "%d ways were measured; notes %q", seen, p.Notes)
}

// TestLinuxAttachOfOthers attaches some ways of kernels of 32 bits, which interpret programs or compile them. Ways that need types are
// left out by name.
func TestLinuxAttachOfOthers(t *testing.T) {
	handler := map[string]float64{} // cycles of programs
	for _, c := range []struct {
		experiment string
		sets       []string
		exceptions map[string]float64
	}{
		{"linux-attach-arm", nil, map[string]float64{"kprobe-emulated-count": 1, "raw-tp": 0, "tp-syscall-ringbuf": 0, "uretprobe": 3, "usdt": 1, "seccomp": 0}},
		{"linux-attach-arm-jit", nil, map[string]float64{"kprobe-opt-count": 0, "raw-tp": 0}},
		{"linux-attach", []string{"machine=xeon-e5410-i386"}, map[string]float64{"kprobe-step-count": 2, "raw-tp-ringbuf": 0, "seccomp": 0}},
	} {
		p := linuxPlan(t, c.experiment, c.sets...)
		for name, exceptions := range c.exceptions {
			pt := require.Must(p.Point(name))(t)
			m, err := kinds.Measure(pt)
			require.Need(t, err == nil, "%s: %s: %v", c.experiment, name, err)
			holdKnown(t, p, pt, m)
			require.Equal(t, m.Counts, (kinds.Counts{Calls: 40, Hits: 40}), "%s: %s: counted", c.experiment, name)
			got := require.Must(reports.Records(pt, m))(t)
			checkAttached(t, got, exceptions, pt.Probe.Linux.Program != "")
			for _, r := range got {
				if r.Metric == results.PhaseMetric("handler") {
					handler[c.experiment+" "+name] = r.Value.Float()
				}
			}
		}
		if c.sets != nil {
			require.That(t, strings.Contains(strings.Join(p.Notes, "\n"), "left out: fentry, "), "notes %q", p.Notes)
		}
	}
	interpreted, compiled := handler["linux-attach-arm raw-tp"], handler["linux-attach-arm-jit raw-tp"]
	require.That(t, interpreted > 2*compiled, "an empty program takes %v cycles interpreted, and %v compiled", interpreted, compiled)
}

// TestLinuxAttachInterpreted attaches a program of an object that a kernel interprets, and refuses what it cannot tell apart or compile.
func TestLinuxAttachInterpreted(t *testing.T) {
	measure := func(experiment, programs string) error {
		p := linuxPlan(t, experiment, "workload.loop=read", "workload.target=vfs_read", "points=[{name=\"object\", kind=\"object\", file=\"writes\", programs=["+programs+"]}]")
		_, err := kinds.Measure(require.Must(p.Point("object"))(t))
		return err
	}
	require.NoError(t, measure("linux-attach-arm", "\"returns=vfs_read\""))
	require.Error(t, measure("linux-attach-arm", "\"any\", \"returns=vfs_read\""), "the kernel interprets the programs any and returns", "two programs")
	require.Error(t, measure("linux-attach-arm-jit", "\"returns=vfs_read\""), "the kernel's compiler for ARM lacks an instruction of it", "an atomic addition")
}

// checkAttached holds the records of something attached.
func checkAttached(t *testing.T, got []results.Record, exceptions float64, programmed bool) {
	t.Helper()
	values := map[string]float64{}
	for _, r := range got {
		values[r.Metric] = r.Value.Float()
	}
	var sum float64
	for _, phase := range kinds.LinuxPhases() {
		sum += values[results.PhaseMetric(phase.String())]
	}
	cycles := values[results.MetricCycles]
	if cycles < 20 || sum < cycles-1 || sum > cycles+1 || values["exceptions_per_hit"] != exceptions {
		t.Errorf("%s: a hit of %v cycles has phases of %v and %v exceptions", got[0].Probe, cycles, sum, values["exceptions_per_hit"])
	}
	if programmed && values[results.PhaseMetric("handler")] < 5 {
		t.Errorf("%s: the program takes %v cycles", got[0].Probe, values[results.PhaseMetric("handler")])
	}
	if rate := values["million_hits_a_second"]; rate <= 0 || values[kinds.MetricTrigger] <= 0 {
		t.Errorf("%s: %v million hits a second, %v cycles of the trigger", got[0].Probe, rate, values[kinds.MetricTrigger])
	}
}

// TestLinuxAttachArming measures how long attaching takes. A trampoline waits for grace periods, and a raw tracepoint does not.
func TestLinuxAttachArming(t *testing.T) {
	p := attachPlan(t, "workload.arming=true")
	took := map[string]float64{}
	for _, name := range []string{"fentry", "raw-tp", "none"} {
		pt := require.Must(p.Point(name))(t)
		m := require.Must(kinds.Measure(pt))(t)
		for _, r := range require.Must(reports.Records(pt, m))(t) {
			if r.Metric == "arming_cycles" {
				took[name] = r.Value.Float()
			}
		}
	}
	if _, ok := took["none"]; ok || took["raw-tp"] < 10_000 || took["fentry"] < 20*took["raw-tp"] {
		t.Errorf("attaching takes %v cycles", took)
	}
}

// TestLinuxAttachRefuses names what a kernel refuses to attach, with the error number and what the verifier says.
func TestLinuxAttachRefuses(t *testing.T) {
	for _, c := range []struct{ point, want, set string }{
		{"fentry", "the kernel's BTF has no nowhere", "points.fentry.target=nowhere"},
		{"tp-btf", "the kernel's BTF has no task/nothing", "points.tp-btf.target=task/nothing"},
		{"fmod-ret", "the verifier says:\n__set_task_comm() is not modifiable", "points.fmod-ret.target=__set_task_comm"},
		{"raw-tp", "refused to attach raw-tracepoint to task/nothing: error 2 (ENOENT)", "points.raw-tp.target=task/nothing"},
		{"tp", "read /trace/events/task/nothing/id: error 2 (ENOENT)", "points.tp.target=task/nothing"},
		{"ftrace", "attach function-tracer to nowhere", "points.ftrace.target=nowhere"},
		{"fentry", "fentry was hit 0 times in 40 calls", "points.fentry.loop=empty"},
		{"perf-count", "perf-count was hit 0 times", "points.perf-count.loop=empty"},
		{"kprobe", "the kernel has no function nowhere", "points.kprobe.target=nowhere"},
		{"usdt", "attach usdt to nowhere: /init has no function nowhere", "points.usdt.target=nowhere"},
	} {
		pt, err := attachPlan(t, c.set).Point(c.point)
		if err != nil {
			hosttools.Missing(t, "refusing to attach "+c.point, err.Error())
		}
		require.Error(t, require.Err(kinds.Measure(pt)), c.want, "%s with %s", c.point, c.set)
	}
}

// TestLinuxAttachObject attaches programs of an object file, each of which a call enters once: here the loop calls read.
func TestLinuxAttachObject(t *testing.T) {
	point := func(more string) *schema.Point { return objectPoint(t, "read", "vfs_read", "writes", more) }
	for _, programs := range []string{"\"registers\"", "\"begins\", \"ends\""} {
		pt := point("target=\"vfs_read\", programs=[" + programs + "]")
		m := require.Must(kinds.Measure(pt))(t)
		checkAttached(t, require.Must(reports.Records(pt, m))(t), 0, true)
	}
	for more, want := range map[string]string{
		"programs=[\"sizes\"]":                       "object was hit 0 times in 40 calls: put writes on the path of the loop, once a call",
		"programs=[\"any\", \"sizes\"]":              "choose programs that each call of the loop enters once",
		"target=\"nowhere\", programs=[\"returns\"]": "program returns: the kernel refused to attach kretprobe to nowhere: error 2 (ENOENT): it has no function nowhere",
	} {
		require.Error(t, require.Err(kinds.Measure(point(more))), want, "%s", more)
	}
}

// objectPoint is a point of a loop under programs of an object file.
func objectPoint(t *testing.T, loop, target, file, more string) *schema.Point {
	t.Helper()
	p := attachPlan(t, "workload.loop="+loop, "workload.target="+target, "points=[{name=\"object\", kind=\"object\", file=\""+file+"\", "+more+"}]")
	pt := require.Must(p.Point("object"))(t)
	return pt
}

// otherWays is an object with programs that stand in programs of user mode, take samples, call each other, or have maps in maps.
const otherWays = "../../distro/attaching/testdata/ways.bpf.o"

// TestLinuxAttachUserObject attaches programs of an object file to a function of the program in the machine.
func TestLinuxAttachUserObject(t *testing.T) {
	point := func(more string) *schema.Point { return objectPoint(t, "function", "user_function", otherWays, more) }
	for more, exceptions := range map[string]float64{
		"programs=[\"entered\"]": 1, "programs=[\"inside\"]": 2, "programs=[\"returned\"]": 2, "programs=[\"entered\", \"returned\"]": 2,
		"programs=[\"anywhere\"], target=\"/init:user_function\"": 1,
	} {
		pt := point(more)
		m := require.Must(kinds.Measure(pt))(t)
		checkAttached(t, require.Must(reports.Records(pt, m))(t), exceptions, true)
	}
	for more, want := range map[string]string{
		"programs=[\"lacking\"]": "program lacking: attach uprobe to /init:no_such_function: /init has no function no_such_function",
		"programs=[\"lost\"]":    "program lost: attach uprobe to no_such_file:main: the root has no file no_such_file",
		"programs=[\"samples\"]": "object was hit 0 times in 40 calls",
	} {
		require.Error(t, require.Err(kinds.Measure(point(more))), want, "%s", more)
	}
}

// TestLinuxAttachSession attaches one program to entry and return of a function, which both count. A kernel without sessions leaves
// such points out.
func TestLinuxAttachSession(t *testing.T) {
	for _, kernel := range []string{"more/vmlinuz-6.12*-amd64", "vmlinuz-6.1.*-amd64"} {
		p := attachPlan(t, "linux.kernel="+hosttools.Kernels(t, kernel, "sessions of kprobe-multi")[0],
			"points=[{name=\"session\", kind=\"kprobe-session\", program=\"count\"}]")
		if strings.Contains(kernel, "-6.1.") {
			require.That(t, len(p.Points) == 0 && strings.Contains(strings.Join(p.Notes, "\n"), "left out: session: the kernel has no sessions of kprobe-multi, as kernels have from 6.10 on"), "notes %q", p.Notes)
			continue
		}
		pt := require.Must(p.Point("session"))(t)
		m := require.Must(kinds.Measure(pt))(t)
		require.Equal(t, m.Counts, (kinds.Counts{Calls: 40, Hits: 40}), "counted")
		checkAttached(t, require.Must(reports.Records(pt, m))(t), 0, true)
	}
}

// TestLinuxAttachUserSession does the same with a function of a program, where the newest kernel that is there has such sessions. It enters by
// a breakpoint and returns by a system call.
func TestLinuxAttachUserSession(t *testing.T) {
	files := hosttools.Kernels(t, "more/vmlinuz-*-amd64", "sessions of user probes")
	p := attachPlan(t, "linux.kernel="+files[len(files)-1])
	pt, err := p.Point("uprobe-session-count")
	if err != nil {
		require.That(t, strings.Contains(strings.Join(p.Notes, "\n"), "uprobe-session-ringbuf: the kernel has no sessions of user probes, as kernels have from 6.13 on"), "notes %q", p.Notes)
		return
	}
	m := require.Must(kinds.Measure(pt))(t)
	require.Equal(t, m.Counts, (kinds.Counts{Calls: 40, Hits: 40}), "counted")
	checkAttached(t, require.Must(reports.Records(pt, m))(t), 1, true)
}

// TestLinuxAttachCalled has a kernel put a call in place of a nop, so that hits take no exception. It keeps a breakpoint at other
// instructions. A kernel that never does so leaves such points out.
func TestLinuxAttachCalled(t *testing.T) {
	files := hosttools.Kernels(t, "more/vmlinuz-*-amd64", "calls in place of nops")
	p := attachPlan(t, "linux.kernel="+files[len(files)-1])
	for _, name := range []string{"uprobe-opt-count", "uretprobe-opt", "usdt-opt"} {
		pt, err := p.Point(name)
		if err != nil {
			require.That(t, strings.Contains(strings.Join(p.Notes, "\n"), "usdt-opt-ringbuf: the kernel puts no call in place of a nop where a user probe stands"), "notes %q", p.Notes)
			continue
		}
		m := require.Must(kinds.Measure(pt))(t)
		require.Equal(t, m.Counts, (kinds.Counts{Calls: 40, Hits: 40}), "%s: counted", name)
		got := require.Must(reports.Records(pt, m))(t)
		checkAttached(t, got, 0, true)
		for _, r := range got {
			require.That(t, r.Metric != results.PhaseMetric("entry") || r.Value.Float() > 100, "%s: the way to the probe takes %v cycles", name, r.Value)
		}
	}
	for target, breakpoint := range map[string]bool{"user_nop5": true, "user_function": true, "user_nop10": false} {
		pt, err := attachPlan(t, "linux.kernel="+files[len(files)-1], "points.uprobe-opt.target="+target, "points.uprobe-opt.loop="+map[string]string{
			"user_nop5": "nop5", "user_nop10": "nop10", "user_function": "function",
		}[target]).Point("uprobe-opt")
		if err != nil {
			continue // said above
		}
		_, err = kinds.Measure(pt)
		require.That(t, (err != nil) == breakpoint && (err == nil || strings.Contains(err.Error(), "the kernel keeps a breakpoint at /init:"+target)), "%s: %v", target, err)
	}
}

// TestLinuxAttachUserMulti attaches to a user function by a link of several places, as a newer kernel has them. One without them
// leaves such points out. A function returns by a system call there, and not by a breakpoint.
func TestLinuxAttachUserMulti(t *testing.T) {
	for _, kernel := range []string{"more/vmlinuz-6.12*-amd64", "vmlinuz-6.1.*-amd64"} {
		files := hosttools.Kernels(t, kernel, "links of several user probes")
		p := attachPlan(t, "linux.kernel="+files[0], "workload.loop=function", "workload.target=user_function",
			"points=[{name=\"entry\", kind=\"uprobe-multi\", program=\"count\"}, {name=\"return\", kind=\"uretprobe-multi\", program=\"count\"}]")
		if strings.Contains(files[0], "-6.1.") {
			require.That(t, len(p.Points) == 0 && strings.Contains(strings.Join(p.Notes, "\n"), "left out: entry, return: the kernel has no links of several user probes"), "notes %q", p.Notes)
			continue
		}
		for _, name := range []string{"entry", "return"} {
			pt := require.Must(p.Point(name))(t)
			m := require.Must(kinds.Measure(pt))(t)
			checkAttached(t, require.Must(reports.Records(pt, m))(t), 1, true)
		}
	}
}

package kinds_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/sim"
)

// linuxLoader is shared by the tests, so that a kernel boots once.
var linuxLoader = planning.NewLoader()

// linuxPlan is a short run of an experiment with the kernel of a distribution, or skips the test.
func linuxPlan(t *testing.T, name string, sets ...string) *schema.Plan {
	t.Helper()
	folder := ""
	if strings.Contains(name, "-arm") {
		folder = "arm/"
	}
	hosttools.Kernels(t, folder+"vmlinuz*", "measuring the probes of a packaged kernel")
	hosttools.Packaged("usr/src") // headers, which a module needs beside these tools
	for _, tool := range []string{"sh", "make", "gcc-12", "objcopy", "arm-linux-gnueabi-gcc-12", "arm-linux-gnueabi-objcopy"} {
		hosttools.Look(tool)
	}
	p := require.Must(linuxLoader.Plan(name, append([]string{"workload.hits=40", "workload.warmup=30"}, sets...)))(t)
	if p.Lacking != nil {
		hosttools.Missing(t, "measuring the probes of a packaged kernel", p.Lacking.Error())
	}
	return p
}

// nobody is an observer that looks away.
type nobody struct{ steps int }

func (n *nobody) Step(*cpus.Step) { n.steps++ }

// TestLinux measures every point of a packaged kernel of x86-64, the points of i386 that have another place or a program of
// their own, and the points of ARM that run another way, several at a time and one by one: the records are the same, also observed. Each hit takes the exceptions of
// its kind, and its phases add up to it.
func TestLinux(t *testing.T) {
	for name, only := range map[string][]string{"linux-probes": nil, "linux-probes-i386": {"re", "uk", "ur"}, "linux-probes-arm": {"e", "o-event", "ro", "ur", "w-count"}} {
		t.Run(name, func(t *testing.T) {
			p := linuxPlan(t, name)
			p.Points = slices.DeleteFunc(p.Points, func(pt schema.Point) bool { return only != nil && !slices.Contains(only, pt.Probe.Name) })
			linuxPoints(t, p)
		})
	}
}

// TestLinuxSeveral measures probes with two CPUs, of which the other one runs the same loop, and hits the same probes.
func TestLinuxSeveral(t *testing.T) {
	p := linuxPlan(t, "linux-probes", "linux.cpus=2", "workload.load=busy", "workload.arming=true")
	p.Points = slices.DeleteFunc(p.Points, func(pt schema.Point) bool {
		return !slices.Contains([]string{"none", "f-event", "k-event"}, pt.Probe.Name)
	})
	got := linuxPoints(t, p)
	for _, metric := range []string{"arming_cycles", "arming_interrupt_cycles"} {
		armed := 0
		for _, r := range got {
			if r.Metric == metric && r.Value.Float() > 1000 {
				armed++
			}
		}
		require.That(t, armed == 2, "%s: %d of two probes", metric, armed)
	}
}

// linuxPoints measures the points of a plan, and returns their records.
func linuxPoints(t *testing.T, p *schema.Plan) (all []results.Record) {
	t.Helper()
	outcomes := (&running.Runner{Measure: kinds.Measure, Workers: 2}).Run(p)
	want := map[string]float64{
		"f": 0, "e": 1, "k": 2, "o": 0, "rf": 0, "re": 1, "rk": 2, "ro": 0, "u": 1, "uk": 2, "ur": 2, "w": 1,
	}
	if p.Name == "linux-probes-arm" {
		want["ur"] = 3 // where user mode is not stepped, a second breakpoint ends the copy
		want["w"] = 2  // and a breakpoint at all other instructions the store
	}
	for i, o := range outcomes {
		if o.Err != nil {
			t.Errorf("%s: %v", o.Point.Name, o.Err)
			continue
		}
		got := require.Must(reports.Records(o.Point, o.Measurement))(t)
		all = append(all, got...)
		holdKnown(t, p, o.Point, o.Measurement)
		if o.Point.Probe.Linux.What != schema.LinuxNone {
			name, _, _ := strings.Cut(o.Point.Name, "-")
			require.Equal(t, o.Measurement.Counts, (kinds.Counts{Calls: 40, Hits: 40}), "%s: counted", o.Point.Name)
			checkLinux(t, got, want[name])
		}
		if i%5 != 0 {
			continue
		}
		watch := &nobody{}
		m, err := kinds.Observed(o.Point, func(*sim.Machine) cpus.Observer { return watch })
		require.That(t, err == nil && reflect.DeepEqual(m, o.Measurement) && watch.steps != 0, "%s is another one when it is observed, in %d steps: %v", o.Point.Name, watch.steps, err)
	}
	return all
}

// checkLinux holds the records of a probe against the exceptions that a hit takes, and the sum of its phases.
func checkLinux(t *testing.T, got []results.Record, exceptions float64) {
	t.Helper()
	var sum, cycles, other float64
	for _, r := range got {
		v := r.Value.Float()
		switch {
		case r.Metric == results.MetricCycles:
			cycles = v
		case r.Metric == "exceptions_per_hit" && v != exceptions:
			t.Errorf("%s takes %v exceptions, want %v", r.Probe, v, exceptions)
		case r.Metric == results.PhaseMetric("other"):
			other = v
			sum += v
		case strings.HasPrefix(r.Metric, results.PhaseMetric("")):
			sum += v
		}
	}
	if cycles < 20 || sum < cycles-1 || sum > cycles+1 {
		t.Errorf("%s: a hit of %v cycles has phases of %v", got[0].Probe, cycles, sum)
	}
	if other > cycles/4 {
		t.Errorf("%s: the phases miss %v of %v cycles", got[0].Probe, other, cycles)
	}
}

// TestLinuxTrace follows a hit through a packaged kernel by its functions.
func TestLinuxTrace(t *testing.T) {
	p := linuxPlan(t, "linux-probes")
	pt := require.Must(p.Point("k-event"))(t)
	var b bytes.Buffer
	require.NoError(t, kinds.Trace(pt, 20, &b))
	text := b.String()
	for _, station := range []string{
		" entry ", "get_kprobe+0x0 ", "kprobe_trace_func+0x0 ", "ring_buffer_lock_reserve", " return ", " step ", "getppid+0xd ", "# cpu 0 is in user mode",
	} {
		at := strings.Index(text, station)
		require.Need(t, at >= 0, "behind what came before, the trace has no %q:\n%s", station, b.String())
		text = text[at:]
	}
}

// TestLinuxRefuses names what a kernel or its rules refuse.
func TestLinuxRefuses(t *testing.T) {
	for want, sets := range map[string][]string{
		"not-boostable": {"points.o-event.offset=5"},
		"is ftrace":     {"points.o-event.offset=0"},
		"no trace event may stand at copy_page_to_iter": {"points.o-event.target=copy_page_to_iter"},
		"no-instruction-start":                          {"points.o-event.offset=1"},
		"the kernel has no function nowhere":            {"points.o-event.target=nowhere"},
		"write one of getppid":                          {"points.o-event.loop=nothing"},
		"put it on the path of the loop":                {"points.o-event.loop=empty"},
	} {
		refuses(t, "o-event", want, sets)
	}
}

// TestLinuxUserRefuses names what a place of a user probe, or of a return probe behind an emulated entry, is not.
func TestLinuxUserRefuses(t *testing.T) {
	for _, c := range []struct{ point, want, set string }{
		{"u", "took 40 breakpoints and 0 debug exceptions more: one that is step takes 1 and 1 a hit", "points.u.mode=step"},
		{"uk", "took 40 breakpoints and 40 debug exceptions more: one that is emulated takes 1 and 0 a hit", "points.uk.mode=emulated"},
		{"ur", "took 80 breakpoints and 0 debug exceptions more: one that is step takes 2 and 1 a hit", "points.ur.mode=step"},
		{"u", "the program has no symbol nowhere", "points.u.target=nowhere"},
		{"uk", "no instruction that starts at +0x2", "points.uk.offset=2"},
		{"u", "was hit 0 times in 70 iterations", "points.u.loop=store"},
		{"re", "xas_load+0x0 is emulated, not stepped", "points.re.mode=step"},
		{"re", "copy_page_to_iter+0x0 is stepped, not emulated", "points.re.target=copy_page_to_iter"},
		{"re", "was hit 0 times in 70 iterations", "points.re.loop=getppid"},
		{"w", "the program has no variable nowhere to watch", "points.w.target=nowhere"},
		{"w", "was hit 0 times in 70 iterations", "points.w.loop=empty"},
		{"w-count", "was hit 0 times in 70 iterations", "points.w-count.loop=empty"},
	} {
		refuses(t, c.point, c.want, []string{c.set})
	}
}

// refuses wants an error when a point with settings is measured.
func refuses(t *testing.T, point, want string, sets []string) {
	t.Helper()
	p := linuxPlan(t, "linux-probes", sets...)
	pt, err := p.Point(point)
	if err != nil {
		hosttools.Missing(t, fmt.Sprintf("refusing the point %s of a packaged kernel", point), fmt.Sprintf("%v: %q", err, p.Notes))
	}
	require.Error(t, require.Err(kinds.Measure(pt)), want, "%s with %q", point, sets)
}

// TestLinuxUserModule has the module with the empty handlers as one of the user's: its figures equal the figures of points that
// have it as the program's own. A point whose module counts too few hits, or is refused by the kernel, fails.
func TestLinuxUserModule(t *testing.T) {
	base := linuxPlan(t, "linux-probes")
	kernel := base.Points[0].Image.Name
	headers := planning.Headers(kernel, base.Points[0].Kernel.Era)
	if headers == "" {
		hosttools.Missing(t, "modules of a user in a packaged kernel", "there are no headers of the kernel, or no tools to build one")
	}
	dir := t.TempDir()
	if said, err := exec.Command("sh", "../../distro/module/build.sh", headers, filepath.Join(dir, "kprobesim_empty.ko")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	point := func(name, mode, params string) string {
		return fmt.Sprintf("[[points]]\nname = %q\nkind = \"module\"\nfile = \"kprobesim_empty.ko\"\nmode = %q\nparams = %q\nhits = \"hits\"\n", name, mode, params)
	}
	const same = "kind=kprobe symbol=__do_sys_getppid offset=0xb" // as the program says it
	file := filepath.Join(dir, "mine.toml")
	text := "base = \"linux-probes\"\nname = \"mine\"\ntitle = \"mine\"\n" + point("my-k", "step", same) +
		point("my-o", "optimized", same) + point("far", "step", "symbol=do_sys_openat2") + point("wrong", "step", "kind=nothing")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	p := linuxPlan(t, file)
	measure := func(name string) (*kinds.Measurement, error) {
		pt := require.Must(p.Point(name))(t)
		return kinds.Measure(pt)
	}
	for mine, own := range map[string]string{"my-k": "k", "my-o": "o"} {
		got, err := measure(mine)
		if err != nil {
			t.Error(err)
			continue
		}
		want, err := measure(own)
		require.That(t, err == nil && reflect.DeepEqual(got.Quantities, want.Quantities), "%s: %+v, want those of %s: %+v, %v", mine, got.Quantities, own, want.Quantities, err)
	}
	for name, want := range map[string]string{"far": "hit 0 times in 70 iterations", "wrong": "insert the module kprobesim_empty: error 22 (EINVAL)"} {
		require.Error(t, require.Err(measure(name)), want, "%s", name)
	}
}

// nestedModule has one probe at the loop's function, whose handler calls a function with another probe: its hits are missed.
const nestedModule = `
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/module.h>
static unsigned long seen;
static int root_pre(struct kprobe *p, struct pt_regs *regs) { return 0; }
static int call_pre(struct kprobe *p, struct pt_regs *regs) { seen += int_sqrt(seen); return 0; }
static struct kprobe root = { .symbol_name = "int_sqrt", .pre_handler = root_pre };
static struct kprobe call = { .symbol_name = "__do_sys_getppid", .pre_handler = call_pre };
static int __init begin(void) { int err = register_kprobe(&root); return err ? err : register_kprobe(&call); }
static void __exit end(void) { unregister_kprobe(&call); unregister_kprobe(&root); }
module_init(begin);
module_exit(end);
MODULE_LICENSE("GPL");
`

// TestLinuxMissed: a packaged kernel misses the hits of a probe in a handler, and they are counted apart.
func TestLinuxMissed(t *testing.T) {
	base := linuxPlan(t, "linux-probes")
	headers := planning.Headers(base.Points[0].Image.Name, base.Points[0].Kernel.Era)
	if headers == "" {
		hosttools.Missing(t, "missed hits in a packaged kernel", "there are no headers of the kernel, or no tools to build a module")
	}
	dir := t.TempDir()
	build := require.Must(os.ReadFile("../../distro/module/build.sh"))(t)
	exptest.Write(t, dir, "kprobesim_empty.c", nestedModule)
	script := exptest.Write(t, dir, "build.sh", string(build))
	if said, err := exec.Command("sh", script, headers, filepath.Join(dir, "nested.ko")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	file := exptest.Write(t, dir, "nested.toml", "base = \"linux-probes\"\nname = \"nested\"\ntitle = \"nested\"\n"+
		"[[points]]\nname = \"nested\"\nkind = \"module\"\nfile = \"nested.ko\"\nmode = \"step\"\n")
	pt := require.Must(linuxPlan(t, file).Point("nested"))(t)
	m, err := kinds.Measure(pt)
	require.That(t, err == nil && m.Counts == (kinds.Counts{Calls: 40, Hits: 80, Missed: 40}), "%v: counted are %+v", err, m)
}

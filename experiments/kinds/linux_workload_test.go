package kinds_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/distro/rootfs/imagetest"
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

// TestLinuxWorkload runs a program of busybox under each probe. Hits are exact: 20 blocks and
// the line that dd prints. A probe costs time, its phases add up to it, and a
// second measurement is the same, with an image in place of the folder.
func TestLinuxWorkload(t *testing.T) {
	p := workload(t, "linux-workload", nil)
	pt := require.Must(p.Point("kprobe"))(t)
	one := require.Must(kinds.Measure(pt))(t)
	sameWatched(t, pt, one)
	busybox := require.Must(os.ReadFile(filepath.Join(os.Getenv(planning.KernelFolder), "busybox/bin/busybox")))(t)
	var l imagetest.Layout
	root := filepath.Join(t.TempDir(), "image.tar")
	require.NoError(t, os.WriteFile(root, l.Tar(t, func(*imagetest.File) {}, l.Image(t, imagetest.Image{Platform: "linux/amd64"}, imagetest.Gzip,
		imagetest.Tar(t, imagetest.File{Name: "bin/"}, imagetest.File{Name: "bin/busybox", Data: "old"}, imagetest.File{Name: "old", Data: "old"}),
		imagetest.Tar(t, imagetest.File{Name: "bin/busybox", Data: string(busybox)}, imagetest.File{Name: ".wh.old"}))), 0o600))
	q := require.Must(linuxLoader.Plan("linux-workload", []string{writes, "workload.root=[\"" + root + "\"]"}))(t)
	if two, err := kinds.Measure(require.Must(q.Point("kprobe"))(t)); err != nil || !reflect.DeepEqual(one, two) {
		t.Errorf("a second measurement is another one: %v", err)
	}
	moved := *pt
	moved.Replicate = 1
	three := require.Must(kinds.Measure(&moved))(t)
	require.That(t, !reflect.DeepEqual(one, three), "memory at other places costs the same")
}

// sameWatched wants a point to be measured in the same way when somebody is told of every instruction, and not of blocks.
func sameWatched(t *testing.T, p *schema.Point, want *kinds.Measurement) {
	t.Helper()
	n := 0
	got := require.Must(kinds.Observed(p, func(*sim.Machine) cpus.Observer { return (*counting)(&n) }))(t)
	require.That(t, n > 10_000, "%d instructions are told of", n)
	require.That(t, reflect.DeepEqual(got, want), "watched, the measurement is another one:\n%+v\n%+v", got.Quantities, want.Quantities)
}

// counting counts the steps that it is told of, which are of one instruction each.
type counting int

func (c *counting) Step(s *cpus.Step) {
	if *c++; s.More != 0 {
		*c = -1 << 30
	}
}

// TestLinuxWorkloadOnARM runs a program that writes 20 times under a kernel of ARM. It prints what it prints under qemu, and each write
// is an event, of a kprobe and of a return probe. The second CPU waits with interrupts masked, which is no part of any phase.
func TestLinuxWorkloadOnARM(t *testing.T) {
	const what = "a program under the probes of a packaged kernel of ARM"
	hosttools.Kernels(t, "arm/vmlinuz*", what)
	gcc := hosttools.Compiler(t, "arm-linux-gnueabi-gcc", "arm", "gcc-arm-linux-gnueabi", what)
	root := writer(t, gcc, "-marm", "-mfloat-abi=soft")
	printed := require.Must(exec.Command(hosttools.Need(t, "qemu-arm", "qemu-user", what), filepath.Join(root, "writes")).Output())(t)
	p := require.Must(linuxLoader.Plan("linux-workload", []string{"machine=tc2-cortex-a15", "linux.cpus=2", "workload.root=[\"" + root + "\"]", "workload.command=[\"/writes\"]"}))(t)
	require.That(t, strings.Contains(strings.Join(p.Notes, "\n"), "left out: fentry"), "notes %q", p.Notes)
	holdWrites(t, p, string(printed), map[string]float64{"kprobe": 20, "kretprobe": 20})
}

// TestLinuxWorkloadOnI386 does the same under a kernel of i386, with a probe of the program beside.
func TestLinuxWorkloadOnI386(t *testing.T) {
	const what = "a program under the probes of a packaged kernel of i386"
	hosttools.Kernels(t, "vmlinuz*-686", what)
	root := writer(t, hosttools.Compiler(t, "x86_64-linux-gnu-gcc", "amd64", "gcc-x86-64-linux-gnu", what), "-m32", "-no-pie")
	const points = `points=[{name = "none", kind = "none"}, {name = "kprobe", kind = "kprobe", target = "vfs_write"}, {name = "kretprobe", kind = "kretprobe", target = "vfs_write"}, ` +
		`{name = "uprobe", kind = "uprobe", target = "/writes:_start"}]`
	p := require.Must(linuxLoader.Plan("linux-workload", []string{"machine=xeon-e5410-i386", "workload.root=[\"" + root + "\"]", "workload.command=[\"/writes\"]", "workload.region=command", points}))(t)
	printed := ""
	for c := byte('a'); c < 'a'+20; c++ {
		printed += "line " + string(c) + "\n"
	}
	holdWrites(t, p, printed, map[string]float64{"kprobe": 20, "kretprobe": 20, "uprobe": 1})
}

// writer returns a root with a program that writes 20 times.
func writer(t *testing.T, gcc string, options ...string) (root string) {
	t.Helper()
	root = t.TempDir()
	args := append(options, "-Os", "-ffreestanding", "-nostdlib", "-static", "-I", "../../distro/init", "-o", filepath.Join(root, "writes"), "testdata/writes.c")
	out, err := exec.Command(gcc, args...).CombinedOutput()
	require.Need(t, err == nil, "%v: %s", err, out)
	return root
}

// holdWrites measures all points of that program, wants what it prints and the events of each, and that phases of 20 of them add up to
// what they take.
func holdWrites(t *testing.T, p *schema.Plan, printed string, events map[string]float64) {
	t.Helper()
	require.Equal(t, len(p.Points), 1+len(events), "points, with none")
	for _, pt := range p.Points {
		m := require.Must(kinds.Measure(&pt))(t)
		require.Equal(t, m.Console, printed, "%s: the program prints", pt.Name)
		values, sum := valuesOf(t, &pt, m), 0.0
		for _, phase := range kinds.LinuxPhases() {
			sum += values[results.PhaseMetric(phase.String())]
		}
		require.That(t, values["events"] == events[pt.Name], "%s: %v", pt.Name, values)
		require.That(t, values["events"] < 20 || sum > values[results.MetricCycles]-5 && sum < values[results.MetricCycles]+5 && values["overhead_percent"] > 0 && values[results.PhaseMetric("handler")] > 50, "%s: %v", pt.Name, values)
	}
}

// TestLinuxWorkloadDisk writes to a file system of a disk. Each point finds it as its image is, although the command before has written,
// and code of the file system is no phase of a probe.
func TestLinuxWorkloadDisk(t *testing.T) {
	const what = "a program that writes to a disk under a packaged kernel"
	hosttools.Kernels(t, "vmlinuz*-amd64", what)
	mkfs := hosttools.Need(t, "mkfs.ext4", "e2fsprogs", what)
	image := filepath.Join(t.TempDir(), "disk.img")
	require.NoError(t, os.WriteFile(image, make([]byte, 16<<20), 0o600))
	const id = "11111111-2222-4333-8444-555555555555"
	made := exec.Command(mkfs, "-q", "-U", id, "-E", "hash_seed="+id, image)
	made.Env = append(os.Environ(), "E2FSPROGS_FAKE_TIME=1700000000", "SOURCE_DATE_EPOCH=1700000000")
	out, err := made.CombinedOutput()
	require.Need(t, err == nil, "%v: %s", err, out)
	const script = "kprobesim mark begin; dd if=/dev/zero of=/mnt/file bs=4096 count=20 2>/dev/null; sync; kprobesim mark end; ls /mnt; grep pmem /proc/mounts"
	p, err := linuxLoader.Plan("linux-workload", []string{"workload.disk=" + image, "workload.mount=/mnt", "workload.command=[\"/bin/busybox\", \"sh\", \"-c\", \"" + script + "\"]"})
	if err != nil && strings.Contains(err.Error(), "unpack the kernel's package") {
		hosttools.Missing(t, what, err.Error())
	}
	require.Need(t, err == nil && p.Lacking == nil, "%v", err)
	for _, name := range []string{"none", "fentry"} {
		pt := require.Must(p.Point(name))(t)
		m := require.Must(kinds.Measure(pt))(t)
		require.Equal(t, m.Console, "file\nlost+found\n/dev/pmem0 /mnt ext4 rw,relatime 0 0\n", "%s: the program prints", name)
		values := valuesOf(t, pt, m)
		if name == "none" {
			continue
		}
		dispatch, back := values[results.PhaseMetric("dispatch")], values[results.PhaseMetric("return")]
		require.That(t, values["events"] == 21 && dispatch > 0 && dispatch < 500 && back > 0 && back < 500, "%s: %v", name, values)
		functions := 0
		for _, f := range require.Must(profile.ParseData(m.Profile))(t).Function {
			if strings.HasPrefix(f.Name, "ext4:ext4_") {
				functions++
			}
		}
		require.That(t, functions > 20, "%d functions of the file system", functions)
	}
}

// writes has dd write 20 blocks, and a line that it prints.
const writes = "workload.command=[\"/bin/busybox\", \"sh\", \"-c\", " +
	"\"kprobesim mark begin; dd if=/dev/zero of=/tmp/file bs=512 count=20 2>/dev/null; kprobesim mark end\"]"

// workload measures all points of an experiment that writes 21 times. Each has 21 events, unless events has another number.
func workload(t *testing.T, name string, events map[string]float64) *schema.Plan {
	t.Helper()
	hosttools.Kernels(t, "vmlinuz*-amd64", "a program under the probes of a packaged kernel")
	p := require.Must(linuxLoader.Plan(name, []string{writes}))(t)
	if p.Lacking != nil {
		hosttools.Missing(t, "a program under the probes of a packaged kernel", p.Lacking.Error())
	}
	for _, o := range (&running.Runner{Measure: kinds.Measure, Workers: 2}).Run(p) {
		require.NoError(t, o.Err)
		values, sum := valuesOf(t, o.Point, o.Measurement), 0.0
		holdProcesses(t, values)
		if o.Point.Name == "none" {
			require.That(t, !(values[kinds.MetricRegion] < 100_000) && len(o.Measurement.Profile) != 0, "the program alone: %v", values)
			continue
		}
		for _, phase := range kinds.LinuxPhases() {
			sum += values[results.PhaseMetric(phase.String())]
		}
		cycles, want := values[results.MetricCycles], events[o.Point.Name]
		if want == 0 {
			want = 21
		}
		require.That(t, values["events"] == want && values["events_lost"] == 0 && !(values["overhead_percent"] <= 0) && !(cycles < 100) && !(sum < cycles-5) && !(sum > cycles+5), "%s: phases of %v; %v", o.Point.Name, sum, values)
	}
	return p
}

// holdProcesses wants the work of all processes to be that of the region: of the shell, of dd, of the program of marks, and of the
// kernel's threads.
func holdProcesses(t *testing.T, values map[string]float64) {
	t.Helper()
	sum := 0.0
	for _, name := range []string{"busybox", "dd", "kprobesim", "kernel_threads"} {
		sum += values[kinds.MetricRegion+"_of_"+name]
	}
	dd, all := values[kinds.MetricRegion+"_of_dd"], values[kinds.MetricRegion]
	require.That(t, sum > all-1 && sum < all+1 && dd > 0.1*all && dd < 0.9*all, "%v cycles of processes; %v", sum, values)
}

// TestLinuxWorkloadRefuses names what a program or the kernel refuses.
func TestLinuxWorkloadRefuses(t *testing.T) {
	hosttools.Kernels(t, "vmlinuz*-amd64", "errors of a program under a packaged kernel")
	const whole = "workload.region=command"
	script := func(s string) string { return "workload.command=[\"/bin/busybox\", \"sh\", \"-c\", \"" + s + "\"]" }
	tool := func(s string) []string {
		return []string{
			"points=[{name=\"kprobe\", kind=\"tool\", command=[\"/bin/busybox\", \"sh\", \"-c\", \"" + s + "\"]}]", whole, script("echo x"),
		}
	}
	for _, c := range []struct {
		want string
		sets []string
	}{
		{"exit status 3; it has printed:\nno", []string{whole, script("echo no; exit 3")}},
		{"the command ended before it set mark 2", []string{script("kprobesim mark begin")}},
		{"kprobe at do_sys_openat2 was not hit", []string{"points.kprobe.target=do_sys_openat2", script("kprobesim mark begin; kprobesim mark end")}},
		{"refused to attach kprobe to nowhere", []string{"points.kprobe.target=nowhere", whole, script("echo x")}},
		{"/bin/busybox has loaded no program of BPF within 50 ms; it has printed:\nhello", append(tool("echo hello"), "points.kprobe.settle=50")},
		{"/bin/busybox has loaded no program of BPF within 1000 ms; it has printed:\n", tool("exit 3")},
		{"budget", []string{"budget=20 ms", whole, script("while :; do :; done")}},
	} {
		p := require.Must(planning.NewLoader().Plan("linux-workload", c.sets))(t)
		if p.Lacking != nil {
			hosttools.Missing(t, "errors of a program under a packaged kernel", p.Lacking.Error())
		}
		pt := require.Must(p.Point("kprobe"))(t)
		require.Error(t, require.Err(kinds.Measure(pt)), c.want, "%q", c.sets)
	}
}

// TestLinuxWorkloadObjectRefuses names what a kernel refuses of an object file, or does not do.
func TestLinuxWorkloadObjectRefuses(t *testing.T) {
	hosttools.Kernels(t, "vmlinuz*-amd64", "object files that a packaged kernel refuses")
	for want, program := range map[string]string{
		"program careless: attach kprobe to vfs_write: the kernel refused to load a program of BPF: error 13 (EACCES); the verifier says:\n": "careless",
		"R0 invalid mem access 'map_value_or_null'":        "careless",
		"the kernel's types lack what the program reads (": "field",
		"program lacking: the kernel refused to attach kprobe to no_such_function: error 2 (ENOENT): it has no function no_such_function": "lacking",
		"program untyped: fentry: the kernel's BTF has no no_such_function":                                                               "untyped",
		"program unheard: the kernel refused to attach raw-tracepoint to no_such_event: error 2 (ENOENT)":                                 "unheard",
		"the ring buffer ring has 8192 bytes, and ":                                                                                       "fills",
		"the object reads CONFIG_HZ: of options only the kernel's version is known":                                                       "option",
		"no program of ../../distro/attaching/testdata/refused.bpf.o was hit":                                                             "optional",
	} {
		p, err := linuxLoader.Plan("linux-workload-object", []string{
			"points.kprobe.file=../../distro/attaching/testdata/refused.bpf.o", "points.kprobe.programs=[\"" + program + "\"]",
			"workload.region=command", "workload.command=[\"/bin/busybox\", \"true\"]",
		})
		require.NoError(t, err)
		if p.Lacking != nil {
			hosttools.Missing(t, "object files that a packaged kernel refuses", p.Lacking.Error())
		}
		pt := require.Must(p.Point("kprobe"))(t)
		require.Error(t, require.Err(kinds.Measure(pt)), want, "%s", program)
	}
}

// otherObject begins a point under programs of the object otherWays.
const otherObject = "kind=\"object\", file=\"" + otherWays + "\", programs="

// onePoint is a point of an experiment with these keys.
func onePoint(t *testing.T, name, point string, sets ...string) (*schema.Point, error) {
	t.Helper()
	const what = "programs of an object file under a packaged kernel"
	hosttools.Kernels(t, "vmlinuz*-amd64", what)
	p, err := linuxLoader.Plan(name, append(sets, "points=[{name=\"one\", "+point+"}]"))
	if err != nil {
		return nil, err
	}
	if p.Lacking != nil {
		hosttools.Missing(t, what, p.Lacking.Error())
	}
	return p.Point("one")
}

// TestLinuxWorkloadUser puts probes into a library of sqlite3, which steps twice for each of three statements.
func TestLinuxWorkloadUser(t *testing.T) {
	sets := []string{"workload.region=command", "workload.command=[\"/usr/bin/sqlite3\", \":memory:\", \"select 1; select 2; select 3;\"]"}
	const step = "libsqlite3.so.0:sqlite3_step"
	for point, want := range map[string]string{
		otherObject + "[\"anywhere\"], target=\"" + step + "\"": "",
		"kind=\"uprobe\", target=\"" + step + "\", offset=4":    "",
		otherObject + "[\"samples\"], event=\"page-faults\"":    "",
		otherObject + "[\"prints\"]":                            "was hit in the region of interest",
		"kind=\"uprobe\", target=\"libc.so.6:strlen\"":          "/libc.so.6 has several functions behind strlen, one of which is chosen when the program starts",
	} {
		pt := require.Must(onePoint(t, "linux-workload-sqlite", point, sets...))(t)
		m, err := kinds.Measure(pt)
		if want != "" {
			require.Error(t, err, want, "%s", point)
			continue
		}
		require.NoError(t, err)
		sameWatched(t, pt, m)
		values, sum := valuesOf(t, pt, m), 0.0
		for _, phase := range kinds.LinuxPhases() {
			sum += values[results.PhaseMetric(phase.String())]
		}
		cycles := values[results.MetricCycles]
		require.That(t, values["events"] == 6 != strings.Contains(point, "samples") && sum > cycles-5 && sum < cycles+5, "%s: phases of %v; %v", point, sum, values)
		stepped := values[results.PhaseMetric("step")] > 0
		require.That(t, stepped != strings.Contains(point, "samples"), "%s: %v", point, values)
	}
}

// TestLinuxWorkloadHeld wants programs to be run that others call, and maps to be found in others: they fill a ring buffer. A call of
// what is not in the array does nothing.
func TestLinuxWorkloadHeld(t *testing.T) {
	for program, want := range map[string]string{
		"first": "the ring buffer ring has 8192 bytes, and ", "array": "the ring buffer ring has 8192 bytes, and ",
		"hash": "the ring buffer ring has 8192 bytes, and ", "ends": "",
	} {
		pt := require.Must(onePoint(t, "linux-workload", otherObject+"[\""+program+"\"]", writes))(t)
		err := require.Err(kinds.Measure(pt))
		if want == "" {
			require.NoError(t, err)
		} else {
			require.Error(t, err, want, "%s", program)
		}
	}
	require.Error(t, require.Err(onePoint(t, "linux-workload", otherObject+"[\"several\"]")), "the kernel has no links of several user probes", "a link that came later")
}

// TestLinuxWorkloadSamples runs a program at ticks of the kernel's clock. What it takes is part of interrupts.
func TestLinuxWorkloadSamples(t *testing.T) {
	pt, err := onePoint(t, "linux-workload", otherObject+"[\"samples\"], frequency=250",
		"workload.region=command", "workload.command=[\"/bin/busybox\", \"dd\", \"if=/dev/zero\", \"of=/dev/null\", \"bs=65536\", \"count=2000\"]")
	require.NoError(t, err)
	m := require.Must(kinds.Measure(pt))(t)
	values := valuesOf(t, pt, m)
	ticks := values["region_us"] / 4000
	require.That(t, values["events"] > ticks-2 && values["events"] < ticks+2 && values["cycles_phase_irq"] > 500, "%v ticks; %v", ticks, values)
}

// TestLinuxWorkloadStatic puts probes into a program with static probes, which it passes at two places, three times in all. A
// record for each hit fills the ring buffer if arguments have the values that the program passes.
func TestLinuxWorkloadStatic(t *testing.T) {
	const dir = "../../distro/attaching/testdata/"
	hosttools.Need(t, "gcc", "gcc", "static probes of a program under a packaged kernel")
	file := filepath.Join(t.TempDir(), "program")
	hosttools.Run(t, dir, "gcc", "-O1", "-static", "-nostdlib", "-fno-pie", "-no-pie", "-o", file, "program.c")
	root := exptest.Write(t, t.TempDir(), "root.cpio", string(distro.Initrd([]distro.File{
		{Name: "program", Mode: distro.ModeProgram, Data: require.Must(os.ReadFile(file))(t)},
	})))
	for point, want := range map[string]string{
		otherObject + "[\"steps\"]":                                        "the ring buffer ring has 8192 bytes, and ",
		otherObject + "[\"silent\"], target=\"/program:kprobesim:step\"":   "",
		"kind=\"usdt\", target=\"/program:kprobesim:step\"":                "",
		"kind=\"usdt\", target=\"/program:kprobesim:none\"":                "attach usdt to /program:kprobesim:none: /program has no static probe kprobesim:none",
		"kind=\"usdt\", target=\"/init:kprobesim:step\"":                   "/init has no static probes",
		otherObject + "[\"steps\"], target=\"/program:kprobesim:strange\"": "argument 0: ",
	} {
		pt := require.Must(onePoint(t, "linux-workload", point, "workload.root=[\""+root+"\"]", "workload.region=command", "workload.command=[\"/program\"]"))(t)
		m, err := kinds.Measure(pt)
		if want != "" {
			require.Error(t, err, want, "%s", point)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, valuesOf(t, pt, m)["events"], 3.0, "%s: events", point)
	}
}

// valuesOf returns the values of a measured point by their metrics.
func valuesOf(t *testing.T, pt *schema.Point, m *kinds.Measurement) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for _, r := range require.Must(reports.Records(pt, m))(t) {
		values[r.Metric] = r.Value.Float()
	}
	return values
}

package planning_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/distro"
	"kprobesim/experiments/planning"
	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// kernels writes made-up kernels into a folder, by name. With 64 bits they have types.
func kernels(t *testing.T, bits map[string]int) string {
	t.Helper()
	dir := t.TempDir()
	for name, n := range bits {
		b := linuxtest.Boxed(linuxtest.Kernel{Bits: n, Code: make([]byte, 1), Types: n == 64}.ELF())
		b[0x206], b[0x207], b[0x236] = 15, 2, 0 // protocol 2.15
		if n == 64 {
			b[0x236] = 1 // the 64-bit entry
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o644))
	}
	return dir
}

// TestLinuxKernel finds the newest kernel of the machine's width, and takes the one that is named.
func TestLinuxKernel(t *testing.T) {
	dir := kernels(t, map[string]int{"vmlinuz-5.10.0-100": 64, "vmlinuz-6.1.0-9": 64, "vmlinuz-6.1.0-56": 64, "vmlinuz-6.1.0-99-32": 32})
	t.Setenv(planning.KernelFolder, dir)
	for experiment, want := range map[string]string{"linux-probes": "vmlinuz-6.1.0-56", "linux-probes-i386": "vmlinuz-6.1.0-99-32"} {
		p, err := planning.NewLoader().Plan(experiment, nil)
		if err != nil || p.Lacking != nil {
			t.Fatal(err, p.Lacking)
		}
		require.Equal(t, filepath.Base(p.Points[0].Image.Name), want, "%s: kernel", experiment)
		require.Equal(t, p.Points[0].Kernel.Era, linuxtest.Release, "%s: the kernel is of", experiment)
		l := p.Points[0].Linux
		require.That(t, l.CPUs == 1 && l.Memory == 192<<20 && l.Date == 1_700_000_000 && l.Command == distro.Command(1), "%s: without settings the kernel gets %d CPUs, %d bytes, date %d and %q", experiment, l.CPUs, l.Memory, l.Date, l.Command)
		found := false
		for _, in := range p.Inputs {
			found = found || in.Kind == "kernel" && in.Name == want && in.Hash == p.Points[0].Image.Hash
		}
		require.That(t, found && p.Keys["kernel "+want] != "", "%s: the inputs %v do not have the kernel", experiment, p.Inputs)
		require.That(t, len(p.Notes) == 2 && p.Notes[0] == "left out: uo, uro, uo-event, uro-event: "+noCalls && strings.Contains(p.Notes[1], "left out: f, e, k, o, rf, re, rk, ro, u, uk, ur, w, whose handler"), "%s: notes %q", experiment, p.Notes)
	}
	for set, fits := range map[string]bool{
		"cpus=0": false, "cpus=32": true, "cpus=33": false, "memory='64 MiB'": true, "memory='67108863'": false, "memory='3 GiB'": true,
		"memory='3073 MiB'": false, "date=0": true, "date=-1": false, "date=4294967296": true, "date=4294967297": false,
	} {
		_, err := planning.NewLoader().Plan("linux-probes", []string{"linux." + set})
		require.That(t, (err == nil) == fits, "linux.%s: %v", set, err)
	}
	p, err := planning.NewLoader().Plan("linux-probes", []string{"linux.kernel=" + filepath.Join(dir, "vmlinuz-6.1.0-9")})
	if err != nil || filepath.Base(p.Points[0].Image.Name) != "vmlinuz-6.1.0-9" {
		t.Error(err)
	}
}

// TestDeviceTree wants no tree of a board for a kernel of x86.
func TestDeviceTree(t *testing.T) {
	t.Setenv(planning.KernelFolder, kernels(t, map[string]int{"vmlinuz-6.1.0-9": 64}))
	require.Error(t, require.Err(planning.NewLoader().Plan("linux-probes", []string{"linux.dtb=x.dtb"})), "it is for kernels of ARM", "a tree for x86")
}

// TestTreeFile finds the tree of a board where a package has it, and says what is missing.
func TestTreeFile(t *testing.T) {
	root := t.TempDir()
	kernel, lib := filepath.Join(root, "boot", "vmlinuz-1-armmp"), filepath.Join(root, "usr", "lib", "linux-image-1-armmp")
	require.NoError(t, os.MkdirAll(lib, 0o755))
	require.Error(t, require.Err(planning.TreeFile("", kernel, "1-armmp")), "name vexpress-v2p-ca15_a7.dtb of its package", "no tree")
	at := filepath.Join(lib, "vexpress-v2p-ca15_a7.dtb")
	require.NoError(t, os.WriteFile(at, nil, 0o644))
	require.Equal(t, require.Must(planning.TreeFile("", kernel, "1-armmp"))(t), at, "where the package has it")
	require.Equal(t, require.Must(planning.TreeFile("", filepath.Join(lib, "vmlinuz"), "2"))(t), at, "beside the kernel")
	require.Equal(t, require.Must(planning.TreeFile("own", kernel, "1-armmp"))(t), "own", "a named one")
}

// TestLinuxModule takes the module beside the kernel, and the one that is named; either makes another measurement.
func TestLinuxModule(t *testing.T) {
	dir := kernels(t, map[string]int{"vmlinuz": 64})
	t.Setenv(planning.KernelFolder, dir)
	one := filepath.Join(dir, "mine.ko")
	require.NoError(t, os.WriteFile(one, []byte("module"), 0o644))
	with := require.Must(planning.NewLoader().Plan("linux-probes", []string{"linux.module=" + one}))(t)
	without := require.Must(planning.NewLoader().Plan("linux-probes", nil))(t)
	require.That(t, len(with.Points) > len(without.Points) && len(with.Notes) == 1, "%d points with the module, %d without it; notes %q", len(with.Points), len(without.Points), with.Notes)
	require.That(t, with.Points[0].Key("") != without.Points[0].Key(""), "the module is no part of what a measurement follows from")
}

// noCalls is said of a kernel that keeps breakpoints at nops.
const noCalls = "the kernel puts no call in place of a nop where a user probe stands, as kernels of x86-64 do from 6.18 on"

// TestLinuxAttachLeavesOut names the ways to attach that a kernel was built without, and refuses what no way has.
func TestLinuxAttachLeavesOut(t *testing.T) {
	t.Setenv(planning.KernelFolder, kernels(t, map[string]int{"vmlinuz-6.1.0-9": 64}))
	p := require.Must(planning.NewLoader().Plan("linux-attach", nil))(t)
	require.Equal(t, strings.Join(p.Notes, "\n"),
		"left out: kprobe-multi, kprobe-multi-count, kprobe-multi-ringbuf, kretprobe-multi, kretprobe-multi-count, kretprobe-multi-ringbuf: "+
			"the kernel was built without CONFIG_FPROBE\n"+
			"left out: kprobe-session, kprobe-session-count, kprobe-session-ringbuf: the kernel has no sessions of kprobe-multi, as kernels have from 6.10 on\n"+
			"left out: uprobe-opt, uprobe-opt-count, uprobe-opt-ringbuf, uretprobe-opt, uretprobe-opt-count, uretprobe-opt-ringbuf, "+
			"usdt-opt, usdt-opt-count, usdt-opt-ringbuf: "+noCalls+"\n"+
			"left out: uprobe-multi, uprobe-multi-count, uprobe-multi-ringbuf, uretprobe-multi, uretprobe-multi-count, uretprobe-multi-ringbuf, "+
			"uprobe-session, uprobe-session-count, uprobe-session-ringbuf: the kernel has no links of several user probes, as kernels have from 6.6 on", "notes")
	_, err := p.Point("kprobe-multi")
	require.That(t, err != nil && p.Points[0].Linux.Attaching, "a point that is left out is there, or none attaches anything")
	for want, set := range map[string]string{
		"a seccomp runs no program of BPF":         "points.seccomp.program=empty",
		"a none runs no program of BPF":            "points.none.program=empty",
		"what is attached has no other handler":    "points.fentry.handler=event",
		"a probe of an instruction has one, not":   "points.fentry.mode=step",
		`a usdt is "optimized", or leave it out`:   "points.usdt.mode=step",
		`unknown value "nothing": known are empty`: "points.tp.program=nothing",
	} {
		require.Error(t, require.Err(planning.NewLoader().Plan("linux-attach", []string{set})), want, "%s", set)
	}
	t.Setenv(planning.KernelFolder, kernels(t, map[string]int{"vmlinuz-6.1.0-9": 32}))
	bare := require.Must(planning.NewLoader().Plan("linux-attach", []string{"machine=xeon-e5410-i386"}))(t)
	want := "left out: fentry, fentry-count, fentry-ringbuf, fexit, fexit-count, fexit-ringbuf, fmod-ret, fmod-ret-count, fmod-ret-ringbuf, " +
		"tp-btf, tp-btf-count, tp-btf-ringbuf: the kernel was built without CONFIG_DEBUG_INFO_BTF"
	require.That(t, slices.Contains(bare.Notes, want), "notes without types %q", bare.Notes)
}

// TestLinuxLacks says what a host without a kernel lacks, and refuses what is none.
func TestLinuxLacks(t *testing.T) {
	t.Setenv(planning.KernelFolder, "")
	p, err := planning.NewLoader().Plan("linux-probes", nil)
	require.That(t, err == nil && p.Lacking != nil && strings.Contains(p.Lacking.Error(), "no kernel of a distribution") && len(p.Points) >= 10, "without a kernel: %v, %v", err, p.Lacking)
	t.Setenv(planning.KernelFolder, kernels(t, map[string]int{"vmlinuz-32": 32}))
	p, err = planning.NewLoader().Plan("linux-probes", nil)
	require.That(t, err == nil && p.Lacking != nil && strings.Contains(p.Lacking.Error(), "no kernel of x86_64"), "without a kernel of 64 bits: %v, %v", err, p.Lacking)
	file := filepath.Join(t.TempDir(), "no-kernel")
	require.NoError(t, os.WriteFile(file, []byte("nothing"), 0o644))
	for want, sets := range map[string][]string{
		"is neither an ELF file nor a bzImage":          {"linux.kernel=" + file},
		"file does not exist":                           {"linux.kernel=" + file + "-at-all"},
		"linux.module":                                  {"linux.kernel=" + filepath.Join(kernels(t, map[string]int{"k": 64}), "k"), "linux.module=nowhere.ko"},
		`unknown key "kernel"`:                          {"kernel.cpus=2"},
		"has one, not a watchpoint":                     {"points.w.mode=step"},
		`a uprobe is "step", "emulated" or "optimized"`: {"points.u.mode=ftrace"},
		"a uretprobe stands at the start":               {"points.ur.offset=1"},
		"kind linux has no use for them":                {"replicates=2"},
		"a kretprobe stands at the start":               {"points.rf.offset=4"},
		"kind linux boots a packaged kernel":            {"isa=ppc64"},
		"0 is outside 1 to":                             {"workload.hits=0"},
		`unknown key "workload.args"`:                   {"workload.args=[1]"},
	} {
		require.Error(t, require.Err(planning.NewLoader().Plan("linux-probes", sets)), want, "%q", sets)
	}
}

// TestLinuxUserModule reads a module beside the file that names it. Another module makes another measurement.
func TestLinuxUserModule(t *testing.T) {
	dir := kernels(t, map[string]int{"vmlinuz-6.1.0-9": 64})
	t.Setenv(planning.KernelFolder, dir)
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("mine.toml", `base = "linux-probes"
name = "mine"
title = "mine"

[[points]]
name = "mine"
kind = "module"
file = "mine.ko"
`)
	key := func(module string) [32]byte {
		t.Helper()
		write("mine.ko", module)
		p := require.Must(planning.NewLoader().Plan(filepath.Join(dir, "mine.toml"), nil))(t)
		pt := require.Must(p.Point("mine"))(t)
		m := pt.Probe.Linux.Module
		require.That(t, string(m.File) == module && pt.Probe.Mode == kprobes.Optimized, "module %q, %s", m.File, pt.Probe.Mode)
		return pt.Key("")
	}
	one, other := key("one"), key("other")
	require.That(t, one != other, "another module is no other measurement")
	for set, want := range map[string]string{
		"file=nowhere.ko": "mine: file: nowhere.ko: file does not exist", "mode=ftrace": `a module is "optimized"`,
		"handler=empty": "a module chooses that itself", "offset=3": "a module chooses that itself",
	} {
		require.Error(t, require.Err(planning.NewLoader().Plan(filepath.Join(dir, "mine.toml"), []string{"points.mine." + set})), want, "%s", set)
	}
}

// TestLinuxCPUs has several CPUs asked for, which are found by the kernel's default parameters, and be busy.
func TestLinuxCPUs(t *testing.T) {
	t.Setenv(planning.KernelFolder, kernels(t, map[string]int{"vmlinuz-6.1.0-9": 64}))
	p := require.Must(planning.NewLoader().Plan("linux-probes", []string{"linux.cpus=2", "workload.load=busy"}))(t)
	if pt := p.Points[0]; pt.Linux.CPUs != 2 || pt.At().CPUs != 2 || pt.Workload.Load != "busy" || strings.Contains(pt.Linux.Command, "nosmp") {
		t.Errorf("%d CPUs, load %q, parameters %q", pt.Linux.CPUs, pt.Workload.Load, pt.Linux.Command)
	}
	one, err := planning.NewLoader().Plan("linux-probes", nil)
	if err != nil || one.Points[0].At().CPUs != 1 || !strings.Contains(one.Points[0].Linux.Command, "nosmp") || one.Points[0].Key("") == p.Points[0].Key("") {
		t.Errorf("one CPU: %v, %+v", err, one.Points[0].Linux)
	}
	for want, sets := range map[string][]string{
		"ask for more by linux.cpus": {"workload.load=busy"},
		"linux.cpus":                 {"linux.cpus=33"},
	} {
		require.Error(t, require.Err(planning.NewLoader().Plan("linux-probes", sets)), want, "%v", sets)
	}
}

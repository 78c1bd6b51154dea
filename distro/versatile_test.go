package distro_test

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprobesim/boards/vexpress"
	"kprobesim/cpus/arm"
	"kprobesim/cpus/cpustest"
	"kprobesim/distro"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// armConfig is a packaged kernel of ARM with the small /init and the device tree that comes with it. The processor is a
// Cortex-A15 by its number.
func armConfig(t *testing.T) distro.Config {
	t.Helper()
	file := hosttools.Kernels(t, "arm/vmlinuz*-armmp", "booting the kernel of a distribution for ARM")[0]
	k := readOnce(t, file)
	cfg := cpustest.Config(arm.ISA())
	cfg.Processor["midr"], cfg.Processor["cluster"] = 0x412fc0f1, 0
	return distro.Config{
		Kernel: k, CPU: cfg, TimerHz: arm.ISA().TimerHz, Board: vexpress.Board{}, Command: distro.ARMCommand(1),
		Tree:   require.Must(os.ReadFile(filepath.Join(filepath.Dir(file), "vexpress-v2p-ca15_a7.dtb")))(t),
		Initrd: distro.Initrd([]distro.File{require.Must(distro.First(k))(t)}),
	}
}

// bootOnARM boots to the end.
func bootOnARM(t *testing.T, c distro.Config) *sim.Machine {
	t.Helper()
	m, err := distro.Run(c, distro.Stop{})
	require.Need(t, m != nil && err == nil, "%v", err)
	checkOnARM(t, m)
	return m
}

// checkOnARM looks for what a kernel says at the end and for complaints.
func checkOnARM(t *testing.T, m *sim.Machine) {
	t.Helper()
	require.That(t, strings.Contains(m.Console(), "\ninit: running\r\n") && m.Ended() == distro.Halted, "ended by %q:\n%s", m.Ended(), m.Console())
	for _, bad := range []string{"Oops", "BUG:", "WARNING:", "undefined instruction"} {
		require.That(t, !strings.Contains(m.Console(), bad), "the kernel complains (%s):\n%s", bad, m.Console())
	}
}

// TestBootARM boots the kernel of a distribution for ARM to /init, without the cost model and with it, and compares what it
// prints with what it prints under qemu.
func TestBootARM(t *testing.T) {
	c := armConfig(t)
	c.Untimed = true
	untimed := bootOnARM(t, c)
	c.Untimed = false
	timed := bootOnARM(t, c)
	got := armLines(timed.Console())
	if different := firstDifference(got, armLines(untimed.Console())); different != "" {
		t.Errorf("with the cost model, and below without it: %s", different)
	}
	n := timed.CPU(0).Counters()
	require.That(t, n.Unmodelled == 1 && strings.Contains(n.LastUnknown, "floating point"), "%d instructions are not modelled, the last %s", n.Unmodelled, n.LastUnknown)
	if different := firstDifference(got, armLines(armUnderQemu(t, c))); different != "" {
		t.Error(different)
	}
	t.Logf("%d lines agree", len(got))
}

// TestBootARMSeveral boots with two CPUs, of which the kernel starts the second one by the flags of the system registers. Two
// boots are the same as far as both run. The rest goes without the cost model. The tree has two of this kind.
func TestBootARMSeveral(t *testing.T) {
	c := armConfig(t)
	c.CPUs, c.Command = 2, distro.ARMCommand(2)
	both := distro.Stop{Text: bothRun}
	m, again := require.Must(distro.Run(c, both))(t), require.Must(distro.Run(c, both))(t)
	require.That(t, m.Ended() == distro.AtText, "the second CPU is missing:\n%s", m.Console())
	require.That(t, reflect.DeepEqual(lookAll(m), lookAll(again)), "two boots differ:\n%s\n%s", m.Console(), again.Console())
	for i := range 2 {
		require.That(t, slices.Equal(m.CPU(i).Registers(), again.CPU(i).Registers()), "two boots end with other registers of CPU %d", i)
	}
	goOn(t, m, clock.PerCycle, math.MaxInt64)
	checkOnARM(t, m)
	c.CPUs = 3
	require.Error(t, require.Err(distro.New(c)), "3 CPUs: the device tree has 2 of this kind", "three CPUs")
}

// TestSnapshotOnARM goes on from a snapshot as the machine does from which it was taken, with a timer pending.
func TestSnapshotOnARM(t *testing.T) {
	c := armConfig(t)
	c.Print = func(m *sim.Machine, _ string) {
		if strings.HasSuffix(m.Console(), "devtmpfs: initialized\r\n") {
			m.End("enough")
		}
	}
	c.Command = "earlycon=pl011,0x1c090000 " + c.Command
	whole := require.Must(distro.Run(c, distro.Stop{Symbol: "rest_init"}))(t)
	part := c
	part.From = require.Must(distro.Snapshot(c, whole))(t)
	rest := require.Must(distro.Run(part, distro.Stop{}))(t)
	whole.Resume()
	require.NoError(t, whole.Run())
	require.Need(t, whole.Ended() == "enough", "ended by %q:\n%s", whole.Ended(), whole.Console())
	a, b := look(whole), look(rest)
	require.That(t, reflect.DeepEqual(a, b), "with a snapshot %+v, without %+v", b, a)
}

// ofARM lists what a line may tell of what qemu has otherwise: a clock of the day, a counter at another rate, floating point,
// another revision of the processor, a tile with another number; and what has another address here.
var ofARM = regexp.MustCompile(`rtc|sp804|arch_timer|arch_sys_counter|sched_clock|delay loop|BogoMIPS|VFP|ThumbEE|ARMv7 Processor|audit|` +
	`cma: Reserved|Memory:|unpack rootfs|initrd|PL011 rev|PL111|clcd|Fixed dependency|device link|link (with|to)`)

// tile is the complaint that the board's number is not that of the tree: qemu has a tile with the other processor alone.
var tile = regexp.MustCompile(`(?s)[^\n]*\[ cut here \].*?matching hardware[^\n]*\n`)

func armLines(console string) []string {
	_, console, _ = strings.Cut(console, "Booting Linux")
	return slices.DeleteFunc(plain(tile.ReplaceAllString(console, "")), ofARM.MatchString)
}

// armUnderQemu boots a kernel under qemu with the tree that it gets here, and returns what it printed.
func armUnderQemu(t *testing.T, c distro.Config) string {
	t.Helper()
	qemu := hosttools.Need(t, "qemu-system-arm", "qemu-system-arm", "the comparison of a boot with qemu's")
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, b, 0o644))
		return file
	}
	tree := require.Must(distro.Describe(c, 0))(t)
	cmd := exec.Command(qemu, "-M", "vexpress-a15", "-m", "512", "-display", "none", "-serial", "stdio", "-no-reboot", "-kernel", c.Kernel.Image.Name,
		"-dtb", write("tree", tree), "-initrd", write("initrd", c.Initrd), "-append", c.Command)
	return printed(t, cmd, "Power down")
}

// TestBPFOnARM has a kernel of ARM interpret programs of BPF and compile them, here and under qemu. It counts exactly, and where it compiles it
// takes no atomic addition.
func TestBPFOnARM(t *testing.T) {
	const what = "programs of BPF on ARM, here and under qemu"
	c := armConfig(t)
	gcc := hosttools.Compiler(t, "arm-linux-gnueabi-gcc", "arm", "gcc-arm-linux-gnueabi", what)
	file := filepath.Join(t.TempDir(), "init")
	out, err := exec.Command(gcc, "-marm", "-march=armv7-a", "-mfloat-abi=soft", "-Os", "-ffreestanding", "-fno-pic", "-nostdlib", "-static", "-Iinit", "-o", file,
		"testdata/counts.c").CombinedOutput()
	require.Need(t, err == nil, "%v: %s", err, out)
	c.Initrd = distro.Initrd([]distro.File{{Name: "proc", Mode: distro.ModeFolder}, {Name: "init", Mode: distro.ModeProgram, Data: require.Must(os.ReadFile(file))(t)}})
	c.Untimed = true
	for compiles, atomic := range map[string]string{"0": "atomic: 0x4", "1": "atomic: error 0x20c"} {
		c.Command = distro.ARMCommand(1) + " sysctl.net.core.bpf_jit_enable=" + compiles
		got, want := saidByInit(bootOnARM(t, c).Console()), saidByInit(armUnderQemu(t, c))
		require.Equal(t, got, want, "what /init says with bpf_jit_enable=%s", compiles)
		require.That(t, strings.Contains(got, atomic) && strings.Contains(got, "counted: 0x3e8"), "bpf_jit_enable=%s:\n%s", compiles, got)
	}
}

// saidByInit has the lines that are on a console from the first one of /init on.
func saidByInit(console string) string {
	_, text, _ := strings.Cut(console, "init: running")
	return strings.Join(plain(text), "\n")
}

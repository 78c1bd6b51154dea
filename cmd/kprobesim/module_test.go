package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

const testModules = "../../modules/testdata"

// The command prints what the module printed and one row a probed function, and says what is wrong.
func TestModuleRun(t *testing.T) {
	object := func(image string) string { return filepath.Join(testModules, image, "my_probe.o") }
	log := filepath.Join(t.TempDir(), "log")
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{
			[]string{object("x86_64-2010"), "--hits", "20", "--param", "greeting=good day", "--call", "my_probe:tell", "--console", log},
			exitOK,
			[]string{
				"module my_probe, kernel x86_64-2010, machine xeon-e5410", "\n  planted at work_checksum\n  good day 0 0 0: 3\n",
				"85 hits, 85 posts, 85 returns", "work_checksum  step at +0x0, step at +0x0  20 ", "beyond a call without the module", "returned 0x55",
			},
		},
		{[]string{object("i386-2010"), "--image", "i386-2010", "--hits", "20", "--machine", "pentium-m-1495"}, exitOK, []string{"machine pentium-m-1495"}},
		{[]string{object("x86_64-2010"), "--hits", "20", "--args", "40,2", "--call", "bench_target"}, exitOK, []string{"returned 0x42"}},
		{[]string{object("x86_64-2010"), "--args", "1,2,3"}, exitUsage, []string{"--args: 3 arguments, and a call takes at most 2"}},
		{ // before the first hit the kernel has not asked its emulator
			[]string{object("ppc64-2011"), "--image", "ppc64-2011", "--hits", "20"},
			exitOK,
			[]string{"machine power5-1656", "work_checksum  emulated at +0x0, emulated at +0x0  20 "},
		},
		{[]string{object("x86_64-2010"), "--param", "symbol=schedule", "--hits", "2"}, exitOK, []string{"0      -", "--call schedule calls it"}},
		{[]string{object("x86_64-2010"), "--param", "fails=12"}, exitFailed, []string{"module my_probe: its init function returned -ENOMEM"}},
		{[]string{object("x86_64-2010"), "--param", "leaves=1"}, exitFailed, []string{"probe at work_checksum+0x0 registered by module my_probe is still registered"}},
		{[]string{object("x86_64-2010"), "--image", "x86_64-2010-nokprobes"}, exitFailed, []string{"returned -ENOSYS", "is built without Kprobes: take a kernel"}},
		{[]string{object("arm-2014")}, exitFailed, []string{"is for EM_ARM, the kernel x86_64-2010 for EM_X86_64"}},
		{[]string{object("arm-2014"), "--image", "arm"}, exitUsage, []string{`no image "arm"`}},
		{[]string{object("arm-2014"), "--hits", "0"}, exitUsage, []string{"--hits 0: want 2 to 1000000"}},
		{[]string{"none.o"}, exitUsage, []string{"none.o: file does not exist"}},
	} {
		code, stdout, stderr := command(nil, append([]string{"module", "run"}, c.args...)...)
		for _, want := range c.says {
			if code != c.code || !strings.Contains(stdout+stderr, want) {
				t.Errorf("%v: exit code %d, want %d and %q\n%s%s", c.args, code, c.code, want, stdout, stderr)
			}
		}
	}
	if b, err := os.ReadFile(log); err != nil || !strings.HasPrefix(string(b), "planted at") {
		t.Errorf("the console file has %q, %v", b, err)
	}
}

// An experiment with a module writes what the guest printed beside its records, and says so.
func TestConsoleFile(t *testing.T) {
	dir := t.TempDir()
	where := require.Must(filepath.Abs(filepath.Join(testModules, "x86_64-2010")))(t)
	file := filepath.Join(dir, "own.toml")
	text := "base = \"isas-x86_64-2010\"\nname = \"own\"\nfigures = []\n[workload]\nhits = 10\n[[modules]]\nfile = '" + filepath.Join(where, "my_probe.o") +
		"'\nparameters = \"symbol=bench_target\"\n[[points]]\nname = \"mine\"\nmode = \"step\"\nkind = \"module\"\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	_, stdout, stderr := command(nil, "run", file, "--out", dir)
	console := filepath.Join(dir, "own", "console.txt")
	if !strings.Contains(stdout, "what the kernel printed is in "+console) {
		t.Errorf("%s%s", stdout, stderr)
	}
	b, err := os.ReadFile(console)
	if want := "# point mine\nplanted at bench_target\n"; err != nil || !strings.Contains(string(b), want) {
		t.Errorf("%q, %v; want %q", b, err, want)
	}
}

// nested is a module whose one handler hits the other probe, whose hits are missed then.
const nested = `
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/string.h>
static unsigned long seen;
static int length_pre(struct kprobe *p, struct pt_regs *regs) { return 0; }
static int target_pre(struct kprobe *p, struct pt_regs *regs) { seen += strlen(p->symbol_name); return 0; }
static struct kprobe length = { .symbol_name = "strlen", .pre_handler = length_pre };
static struct kprobe target = { .symbol_name = "bench_target", .pre_handler = target_pre };
static int begin(void) { int err = register_kprobe(&length); return err ? err : register_kprobe(&target); }
static void end(void)
{
	unregister_kprobe(&target);
	unregister_kprobe(&length);
	printk("missed %lu %lu\n", target.nmissed, length.nmissed);
}
module_init(begin);
module_exit(end);
MODULE_LICENSE("GPL");
`

// TestModuleMissesHits: missed hits stand in columns of their own, a figure with them is marked, and a line says so.
func TestModuleMissesHits(t *testing.T) {
	hosttools.Need(t, "gcc", "gcc", "compiling a module")
	file := filepath.Join(t.TempDir(), "nested.c")
	require.NoError(t, os.WriteFile(file, []byte(nested), 0o600))
	code, stdout, stderr := command(nil, "module", "run", file, "--hits", "10")
	for _, want := range []string{
		"\n  missed 0 75\n", "hits  missed hits  missed returns  cycles a hit ", "bench_target  optimized at +0x0  10     20    10           0 ", "* ",
		"\n* bench_target: 10 of 20 hits were missed: ",
	} {
		if code != exitOK || !strings.Contains(stdout+stderr, want) {
			t.Errorf("exit code %d, want %q\n%s%s", code, want, stdout, stderr)
		}
	}
}

// A source file is compiled by the compiler that the headers are for, and then tried.
func TestModuleCompiles(t *testing.T) {
	hosttools.Need(t, "gcc", "gcc", "compiling a module")
	dir := t.TempDir()
	kernel := require.Must(filepath.Abs("../../workloads/kernel"))(t)
	flags := "-nostdinc -I" + kernel + "/include -I" + kernel + "/arch/x86/include -DERA=2010 -m64 -mcmodel=kernel -mno-red-zone -mgeneral-regs-only " +
		"-fcf-protection=none -O2 -ffreestanding -fno-pic -fno-pie -fno-asynchronous-unwind-tables -fno-stack-protector\n"
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("flags", flags)
	run := func(file string) (int, string) {
		code, stdout, stderr := command(nil, "module", "run", file, "--headers", dir, "--hits", "10")
		return code, stdout + stderr
	}
	if code, said := run(filepath.Join(testModules, "my_probe.c")); code != exitOK || !strings.Contains(said, "75 hits, 75 posts, 75 returns") {
		t.Errorf("exit code %d\n%s", code, said)
	}
	write("odd.c", read(t, filepath.Join(testModules, "my_probe.c"))+"\nstatic int unused_function(void) { return VALUE; }\n")
	code, stdout, stderr := command(nil, "module", "run", filepath.Join(dir, "odd.c"), "--headers", dir, "--cflag", "-Wunused-function", "--cflag", "-DVALUE=3", "--cflag", "-I"+testModules)
	if code != exitOK || !strings.Contains(stderr, "warning: ") || !strings.Contains(stderr, "unused_function") || strings.Contains(stdout, "warning") {
		t.Errorf("a warning: exit code %d\n%s%s", code, stdout, stderr)
	}
	write("bad.c", "#include <linux/nothing.h>\n")
	if code, said := run(filepath.Join(dir, "bad.c")); code != exitUsage || !strings.Contains(said, "bad.c:1:10: fatal error: linux/nothing.h") {
		t.Errorf("exit code %d\n%s", code, said)
	}
	write("module.mk", "%.o: %.c\n\tno-such-machine-gcc @flags -c $< -o $@\n")
	if code, said := run(filepath.Join(dir, "bad.c")); code != exitUsage || !strings.Contains(said, "no-such-machine-gcc is not installed: install it (Debian: gcc-no-such-machine)") {
		t.Errorf("exit code %d\n%s", code, said)
	}
	write("module.mk", "")
	if code, said := run(filepath.Join(dir, "bad.c")); code != exitUsage || !strings.Contains(said, "module.mk names no compiler") {
		t.Errorf("exit code %d\n%s", code, said)
	}
}

// The commands of README that try a module do so, as they are written.
func TestModuleOfReadme(t *testing.T) {
	hosttools.Need(t, "gcc", "gcc", "the module of README.md")
	if runtime.GOARCH != "amd64" {
		hosttools.Unable(t, "the module of README.md", "it is compiled by the gcc of an x86-64 host")
	}
	text := require.Must(os.ReadFile("../../README.md"))(t)
	_, rest, _ := strings.Cut(string(text), "(docs/modules.md)).\n\n```\n")
	lines, _, found := strings.Cut(rest, "\n```")
	if !found {
		t.Fatal("README.md has no block of commands behind its link to docs/modules.md")
	}
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "workloads", "modules"), os.DirFS("../../workloads/modules")))
	t.Chdir(dir)
	var said string
	for line := range strings.Lines(lines) {
		for part := range strings.SplitSeq(line, "&&") {
			said = typed(t, strings.Fields(part))
		}
	}
	if !strings.Contains(said, "kernel_clone  ") {
		t.Errorf("%s\nshows no cost of the probe at kernel_clone", said)
	}
}

// typed runs a command as a shell does: this program, or another one.
func typed(t *testing.T, words []string) string {
	t.Helper()
	own := []string{"go", "run", "./cmd/kprobesim"}
	if len(words) > len(own) && slices.Equal(words[:len(own)], own) {
		code, stdout, stderr := command(nil, words[len(own):]...)
		if code != exitOK {
			t.Fatalf("%s: exit code %d\n%s%s", words, code, stdout, stderr)
		}
		return stdout
	}
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", words, err, out)
	}
	return string(out)
}

// Modules as others write them run on kernels of every instruction set: one that finds callers in a table, one whose probes
// are in memory that it has allocated, one with a probe at what a timer calls back, and one whose timer looks how many
// calls there were. All count every call.
func TestModulesOfOthers(t *testing.T) {
	alone(t)
	for _, k := range []struct{ image, cc, debian string }{
		{"x86_64-2010", "gcc", "gcc"},
		{"x86_64-2020", "gcc", "gcc"},
		{"i386-2010", "gcc", "gcc-multilib"},
		{"i386-2020", "gcc", "gcc-multilib"},
		{"ppc64-2017", "powerpc64-linux-gnu-gcc", "gcc-powerpc64-linux-gnu"},
		{"arm-2014", "arm-linux-gnueabi-gcc", "gcc-arm-linux-gnueabi"},
	} {
		t.Run(k.image, func(t *testing.T) {
			hosttools.Need(t, k.cc, k.debian, "compiling modules")
			for name, says := range map[string][]string{
				"counts.c":  {"first hit at work_checksum, stack 1", "85 calls, 85 of them by argument, the last by init", "work_checksum  "},
				"latency.c": {"a call fails", "170 calls", "work_checksum  ", "work_divide  "},
				"ticker.c":  {"4 beats, the last after 1000", ", 0 early", "1 cancelled, then 0", "4 hits, 4 of them in interrupts"},
				"poll.c":    {"pending 0, then 1; ended 1, then 0", "started 0, moved 1", "1 ended, 0 early, 0 late, at most "},
			} {
				args := []string{"module", "run", "../../workloads/modules/" + name, "--image", k.image, "--hits", "20"}
				if name == "latency.c" {
					args = append(args, "--param", "every=10")
				}
				code, stdout, stderr := command(nil, args...)
				for _, want := range says {
					if code != exitOK || !strings.Contains(stdout, want) {
						t.Errorf("%s: exit code %d, want %q\n%s%s", name, code, want, stdout, stderr)
					}
				}
			}
		})
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kprobesim/distro"
	"kprobesim/experiments/planning"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/results/measured"
)

// measuredLog names the table of a kernel of Debian 12.
const measuredLog = "testdata/measured.log"

// TestMeasureWrite writes the module as make takes it, again where it was written before, and not among other files.
func TestMeasureWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "m")
	for range 2 {
		code, _, stderr := command(nil, "measure", "--write", dir)
		require.Need(t, code == exitOK, "exit code %d: %s", code, stderr)
	}
	for _, name := range []string{"Makefile", "Kbuild", "README.md", "kprobesim_measure.c", "kprobesim_measure/rows.h"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.That(t, err == nil && len(b) != 0, "%s: %d bytes, %v", name, len(b), err)
	}
	if code, _, stderr := command(nil, "measure", "--write", t.TempDir()); code != exitOK {
		t.Errorf("an empty folder: exit code %d: %s", code, stderr)
	}
	if code, _, stderr := command(nil, "measure", "--write", "testdata"); code != exitFailed || !strings.Contains(stderr, "has other files") {
		t.Errorf("a folder with other files: exit code %d: %s", code, stderr)
	}
}

// TestMeasureRead makes a results directory of a log. It has what others have: diff, table, report and bench.txt take it.
func TestMeasureRead(t *testing.T) {
	dir := t.TempDir()
	mine, other := filepath.Join(dir, "mine"), filepath.Join(dir, "other")
	code, stdout, stderr := command(nil, "measure", "--read", measuredLog, "-o", mine, "--machine", "./xeon.toml")
	for _, want := range []string{"xeon, measured", "k      1       empty", "not there: b hit as k", "mitigations: pti retpoline", "results are in"} {
		require.Need(t, code == exitOK && strings.Contains(stdout, want), "exit code %d without %q: %s%s", code, want, stdout, stderr)
	}
	log := strings.ReplaceAll(string(require.Must(os.ReadFile(filepath.Join(mine, "console.txt")))(t)), "\n", "\r\n")
	again := filepath.Join(dir, "again.log")
	require.NoError(t, os.WriteFile(again, []byte(log), 0o644))
	if code, _, stderr := command(nil, "measure", "--read", again, "-o", other, "--machine", "xeon"); code != exitOK {
		t.Fatalf("its own console: exit code %d: %s", code, stderr)
	}
	if code, stdout, stderr := command(nil, "diff", mine, other); code != exitOK {
		t.Errorf("diff: exit code %d: %s%s", code, stdout, stderr)
	}
	code, stdout, stderr = command(nil, "table", mine, other)
	require.That(t, code == exitOK && strings.Contains(stdout, "mine beside other") && (strings.Contains(stdout, "+0.0") || strings.Contains(stdout, " 0.0")), "table: exit code %d: %s%s", code, stdout, stderr)
	if code, stdout, stderr := command(nil, "table", mine, "--format", "csv"); code != exitOK || !strings.Contains(stdout, "k,1,empty,") {
		t.Errorf("a table of one: exit code %d: %s%s", code, stdout, stderr)
	}
	apart := filepath.Join(dir, "scaling")
	if code, _, stderr := command(fake(1000), "run", "scaling", "--out", dir); code != exitOK {
		t.Fatalf("other points: exit code %d: %s", code, stderr)
	}
	code, stdout, stderr = command(nil, "table", mine, apart)
	require.That(t, code == exitOK && strings.Contains(stdout, "xeon, measured") && strings.Contains(stdout, "CPUs"), "tables of no common points: exit code %d: %s%s", code, stdout, stderr)
	if code, _, stderr := command(nil, "table", mine, experiment); code != exitUsage || !strings.Contains(stderr, "not both") {
		t.Errorf("a directory and an experiment: exit code %d: %s", code, stderr)
	}
	page := filepath.Join(dir, "report.html")
	code, _, stderr = command(nil, "report", mine, other, "-o", page)
	if b, err := os.ReadFile(page); err != nil || code != exitOK || !strings.Contains(string(b), "measured on a real machine") {
		t.Errorf("report: exit code %d: %v: %s", code, err, stderr)
	}
}

// TestMeasureRefuses wants an error that says what to do, and no results, of logs without a whole table and of other options.
func TestMeasureRefuses(t *testing.T) {
	log := string(require.Must(os.ReadFile(measuredLog))(t))
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	for want, args := range map[string][]string{
		"the log was cut":                       {"--read", file("cut", log[:len(log)/2])},
		"is of version 7":                       {"--read", file("version", strings.ReplaceAll(log, "measure 1 ", "measure 7 "))},
		"no line of the module":                 {"--read", file("none", "[ 0.0] Linux version 6.1\n")},
		"is a directory":                        {"--read", dir},
		"does not exist":                        {"--read", filepath.Join(dir, "nothing")},
		"holds a comma":                         {"--read", measuredLog, "--machine", "a,b"},
		"write one of":                          {},
		"write one of --write DIR, --read FILE": {"--read", measuredLog, "--write", dir},
		"go with --kernel":                      {"--read", measuredLog, "--kvm"},
		"leave --machine":                       {"--write", dir, "--machine", "m"},
		"neither an ELF file nor a bzImage":     {"--kernel", file("vmlinuz", strings.Repeat("no kernel ", 1000))},
	} {
		out := filepath.Join(dir, "out")
		if args = append([]string{"measure"}, args...); want != "leave --machine" && len(args) > 1 {
			args = append(args, "-o", out)
		}
		code, _, stderr := command(nil, args...)
		require.That(t, code == exitUsage && strings.Contains(stderr, want), "%v: exit code %d: %s, want %q", args, code, stderr, want)
		require.That(t, !exists(out), "%v has left results", args)
	}
}

// TestCalibrateOnMeasured fits on nothing without the kernel that has measured.
func TestCalibrateOnMeasured(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine.toml")
	require.NoError(t, os.WriteFile(mine, []byte(`base = "xeon-e5410"
name = "mine"
[calibration]
measured = "./measured"
[event]
exception_breakpoint = { cycles = 300, fitted = ["e/probes=1/handler=empty"], source = "fitted: measured e" }
exception_debug = { cycles = 300, fitted = ["k/probes=1/handler=empty"], source = "fitted: measured k" }
`), 0o644))
	refuses := func(want string, args ...string) {
		t.Helper()
		code, _, stderr := command(nil, append([]string{"calibrate"}, args...)...)
		require.That(t, code == exitUsage && strings.Contains(stderr, want), "%v: exit code %d: %s, want %q", args, code, stderr, want)
	}
	refuses("measured is no results directory", mine)
	for _, machine := range []string{"./other.toml", mine} {
		if code, _, stderr := command(nil, "measure", "--read", measuredLog, "-o", filepath.Join(dir, "measured"), "--machine", machine); code != exitOK {
			t.Fatalf("measure --read: exit code %d: %s", code, stderr)
		}
		if machine != mine {
			refuses("has figures of machine other, and nothing of mine is fitted on them", mine)
		}
	}
	refuses("what Linux 6.1.0-56-amd64 has measured: name that kernel", mine)
	refuses("leave --kernel, --module and --params out", "xeon-e5410", "--kernel", "vmlinuz")
	refuses("neither an ELF file nor a bzImage", mine, "--kernel", measuredLog)
}

// TestHardware refuses hosts whose guests do not run on the processor.
func TestHardware(t *testing.T) {
	dir := t.TempDir()
	device, processor := filepath.Join(dir, "kvm"), filepath.Join(dir, "cpuinfo")
	h := hardware{device, processor}
	require.Error(t, h.check(), "--kvm needs a host", "without the device")
	require.NoError(t, os.WriteFile(device, nil, 0o644))
	for flags, ok := range map[string]bool{"fpu vmx sse": true, "fpu svm": true, "fpu hypervisor vmxed": false} {
		require.NoError(t, os.WriteFile(processor, []byte("processor\t: 0\nvmx flags\t: vmx svm\nflags\t\t: "+flags+"\n"), 0o644))
		err := h.check()
		require.That(t, (err == nil) == ok && (ok || strings.Contains(err.Error(), "neither VMX nor SVM")), "flags %s: %v", flags, err)
	}
	if err := thisHardware().check(); err == nil {
		t.Log("this host runs guests on its processor")
	} else if code, _, stderr := command(nil, "measure", "--kvm", "--kernel", "vmlinuz"); code != exitUsage || !strings.Contains(stderr, err.Error()) {
		t.Errorf("this host: exit code %d: %s", code, stderr)
	}
}

// TestUntilEnd ends qemu when the table is whole, or cannot come.
func TestUntilEnd(t *testing.T) {
	for text, whole := range map[string]bool{measured.Begin + "\n" + measured.End + "lines=1 sum=0\r\n": true, "reboot: System halted": false} {
		done := 0
		w := &untilEnd{done: func() { done++ }}
		for i := range text {
			require.Must(w.Write([]byte(text[i : i+1])))(t)
			require.Need(t, done <= 0 || i >= len(text)-1, "%q ends at byte %d", text, i)
		}
		require.That(t, done == 1 && w.ended == whole, "%q: ended %d times, whole %v", text, done, w.ended)
	}
}

// TestMeasureUnderQemu has qemu boot kernels as --kvm does, but emulated, and reads the table of their consoles. Hits of each kind
// come as in the simulator.
func TestMeasureUnderQemu(t *testing.T) {
	files := hosttools.Kernels(t, "vmlinuz*", "measuring probes under qemu")
	if !hosttools.Whole(t, "measuring the probes of packaged kernels under qemu", "the simulator measures them") {
		return
	}
	hosttools.Need(t, "qemu-system-x86_64", "qemu-system-x86", "measuring probes under qemu")
	for _, file := range files {
		o := &measureOptions{kernel: file, params: "calls=5 repeats=1"}
		i := require.Must(o.insertion(""))(t)
		console := require.Must(underQemu(file, i.initrd, 5*time.Minute, "-accel", "tcg", "-cpu", "core2duo,-ssse3"))(t)
		table := require.Must(measured.Read(console))(t)
		if len(table.Rows) != 80 || table.Facts["kernel"] != i.kernel.Version() {
			t.Errorf("%s: %d rows of kernel %s; %q", file, len(table.Rows), table.Facts["kernel"], table.Absent)
		}
	}
}

// TestMeasureSimulated has a kernel measure its probes in the simulator, and puts the results beside a measurement.
func TestMeasureSimulated(t *testing.T) {
	files := hosttools.Kernels(t, "vmlinuz*amd64", "measuring probes in the simulator")
	if !hosttools.Whole(t, "the command measure --kernel", "a test of the kernels holds the module against the simulator") {
		return
	}
	if planning.Headers(files[0], strings.TrimPrefix(filepath.Base(files[0]), "vmlinuz-")) == "" {
		hosttools.Missing(t, "the command measure --kernel", "no headers of the kernel, make or gcc-12")
	}
	dir := filepath.Join(t.TempDir(), "simulated")
	code, stdout, stderr := command(nil, "measure", "--kernel", files[0], "--params", "calls=5 repeats=1", "-o", dir)
	require.Need(t, code == exitOK && strings.Contains(stdout, "xeon-e5410, simulated") && !strings.Contains(stdout, "published"), "exit code %d: %s%s", code, stdout, stderr)
	code, stdout, stderr = command(nil, "measure", "--kernel", files[0], "--params", "calls=0", "-o", dir)
	require.That(t, code == exitFailed && strings.Contains(stderr, "did not insert the module") && strings.Contains(stderr, "calls are 1 to 10000"), "parameters that the module refuses: exit code %d: %s%s", code, stdout, stderr)
}

// TestModuleOfMeasure wants a message where the module cannot be built.
func TestModuleOfMeasure(t *testing.T) {
	o := &measureOptions{kernel: filepath.Join(t.TempDir(), "vmlinuz")}
	require.Error(t, require.Err(o.built("9.9.9-none")), "no headers of the kernel 9.9.9-none", "no headers")
	if files := require.Must(distro.ModuleFiles("nothing"))(t); len(files) != 1 {
		t.Errorf("a module that there is none of has %d files", len(files))
	}
}

// TestDescriptionOfMine begins a machine description. A run on it says what it inherits, calibrate refuses the base's figures, and
// nothing takes the file for an experiment.
func TestDescriptionOfMine(t *testing.T) {
	mine := filepath.Join(t.TempDir(), "mine.toml")
	if code, _, stderr := command(nil, "init", mine, "--machine", "xeon-e5410"); code != exitOK {
		t.Fatalf("init: exit code %d: %s", code, stderr)
	}
	code, stdout, stderr := command(fake(1000), "table", experiment, "--set", "machine="+mine)
	said := strings.Join(strings.Fields(stdout), " ")
	if code != exitOK || !strings.Contains(said, "mine inherits from xeon-e5410: cache 12 of 12,") || strings.Contains(said, "parameters fitted") ||
		!strings.Contains(said, "fitted on figures of that machine: event.exception_breakpoint.cycles") || strings.Contains(said, "clock 2 of 2") {
		t.Errorf("a run: exit code %d: %s%s", code, stdout, stderr)
	}
	if code, _, stderr := command(fake(1000), "run", mine, "-o", t.TempDir()); code != exitUsage || !strings.Contains(stderr, "is a machine description and no experiment") {
		t.Errorf("run: exit code %d: %s", code, stderr)
	}
	if code, _, stderr := command(fake(1000), "calibrate", mine); code != exitUsage || !strings.Contains(stderr, "inherits its fitted numbers from") {
		t.Errorf("calibrate: exit code %d: %s", code, stderr)
	}
}

// TestPlaceOf names a log, or the console of a kernel.
func TestPlaceOf(t *testing.T) {
	require.Equal(t, placeOf(&measureOptions{read: "some/log", kernel: "some/vmlinuz"}), "some/log", "a log")
	require.Equal(t, placeOf(&measureOptions{kernel: "some/vmlinuz"}), "the console of vmlinuz", "a kernel")
}

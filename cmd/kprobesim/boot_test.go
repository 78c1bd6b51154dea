package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/require"
)

// prints is code of 64 bits that prints a letter and a carriage return at the serial port, and resets the machine.
var prints = []byte{
	0x66, 0xba, 0xf8, 0x03, // mov dx, 0x3f8
	0xb0, 'k', // mov al, 'k'
	0xee,       // out dx, al
	0xb0, '\r', // mov al, '\r'
	0xee,       // out dx, al
	0xb0, 0xfe, // mov al, 0xfe
	0xe6, 0x64, // out 0x64, al
}

// kernelOf writes a made-up kernel, and returns its file.
func kernelOf(t *testing.T, code ...byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "vmlinuz")
	b := linuxtest.Boxed(linuxtest.Kernel{Bits: 64, Flat: true, Code: code}.ELF())
	require.NoError(t, os.WriteFile(file, b, 0o644))
	return file
}

// bootArgs returns a command line that boots a made-up kernel.
func bootArgs(t *testing.T, more ...string) []string {
	t.Helper()
	return append([]string{"boot", "--kernel", kernelOf(t, prints...), "--memory", "32"}, more...)
}

// TestBoot holds the options of boot: its exit codes, what it prints, and that a snapshot goes on.
func TestBoot(t *testing.T) {
	dir := t.TempDir()
	snap, console, extra := filepath.Join(dir, "snap"), filepath.Join(dir, "console"), filepath.Join(dir, "extra")
	require.NoError(t, os.WriteFile(extra, []byte("more"), 0o755))
	for _, c := range []struct {
		args     []string
		code     int
		out, err string
	}{
		{nil, exitOK, "k", "ended by reset by the keyboard controller"},
		{[]string{"--until-text", "k", "--snapshot", snap}, exitOK, "k", "ended by text"},
		{[]string{"--from", snap}, exitOK, "", "ended by reset"},
		{[]string{"--from", snap, "--memory", "48"}, exitUsage, "", "another kernel, machine description"},
		{[]string{"--until", linuxtest.Name(0)[1:]}, exitOK, "", "ended by symbol at"},
		{[]string{"--until-text", "never"}, exitFailed, "k", `before the console printed "never"`},
		{[]string{"--until", linuxtest.Name(300)[1:]}, exitFailed, "k", "before the kernel came to"},
		{[]string{"--until", "nowhere"}, exitUsage, "", "has no function nowhere"},
		{[]string{"--seconds", "0.00000001"}, exitFailed, "k", "\nxeon-e5410: ended by failure"},
		{[]string{"--seconds", "0.00000001"}, exitFailed, "k", "boot: 1e-08 simulated seconds have passed, and --seconds gives it no more"},
		{[]string{"--cpus", "2"}, exitOK, "k", "ended by reset"},
		{[]string{"--cpus", "0"}, exitUsage, "", "--cpus must be 1 or more"},
		{[]string{"--cpus", "33"}, exitUsage, "", "room for 32"},
		{[]string{"--cpus", "2", "--from", snap}, exitUsage, "", "number of CPUs"},
		{[]string{"--seconds", "0"}, exitUsage, "", "must be positive"},
		{[]string{"--seconds", "nan"}, exitUsage, "", "must be positive"},
		{[]string{"--console", console}, exitOK, "", "ended by reset"},
		{[]string{"--file", "bin/extra=" + extra}, exitOK, "k", "ended by reset"},
		{[]string{"--file", "nothing"}, exitUsage, "", "write NAME=PATH"},
		{[]string{"--file", "a=" + extra, "--initrd", extra}, exitUsage, "", "use one of them"},
		{[]string{"--initrd", filepath.Join(dir, "none")}, exitUsage, "", "no such file"},
		{[]string{"--kernel", extra}, exitUsage, "", "is neither an ELF file nor a bzImage"},
		{[]string{"--machine", "power5-1656"}, exitUsage, "", "machine power5-1656 is of ppc64, and the kernel is of x86_64"},
	} {
		var out, errs strings.Builder
		code := run(bootArgs(t, c.args...), &out, &errs)
		if code != c.code || out.String() != c.out || !strings.Contains(errs.String(), c.err) {
			t.Errorf("%v: exit code %d, printed %q, and on the error stream %q", c.args, code, out.String(), errs.String())
		}
	}
	if b, err := os.ReadFile(console); err != nil || string(b) != "k\r" {
		t.Errorf("console file %q, %v", b, err)
	}
}

// TestHostLimit ends a kernel that loops, and says where.
func TestHostLimit(t *testing.T) {
	loops := kernelOf(t, linuxtest.Loop...)
	for _, args := range [][]string{{"boot"}, {"explain", "0x1000"}} {
		var out, errs strings.Builder
		code := run(append(args, "--kernel", loops, "--host-limit", "30ms"), &out, &errs)
		if code != exitFailed || !strings.Contains(errs.String(), "30ms of host time is used up") || !strings.Contains(errs.String(), "cpu 0: runs") {
			t.Errorf("%s: exit code %d, %s", args[0], code, errs.String())
		}
	}
}

// TestBootProgress shows the line of a console that ends behind each beat.
func TestBootProgress(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	p := &bootProgress{w: &out, beat: time.Second, now: func() time.Time { return now }, spoke: now}
	for _, s := range []string{"at o", "nce\r\n", "wait", "later\r", "\nsoon\n", "\x1b[2Jlast\n"} {
		if s == "wait" || strings.HasSuffix(s, "last\n") {
			now = now.Add(time.Second)
		}
		p.print(nil, s)
	}
	if got := out.String(); !strings.HasPrefix(got, "waitlater\n") || strings.Count(got, "\n") != 2 || !strings.Contains(got, "last") || strings.Contains(got, "\x1b") {
		t.Errorf("progress %q", got)
	}
}

// TestExplainOtherMachine refuses a machine of another instruction set also where nothing is booted on it. With one of its
// own the kernel is looked at, and lacks symbols.
func TestExplainOtherMachine(t *testing.T) {
	args := bootArgs(t)[1:3]
	for machine, want := range map[string]string{
		"tc2-cortex-a7":   "machine tc2-cortex-a7 is of arm, and the kernel is of x86_64",
		"xeon-e5410-i386": "it has no symbols _stext and _etext",
	} {
		var out, errs strings.Builder
		code := run(append([]string{"explain", "--file", "--machine", machine, "0x1000"}, args...), &out, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit code %d, %s%s, want %q", machine, code, out.String(), errs.String(), want)
		}
	}
}

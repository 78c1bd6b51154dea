//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/require"
)

// fakeQemu puts a program in front of all others that is called as qemu is, and says what it was called with.
func fakeQemu(t *testing.T, script string) (called func() string) {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf("#!/bin/sh\necho \"$@\" > %s/called\n%s\n", dir, script)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "qemu-system-x86_64"), []byte(text), 0o755))
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return func() string {
		b := require.Must(os.ReadFile(filepath.Join(dir, "called")))(t)
		return string(b)
	}
}

// TestMeasureKVM has a made-up qemu print the table of a kernel, and go on. The results come from that log.
func TestMeasureKVM(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, b, 0o644))
		return path
	}
	host := hardware{file("kvm", nil), file("cpuinfo", []byte("flags\t: vmx\n"))}
	good := measureOptions{
		kernel: file("vmlinuz", linuxtest.Kernel{Bits: 64}.ELF()), module: file("x.ko", []byte("a module")), machine: "xeon", out: filepath.Join(dir, "out"),
	}
	log := require.Must(filepath.Abs(measuredLog))(t)
	called := fakeQemu(t, "cat "+log+"; exec sleep 60")
	var out, errOut bytes.Buffer
	require.NoError(t, newApp(&out, &errOut).measureKVM(&good, host))
	require.That(t, strings.Contains(out.String(), "xeon, measured") && strings.Contains(out.String(), "results are in "+good.out), "it prints %s", out.String())
	require.That(t, strings.Contains(called(), "-kernel "+good.kernel+" -initrd ") && strings.HasSuffix(called(), "-m 512 -accel kvm -cpu host\n"), "qemu was called with %s", called())
	manifest := require.Must(os.ReadFile(filepath.Join(good.out, "manifest.json")))(t)
	require.That(t, bytes.Contains(manifest, []byte("vmlinuz")) && bytes.Contains(manifest, []byte("kprobesim_measure.ko")), "the manifest is %s", manifest)
	bad := func(change func(o *measureOptions)) *measureOptions {
		o := good
		change(&o)
		return &o
	}
	for _, x := range []struct {
		o     *measureOptions
		host  hardware
		qemu  string
		code  int
		wants string
	}{
		{&good, hardware{filepath.Join(dir, "none"), host.processor}, "", exitUsage, "measure: open "},
		{bad(func(o *measureOptions) { o.machine = "a\nb" }), host, "", exitUsage, "measure: "},
		{bad(func(o *measureOptions) { o.kernel = "none" }), host, "", exitUsage, "measure: none: file does not exist"},
		{&good, host, "echo nothing; exit 3", exitFailed, "measure: qemu ended (exit status 3) before the module had printed its table; its last words:\nnothing\n"},
	} {
		if x.qemu != "" {
			fakeQemu(t, x.qemu)
		}
		err := newApp(&out, &errOut).measureKVM(x.o, x.host)
		var f *failure
		require.That(t, errors.As(err, &f) && f.code == x.code && strings.HasPrefix(err.Error(), x.wants), "%v, want exit code %d and %q", err, x.code, x.wants)
	}
}

// TestQemuThatEnds wants the last words of a qemu that prints no table in time, and none of what it wrote left.
func TestQemuThatEnds(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	called := fakeQemu(t, "cat \"$4\"; printf '%0600d\\r\\n' 7; exec sleep 60")
	_, err := underQemu("some-kernel", []byte("initial RAM"), 300*time.Millisecond, "-accel", "none")
	require.Error(t, err, "deadline exceeded", "a qemu that goes on")
	_, words, _ := strings.Cut(err.Error(), "its last words:\n")
	require.That(t, words == strings.Repeat("0", 498)+"7\n", "its last words are %q", words)
	require.That(t, strings.HasPrefix(called(), "-kernel some-kernel -initrd "), "qemu was called with %s", called())
	left := require.Must(os.ReadDir(os.Getenv("TMPDIR")))(t)
	require.Equal(t, len(left), 0, "folders left")
	t.Setenv("PATH", "")
	require.Error(t, require.Err(underQemu("k", nil, time.Second)), "no qemu-system-x86_64: install it", "no qemu")
}

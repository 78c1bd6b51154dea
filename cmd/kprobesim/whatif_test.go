package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"kprobesim/experiments/whatif"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestWhatIf asks a packaged kernel, for people and for programs, and passes a limit.
func TestWhatIf(t *testing.T) {
	kernel := hosttools.Kernels(t, "vmlinuz-*-amd64", "asking what a probe would cost in the kernel of a distribution")[0]
	keep := t.TempDir()
	ask := func(more ...string) (int, string, string) {
		return command(nil, append([]string{"what-if", "--kernel", kernel, "--keep", keep, "--probe"}, more...)...)
	}
	code, stdout, stderr := ask("kprobe:vfs_write", "--rate", "200k", "--cpus", "8", "--format", "json", "--limit", "0.001")
	var a whatif.Answer
	if err := json.Unmarshal([]byte(stdout), &a); err != nil || code != exitRegression || !strings.Contains(stderr, "the limit is 0.001 %") {
		t.Fatalf("exit code %d, %v\n%s\n%s", code, err, stdout, stderr)
	}
	require.That(t, len(a.Ways) == 2 && a.Ways[0].Way == "kprobe, by ftrace" && a.Ways[1].Way == "fentry" && !(a.Ways[0].Cycles <= a.Ways[1].Cycles) && !(a.Ways[1].Cycles < 100) && a.Place == "vfs_write+0x0", "%+v", a)
	if code, stdout, stderr = ask("fentry:vfs_write", "--limit", "50", "--rate", "1000"); code != exitOK || !strings.Contains(stdout, "is within 50.000 %") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	if strings.HasSuffix(kernel, "vmlinuz-6.1.0-56-amd64") {
		text := string(require.Must(os.ReadFile("../../docs/linux.md"))(t))
		if _, stdout, _ = ask("kprobe:tcp_sendmsg", "--rate", "200k", "--cpus", "8", "--limit", "1"); !strings.Contains(text, stdout) {
			t.Errorf("docs/linux.md lacks this answer:\n%s", stdout)
		}
	}
	for want, args := range map[string][]string{
		"no symbol nothing":                      {"kprobe:nothing"},
		"no probe may stand at":                  {"kprobe:get_kprobe"},
		"has no tracepoint sched/nothing":        {"tracepoint:sched/nothing"},
		"leave the offset out":                   {"kretprobe:vfs_write+5"},
		"fentry cannot attach to xas_load":       {"fentry:xas_load"},
		"write KIND:TARGET":                      {"vfs_write"},
		"write events a second":                  {"kprobe:vfs_write", "--rate", "many"},
		"needs a --rate":                         {"kprobe:vfs_write", "--limit", "3"},
		"it is empty, count or ringbuf":          {"kprobe:vfs_write", "--program", "all"},
		"--cpus and --limit must be positive":    {"kprobe:vfs_write", "--cpus", "0"},
		"it is text or json":                     {"kprobe:vfs_write", "--format", "yaml"},
		"--rate \"1e13\": write events a second": {"kprobe:vfs_write", "--rate", "1e13"},
	} {
		code, _, stderr := ask(args...)
		require.That(t, code == exitUsage && strings.Contains(stderr, want), "%q: exit code %d, %s; want %q", args, code, stderr, want)
	}
}

// TestPerSecond reads rates.
func TestPerSecond(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "50000": 50000, "200k": 200e3, "1.5M": 1.5e6, "1e6": 1e6} {
		require.Got(perSecond(text))(t, want, "%q", text)
	}
}

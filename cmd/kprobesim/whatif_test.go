package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/experiments/whatif"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/results"
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
	text := string(require.Must(os.ReadFile("../../docs/linux.md"))(t))
	if release := strings.TrimPrefix(filepath.Base(kernel), "vmlinuz-"); strings.Contains(text, "program count, Linux "+release) {
		if _, stdout, _ = ask("kprobe:tcp_sendmsg", "--rate", "200k", "--cpus", "8", "--limit", "1"); !strings.Contains(text, stdout) {
			t.Errorf("docs/linux.md lacks this answer:\n%s", stdout)
		}
	}
	for want, args := range map[string][]string{
		"no symbol nothing":                {"kprobe:nothing"},
		"has no sessions of kprobe-multi":  {"kprobe-session:vfs_write"},
		"no probe may stand at":            {"kprobe:get_kprobe"},
		"has no tracepoint sched/nothing":  {"tracepoint:sched/nothing"},
		"leave the offset out":             {"kretprobe:vfs_write+5"},
		"fentry cannot attach to xas_load": {"fentry:xas_load"},
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

// TestTellWhatIf prints an answer for people and for programs, and its exit code says whether it is over the limit.
func TestTellWhatIf(t *testing.T) {
	answer := &whatif.Answer{Probe: "kprobe:f", Rate: 1000, CPUs: 2, Hz: 1e9, Limit: 0.5, Ways: []whatif.Cost{{Way: "kprobe", Each: 0.75}}}
	for _, format := range []string{"text", "json"} {
		for _, answer.Over = range []bool{false, true} {
			var out, said bytes.Buffer
			err := newApp(&out, &said).tellWhatIf(&whatIfOptions{format: format, limit: 0.5}, answer)
			require.That(t, (err != nil) == answer.Over, "over %v: %v", answer.Over, err)
			if f := (*failure)(nil); errors.As(err, &f) {
				require.Equal(t, fmt.Sprint(f.code, " ", f), fmt.Sprint(exitRegression, " what-if: kprobe:f takes 0.750 % of each CPU, and the limit is 0.500 %"), "over")
			}
			require.That(t, format == "json" == json.Valid(out.Bytes()) && strings.HasSuffix(out.String(), map[string]string{"json": "\n}\n", "text": answer.Text()}[format]), "%s:\n%s", format, &out)
		}
	}
}

// TestAttachCosts measures a point of a kernel once, and finds it the next time.
func TestAttachCosts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vmlinuz")
	require.NoError(t, os.WriteFile(file, madeUp["vmlinuz"](), 0o644))
	measured := 0
	a := newApp(io.Discard, io.Discard)
	a.program = func() (string, error) { return "test", nil }
	a.measure = func(p *schema.Point) (*kinds.Measurement, error) {
		measured++
		m := &kinds.Measurement{Counts: kinds.Counts{Calls: 1, Hits: 1}}
		m.Quantities = []kinds.Quantity{{Metric: results.MetricCycles, Unit: "cycles", Num: 7, Den: 1}}
		return m, nil
	}
	var o whatIfOptions
	o.explain.boot.kernel, o.explain.boot.machine = file, "xeon-e5410"
	o.limits = &running.Limit{}
	keep := t.TempDir()
	for range 2 {
		cycles := require.Must(a.attachCosts(require.Must(a.attachPlan(&o, "x86_64", nil))(t), &o, []string{"kprobe"}, keep, 1))(t)
		require.Got(cycles("kprobe"))(t, 7, "a hit")
		require.Error(t, require.Err(cycles("fentry")), "no point fentry", "a point that nobody asked for")
	}
	require.Equal(t, measured, 1, "points were measured")
}

// TestWhatIfFolder keeps measurements where it is told to, or with what programs of the user keep, or nowhere.
func TestWhatIfFolder(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData", "home"} {
		t.Setenv(name, "")
	}
	require.Equal(t, whatIfFolder(""), "", "without a home: the folder is")
	for _, name := range []string{"XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, "/cache")
	}
	require.Equal(t, whatIfFolder("mine"), "mine", "the folder is")
	require.That(t, strings.HasSuffix(whatIfFolder(""), filepath.Join("kprobesim", "what-if")), "the folder is %s", whatIfFolder(""))
}

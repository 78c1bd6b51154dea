package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/distro/probing"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestExplainJSON reads what a program would.
func TestExplainJSON(t *testing.T) {
	var out, said bytes.Buffer
	if code := run([]string{"explain", "--image", "x86_64-2020", "--format", "json", "--cost", "--verify", "bench_target", "bench_target+1"}, &out, &said); code != exitOK {
		t.Fatalf("exit code %d\n%s", code, said.String())
	}
	var all []struct {
		Place, Kind, Rule string
		Probe             bool
		Cost              struct {
			Mode   string
			Cycles float64
			Phases []struct{ Name string }
		}
		Kernel struct{ Errno int }
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &all))
	require.That(t, len(all) == 2 && all[0].Probe && all[0].Kind == "ftrace" && all[0].Cost.Mode == "ftrace" && !(all[0].Cost.Cycles <= 0) && len(all[0].Cost.Phases) != 0, "at the start of a function: %+v", all)
	if len(all) == 2 && (all[1].Probe || all[1].Rule != "inside-ftrace-call" || all[1].Kernel.Errno != 84) {
		t.Errorf("inside of the call: %+v", all[1])
	}
}

// TestExplainFails refuses a file of answers that is none, when a packaged kernel was booted.
func TestExplainFails(t *testing.T) {
	kernel := hosttools.Kernels(t, "vmlinuz-*-amd64", "a packaged kernel's answers that cannot be read")[0]
	file := filepath.Join(t.TempDir(), "answers")
	require.NoError(t, os.WriteFile(file, []byte("none"), 0o666))
	var out, said bytes.Buffer
	if code := run([]string{"explain", "--kernel", kernel, "--all", "--verify", "--answers", file}, &out, &said); code != exitFailed || !strings.Contains(said.String(), file) {
		t.Errorf("exit code %d\n%s", code, said.String())
	}
}

// TestSentences holds what is said of a place of a packaged kernel, for each kind of verdict.
func TestSentences(t *testing.T) {
	const exception, copied = "a probe is a breakpoint: one exception, and the kernel does what the instruction would do",
		"a probe is a breakpoint: an exception, a copy of the instruction, and a second exception behind it"
	for _, x := range []struct {
		of   probing.Verdict
		want []string
	}{
		{probing.Verdict{Rule: "r", Errno: 22, Why: "why", Event: true}, []string{"no probe (r, error 22): why"}},
		{probing.Verdict{Probe: true, Kind: "ftrace", Event: true}, []string{"a probe rests on ftrace: the function calls the handlers at its start, and no exception is taken"}},
		{probing.Verdict{Probe: true, Kind: "emulated", Kept: "k", KeptWhy: "so", Event: true}, []string{exception, "it stays a breakpoint (k): so"}},
		{probing.Verdict{Probe: true, Kind: "stepped", Optimized: true}, []string{
			copied, "a moment later it is a jump without an exception, unless it has a post handler",
			"a trace event may not stand there, because ftrace does not know the function; a module's probe may",
		}},
	} {
		require.Equal(t, strings.Join(sentences(x.of), "\n"), strings.Join(x.want, "\n"), "%+v", x.of)
	}
}

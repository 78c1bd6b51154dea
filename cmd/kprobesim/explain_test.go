package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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

// numbered is a kernel whose places are numbers, and whose random places are the lowest bits of what they are drawn from.
type numbered struct{}

func (numbered) Resolve(place string) (uint64, error) { return strconv.ParseUint(place, 10, 64) }

func (numbered) Random(next func() uint64) uint64 { return next() & 0xff }

// TestSites sorts places, has each once, and draws the same ones by the same seed.
func TestSites(t *testing.T) {
	of := func(seed, sample int, places ...string) string {
		return fmt.Sprint(require.Must((&explainOptions{seed: seed, sample: sample}).sites(numbered{}, places))(t))
	}
	require.Equal(t, of(1, 0, "7", "3", "7"), "[3 7]", "named places")
	require.Equal(t, of(1, 3, "300"), "[3 86 242 300]", "places of seed 1")
	require.Equal(t, of(2, 3), "[42 78 111]", "places of seed 2")
	require.Error(t, require.Err((&explainOptions{}).sites(numbered{}, []string{"x"})), "x", "no place")
}

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// TestExplainOwn holds what is said of places of a kernel of this program, as text and as JSON.
func TestExplainOwn(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"--image", "x86_64-2010", "--verify", "bench_target", "work_jcc_first", "0xffffffff80000000"}, exitOK, []string{
			"a moment later it is a jump", "it stays a breakpoint (not-boostable)", "no probe (no-kernel-text, error 22)",
			"3 places, the kernel agrees on 3",
		}},
		{[]string{"--image", "x86_64-2010", "--machine", "xeon-e5410", "--cost", "bench_target"}, exitOK, []string{
			"optimized: a hit takes ", " 0 exceptions on xeon-e5410, measured at bench_target+0x0; cycles by phase: ", "detour ",
		}},
		{[]string{"--image", "arm-2010", "--sample", "20", "--verify"}, exitOK, []string{"the kernel agrees on 2"}},
		{[]string{"--image", "arm-2014", "--all", "--verify"}, exitOK, []string{
			"a hit is ", "optimized ", "no probe, by rule", "neither-copied-nor-emulated ", "no jump, by rule", " places\n", "the kernel agrees on 1",
		}},
		{[]string{"--image", "x86_64-2010", "--machine", "xeon-e5410", "--all", "--sample", "200", "--cost"}, exitOK, []string{
			"a hit is ", " 0 exceptions on xeon-e5410", " 1 exceptions on xeon-e5410", "  places\n",
		}},
		{[]string{"--image", "arm-2014", "--verify", "schedule+0x24"}, exitOK, []string{"takes away the reservation", "1 places, the kernel agrees on 1"}},
		{[]string{"--image", "x86_64-2010", "--all", "bench_target"}, exitUsage, []string{"--all takes every instruction, so leave bench_target out"}},
		{[]string{"--image", "x86_64-2010", "--sample", "-1"}, exitUsage, []string{"--sample -1"}},
		{[]string{"--kernel", "x", "--all", "--rounds", "2"}, exitUsage, []string{"--rounds go with --kernel and --verify"}},
		{[]string{"--image", "arm-2014", "--all", "--verify", "--answers", "x"}, exitUsage, []string{"--answers and --rounds go with"}},
		{[]string{"--kernel", "x", "--all", "--verify", "--rounds", "-1"}, exitUsage, []string{"--rounds -1"}},
		{[]string{"--kernel", "x", "--all", "--verify", "-j", "-1"}, exitUsage, []string{"--workers -1"}},
		{[]string{"--kernel", "x", "--all"}, exitUsage, []string{"open x: no such file"}},
		{[]string{"--image", "x86_64-2010-nokprobes", "bench_target"}, exitOK, []string{"no-kprobes"}},
		{[]string{"--image", "x86_64-2011", "bench_target"}, exitUsage, []string{`no image "x86_64-2011"`, "x86_64-2010"}},
		{[]string{"--image", "ppc64-2010", "--machine", "xeon-e5410", "bench_target"}, exitUsage, []string{"ppc64"}},
		{[]string{"--image", "ppc64-2010", "nowhere"}, exitUsage, []string{"has no symbol nowhere"}},
		{[]string{"--image", "ppc64-2010", "schedule+0x10000"}, exitUsage, []string{"schedule is 0x", "write an offset in it"}},
		{[]string{"--image", "ppc64-2010"}, exitUsage, []string{"name places"}},
		{[]string{"--image", "ppc64-2010", "--kernel", "x", "y"}, exitUsage, []string{"use one of them"}},
		{[]string{"--kernel", "x", "--cost", "y"}, exitUsage, []string{"open x: no such file"}},
	} {
		var out, said bytes.Buffer
		if code := run(append([]string{"explain"}, c.args...), &out, &said); code != c.code {
			t.Errorf("explain %q: exit code %d, want %d\n%s", c.args, code, c.code, said.String())
		}
		for _, s := range c.says {
			if !strings.Contains(out.String()+said.String(), s) {
				t.Errorf("explain %q does not say %q:\n%s%s", c.args, s, out.String(), said.String())
			}
		}
	}
}

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
	if len(all) != 2 || !all[0].Probe || all[0].Kind != "ftrace" || all[0].Cost.Mode != "ftrace" || all[0].Cost.Cycles <= 0 || len(all[0].Cost.Phases) == 0 {
		t.Errorf("at the start of a function: %+v", all)
	}
	if len(all) == 2 && (all[1].Probe || all[1].Rule != "inside-ftrace-call" || all[1].Kernel.Errno != 84) {
		t.Errorf("inside of the call: %+v", all[1])
	}
}

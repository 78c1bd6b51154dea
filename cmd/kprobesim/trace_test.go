package main

import (
	"slices"
	"strings"
	"testing"
)

// traced are experiments with the words in which the trace of a hit differs between instruction sets and
// eras.
var traced = []struct {
	name, iret, pushf, popf, ret string
	next, behind                 string // the instructions behind the displaced one and behind a detour's jump
	msrs                         int    // how many model-specific registers a single-stepped hit reads
	direct                       bool   // a return probe's trampoline is code and no breakpoint
	points                       []string
}{
	{experiment, "iretq", "pushfq", "popfq", "retq", "bench_target+0x5 ", "bench_target+0x5 ", 2, true, []string{"k", "b", "o", "r", "rb", "ro"}},
	{"overhead-xeon-e5410-i386", "iret", "pushf", "popf", "ret", "bench_target+0x4 ", "bench_target+0x6 ", 0, true, []string{"k", "b", "o", "r", "rb", "ro"}},
	{"overhead-opteron-246", "iretq", "", "", "retq", "bench_target+0x5 ", "", 1, false, []string{"k", "r", "kr"}},
	{"overhead-pentium-m", "iret", "", "", "ret", "bench_target+0x4 ", "", 0, false, []string{"k", "r", "kr"}},
}

// TestTraceShowsEveryStep looks for the stations of each kind of hit, in their order.
func TestTraceShowsEveryStep(t *testing.T) {
	for _, c := range traced {
		breakpoint := []string{"int3", "#BP", "do_int3", "offer_exception", "breakpoint_hit", "handler_empty", c.iret, "__slots_start+0x"}
		single := append(slices.Clone(breakpoint), "#DB", "do_debug", "offer_exception", "copy_stepped", c.iret, c.next)
		boosted := append(slices.Clone(breakpoint), "jmp", c.next)
		optimized := []string{"bench_target+0x0", "jmp", c.pushf, "detour_called", "detour_handlers", "handler_empty", c.popf, "jmp", c.behind}
		back := []string{"kretprobe_trampoline", "function_returned", "ret_empty", c.popf, c.ret}
		if !c.direct {
			back = []string{c.ret, "kretprobe_trampoline", "#BP", "trampoline_hit", "function_returned", "ret_empty", c.iret}
		}
		stations := map[string][]string{
			"k": single, "b": boosted, "o": optimized, "kr": append(slices.Clone(single), back...),
			"r": append(without(single), back...), "rb": append(without(boosted), back...), "ro": append(without(optimized), back...),
		}
		for _, point := range c.points {
			trace := holdStations(t, c.name, point, stations[point])
			if n := strings.Count(trace, "rdmsr"); point == "k" && n != c.msrs {
				t.Errorf("%s, %s: %d rdmsr in the trace, want %d", c.name, point, n, c.msrs)
			}
		}
	}
}

// holdStations traces a warm hit, wants the stations in their order, and returns the trace.
func holdStations(t *testing.T, name, point string, stations []string, sets ...string) string {
	t.Helper()
	args := []string{"trace", name, "--point", point}
	for _, s := range sets {
		args = append(args, "--set", s)
	}
	code, trace, stderr := command(nil, args...)
	if code != exitOK {
		t.Fatalf("%s, %s: exit code %d: %s", name, point, code, stderr)
	}
	rest := trace
	for _, w := range stations {
		_, after, found := strings.Cut(rest, w)
		if !found {
			t.Errorf("%s, %s: %q is not behind what came before", name, point, w)
			break
		}
		rest = after
	}
	return trace
}

// without replaces the kprobe's handler by that of a kretprobe.
func without(stations []string) []string {
	var out []string
	for _, s := range stations {
		if s == "handler_empty" {
			s = "return_probe_entered"
		}
		out = append(out, s)
	}
	return out
}

func TestTraceHit(t *testing.T) {
	_, warm, _ := command(nil, "trace", experiment, "--point", "k")
	_, cold, _ := command(nil, "trace", experiment, "--point", "k", "--cold")
	_, third, _ := command(nil, "trace", experiment, "--point", "k", "--hit", "3")
	if warm == cold || warm == "" || cold == third || !strings.Contains(cold, "icache") {
		t.Error("the cold hit does not differ from the warm one")
	}
}

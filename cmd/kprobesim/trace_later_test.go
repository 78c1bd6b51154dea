package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// phaseForm is a line of the table under a trace.
var phaseForm = regexp.MustCompile(`(?m)^# (\w+) +\d+ +\S+$`)

// TestTraceShowsEveryStepOfLaterKernels looks for the stations of each kind of hit on x86 of 2020, where nothing is
// stepped by the processor, and wants each stage booked on its phase.
func TestTraceShowsEveryStepOfLaterKernels(t *testing.T) {
	holdLaterTraces(t, laterWays{
		isa: "i386", entry: []string{"int3", "#BP", "do_int3"}, exit: []string{"restore_kernel_frame"},
		saves: "push", restores: "pop", ret: "ret", first: "+0x4 ", region: "+0x6 ",
		called: []string{"entry_trampoline", "ret"},
	})
	holdLaterTraces(t, laterWays{
		isa: "x86_64", entry: []string{"int3", "#BP", "save_and_clear", "do_int3"}, exit: []string{"leave_to_kernel", "iretq"},
		saves: "pushfq", restores: "popfq", ret: "retq", first: "+0x5 ", region: "+0x5 ",
		called: []string{"entry_trampoline", "popfq", "ret"},
	})
}

// laterWays describes the kernels of an instruction set: ways into an exception and out of it, names of
// instructions, where the target goes on behind its first instruction and behind a jump, and the way out of an entry's call.
type laterWays struct {
	isa                  string
	entry, exit          []string
	saves, restores, ret string
	first, region        string
	called               []string
}

func holdLaterTraces(t *testing.T, w laterWays) {
	t.Helper()
	copied := "isas-" + w.isa + "-2020"
	emulated, entry := copied+"-emulated", copied+"-entry"
	trap := slices.Concat(w.entry, []string{"text_poke_hit", "nmi_enter", "breakpoint_hit", "find_probe"})
	out := slices.Concat([]string{"nmi_exit"}, w.exit)
	handler, divert := []string{"handler_empty"}, []string{"return_probe_entered", "take_instance", "divert_return"}
	step := slices.Concat([]string{"leave_handlers"}, out, []string{"__slots_start+0x0 "}, trap, []string{"copy_done", "end_hit"}, out,
		[]string{"bench_target" + w.first})
	boost := slices.Concat([]string{"leave_handlers"}, out, []string{"__slots_start+0x10 ", "jmp", "bench_target" + w.first})
	emulation := slices.Concat([]string{"leave_handlers", "emulate_jcc", "condition_holds", "end_hit"}, out, []string{"work_jcc_first+0x2 "})
	detour := func(calls []string) []string {
		return slices.Concat([]string{"bench_target+0x0 ", "jmp", w.saves, "detour_called", "detour_handlers"}, calls,
			[]string{w.restores, "jmp", "bench_target" + w.region})
	}
	call := func(calls []string) []string {
		return slices.Concat([]string{"bench_target+0x0 ", "call", "entry_trampoline", w.saves, "entry_hit", "find_probe"}, calls,
			w.called, []string{"bench_target+0x5 "})
	}
	back := []string{w.ret, "kretprobe_trampoline", "function_returned", "call_return_handler", "ret_empty", "into_pool", w.restores, w.ret}
	for _, c := range []laterTrace{
		{copied, "k", 2, "workload entry dispatch handler return step", slices.Concat(trap, handler, step)},
		{copied, "b", 1, "workload entry dispatch handler return step", slices.Concat(trap, handler, boost)},
		{copied, "o", 0, "workload detour handler", detour(handler)},
		{copied, "r", 2, "workload entry dispatch kretprobe return step handler", slices.Concat(trap, divert, step, back)},
		{copied, "rb", 1, "workload entry dispatch kretprobe return step handler", slices.Concat(trap, divert, boost, back)},
		{copied, "ro", 0, "workload detour kretprobe handler", slices.Concat(detour(divert), back)},
		{emulated, "e", 1, "workload entry dispatch handler step return", slices.Concat(trap, handler, emulation)},
		{entry, "f", 0, "workload detour dispatch handler", call(handler)},
		{entry, "rf", 0, "workload detour dispatch kretprobe handler", slices.Concat(call(divert), back)},
	} {
		c.hold(t)
	}
}

// laterTrace holds the trace of a point: exceptions, phases in the order of their first instructions, stations.
type laterTrace struct {
	name, point string
	exceptions  int
	phases      string
	stations    []string
}

func (c *laterTrace) hold(t *testing.T) {
	t.Helper()
	trace := holdStations(t, c.name, c.point, c.stations)
	if n := strings.Count(trace, "exception #BP"); n != c.exceptions || strings.Contains(trace, "#DB") {
		t.Errorf("%s, %s: %d #BP in the trace, or a #DB; want %d and none", c.name, c.point, n, c.exceptions)
	}
	var phases []string
	for _, m := range phaseForm.FindAllStringSubmatch(trace, -1) {
		phases = append(phases, m[1])
	}
	if got := strings.Join(phases, " "); got != c.phases {
		t.Errorf("%s, %s: phases %s, want %s", c.name, c.point, got, c.phases)
	}
	for line := range strings.SplitSeq(trace, "\n") {
		if strings.Contains(line, " emulate_jcc+") && !strings.Contains(line, " step ") {
			t.Errorf("%s, %s: the emulation is not booked on the step: %s", c.name, c.point, line)
		}
	}
}

package main

import (
	"slices"
	"strings"
	"testing"
)

// TestTraceShowsEveryStepOfPower looks for the stations of each kind of hit on ppc64. An exception begins with
// translation off and goes through rfid twice. Kernels that emulate take no step, and kernels of 2017 come back
// from a detour to a return probe's trampoline by another one.
func TestTraceShowsEveryStepOfPower(t *testing.T) {
	const next = "bench_target+0x4 "
	trap := []string{"tw 31,r0,r0", "exception program", "program_check+0x0 ", "mtspr 27,", "rfid", "program_common", "do_program_check", "offer_exception", "breakpoint_hit"}
	out := []string{"leave+0x0 ", "stdcx.", "mtmsrd", "rfid"}
	begin := append([]string{"bench_target+0x0 "}, trap...)
	step := slices.Concat(out, []string{
		"__slots_start+0x", "exception trace", "single_step+0x0 ", "rfid", "step_common", "do_single_step", "offer_exception",
		"copy_stepped", "emulate_displaced",
	}, out, []string{next})
	back := slices.Concat([]string{"blr", "kretprobe_trampoline+0x0 "}, trap, []string{"trampoline_hit", "function_returned", "ret_empty"})
	handler, entry := []string{"handler_empty", "blr"}, []string{"return_probe_entered", "divert_return"}
	detour := func(calls ...string) []string {
		return slices.Concat([]string{"b 0x", "__detours_start", "mfcr", "detour_called", "mtmsrd", "detour_handlers"}, calls,
			[]string{"mtmsrd", "emulate_displaced", "__detours_start", "mtcrf", "b 0x"})
	}
	emulated := []string{"emulate_displaced", "put+0x0 "}
	for _, c := range []struct {
		name, point string
		stations    []string
	}{
		{"overhead-power5", "k", slices.Concat(begin, []string{"lock_take_for_hit", "find_probe"}, handler, step)},
		{"overhead-power5", "j", slices.Concat(begin, []string{"jprobe_divert", "copy_frame"}, out, []string{"jprobe_empty"}, trap,
			[]string{"jprobe_resume", "copy_frame"}, step)},
		{"overhead-power5", "r", slices.Concat(begin, entry, step, back, out)},
		{"overhead-power5", "kr", slices.Concat(begin, []string{"group_before"}, entry, []string{"group_before"}, handler, step, back, out)},
		{"overhead-power5-2017", "e", slices.Concat(begin, handler, emulated, out, []string{next})},
		{"overhead-power5-2017", "re", slices.Concat(begin, entry, emulated, out, []string{next}, back, emulated, out)},
		{"overhead-power5-2017", "o", slices.Concat([]string{"bench_target+0x0 "}, detour(handler...), []string{next})},
		{"overhead-power5-2017", "ro", slices.Concat([]string{"bench_target+0x0 "}, detour(entry...), []string{next, "blr", "kretprobe_trampoline+0x0 "},
			detour("trampoline_hit", "function_returned", "ret_empty"), []string{"kretprobe_trampoline+0x4 "})},
	} {
		trace := holdStations(t, c.name, c.point, c.stations)
		exceptions := 0
		for _, w := range c.stations {
			exceptions += strings.Count(w, "exception ")
		}
		if n := strings.Count(trace, "exception program") + strings.Count(trace, "exception trace"); n != exceptions {
			t.Errorf("%s, %s: %d exceptions in the trace, want %d", c.name, c.point, n, exceptions)
		}
	}
}

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestTraceShowsEveryStepOfARM looks for the stations of each kind of hit on ARM, where nothing steps: there is
// one exception or none, and the copy of the displaced instruction is called.
func TestTraceShowsEveryStepOfARM(t *testing.T) {
	const next = "bench_target+0x4 "
	begin := []string{
		"bench_target+0x0 ", "exception undefined instruction", "vector_undefined", "stub_undefined", "movs pc, lr",
		"undefined_of_kernel", "look_for_unit", "do_undefined", "offer_to_hooks", "breakpoint_trapped", "probe_hit", "find_probe",
	}
	handler, entry := []string{"handler_empty"}, []string{"return_probe_entered", "divert_return"}
	emulated := []string{"emulate_to_d", "blx", "__slots_start+0x0 "}
	out := []string{"leave_to_kernel", "clrex", "pc}^"}
	back := []string{"bx lr", "kretprobe_trampoline+0x0 ", "function_returned", "ret_empty", "kretprobe_trampoline+0xc ", "mov pc, lr"}
	detour := func(calls ...string) []string {
		return slices.Concat([]string{"bench_target+0x0 ", "b 0x", "__detours_start", "detour_called", "detour_handlers"}, calls, emulated,
			[]string{"__detours_start", "pc}", next})
	}
	for _, c := range []struct {
		name, point, era string
		exceptions       int
		stations         []string
	}{
		{"isas-ppc64-2010", "k", "2010", 1, slices.Concat(begin, handler, emulated, out, []string{next})},
		{"isas-ppc64-2010", "j", "2010", 1, slices.Concat(begin, []string{"jprobe_divert"}, out, []string{"jprobe_empty", "jprobe_return", "probe_hit", "jprobe_resume"},
			emulated, []string{"jprobe_return", "pc}^", next})},
		{"isas-ppc64-2010", "r", "2010", 1, slices.Concat(begin, entry, emulated, out, []string{next}, back)},
		{"overhead-power5-2017", "o", "2014", 0, detour(handler...)},
		{"overhead-power5-2017", "ro", "2014", 0, slices.Concat(detour(entry...), back)},
	} {
		sets := append(slices.Clone(armDialect().sets), fmt.Sprintf(`kernel.image="arm-%s"`, c.era), fmt.Sprintf("kernel.era=%q", c.era))
		trace := holdStations(t, c.name, c.point, c.stations, sets...)
		if n := strings.Count(trace, "exception undefined"); n != c.exceptions {
			t.Errorf("%s of %s: %d exceptions in the trace, want %d", c.point, c.era, n, c.exceptions)
		}
	}
}

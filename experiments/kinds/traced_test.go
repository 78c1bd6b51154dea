package kinds_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
)

// looked is a point with the functions that the trace of a hit passes, in their order.
type looked struct {
	name, point string
	stations    []string
	handlers    int // how often the handler is called: a trace shows one hit
	sets        []string
}

// watched are watchpoints: data behind the access on x86 and in front of it elsewhere, code in front of its first
// instruction, with a step over what was watched where the processor takes none.
var watched = []looked{
	{"watchpoints", "w/kernel.cpus=1", []string{"watch_store", "debug", "watch_exception", "kwatch_hit", "kwatch_empty", "watch_store"}, 1, nil},
	{"watchpoints", "x/kernel.cpus=1", []string{"debug", "watch_exception", "kwatch_hit", "kwatch_empty", "watch_store"}, 1, nil},
	{"watchpoints", "beside/kernel.cpus=1", []string{"watch_store"}, 0, nil},
	{"watchpoints-power5", "w/kernel.cpus=1", []string{
		"watch_store", "data_storage", "kwatch_hit", "kwatch_empty", "leave", "watch_store", "single_step", "behind_access", "kwatch_set", "watch_store",
	}, 1, nil},
	{"watchpoints-tc2-a15", "w/kernel.cpus=1", []string{
		"watch_store", "vector_data_abort", "kwatch_hit", "kwatch_empty", "step_over", "watch_store", "vector_prefetch_abort", "stepped", "watch_store",
	}, 1, nil},
	{"watchpoints-tc2-a15", "x/kernel.cpus=1", []string{"vector_prefetch_abort", "kwatch_hit", "kwatch_empty", "watch_store", "stepped", "watch_store"}, 1, nil},
}

// inUserSpace are probes of user space.
var inUserSpace = []looked{
	{"user-probes", "k", []string{"user_target", "user_breakpoint_hit", "find_vma", "user_probe_empty", "debug", "user_stepped", "user_target"}, 1, nil},
	{"user-probes", "r", []string{
		"user_target", "user_return_entered", "user_stepped", "user_trampoline", "user_trampoline_hit", "user_return_empty", "end_hits",
	}, 1, nil},
	{"user-probes-pentium-m", "k", []string{"user_target", "user_breakpoint_hit", "user_probe_empty", "user_stepped", "user_target"}, 1, nil},
	{"user-probes-power5", "k", []string{"user_target", "program_check", "user_breakpoint_hit", "user_probe_empty", "single_step", "user_stepped", "user_target"}, 1, nil},
	{"user-probes-tc2-a15", "k", []string{"user_target", "vector_undefined", "user_breakpoint_trapped", "user_probe_empty", "emulate_to_d", "user_target"}, 1, nil},
}

func TestTraceOfWatchpoints(t *testing.T)   { holdLooks(t, watched) }
func TestTraceOfUserProbes(t *testing.T)    { holdLooks(t, inUserSpace) }
func TestProfileOfWatchpoints(t *testing.T) { holdProfiles(t, watched[:2]) }
func TestProfileOfUserProbes(t *testing.T)  { holdProfiles(t, inUserSpace) }

// holdLooks traces one hit of each point.
func holdLooks(t *testing.T, all []looked) {
	t.Helper()
	for _, c := range all {
		trace := shownHit(t, exptest.PointOf(t, c.name, c.point, append(c.sets, "workload.hits=20")...), 2)
		inOrder(t, trace, entered(c.stations))
		n := strings.Count(trace, "_empty+0x0 ")
		require.That(t, n == c.handlers, "%s, %s: %d calls of a handler in the trace, want %d", c.name, c.point, n, c.handlers)
	}
}

// shownHit is the trace of hit n.
func shownHit(t *testing.T, pt *schema.Point, n int64) string {
	t.Helper()
	var b bytes.Buffer
	if err := kinds.Trace(pt, n, &b); err != nil {
		t.Fatalf("%s: %v", pt.Name, err)
	}
	return b.String()
}

// entered are functions as traces name them.
func entered(names []string) (out []string) {
	for _, n := range names {
		out = append(out, " "+n+"+0x")
	}
	return out
}

// holdProfiles wants each function of a hit in the profile of its point, and nothing of the loop around the hits.
func holdProfiles(t *testing.T, all []looked) {
	t.Helper()
	for _, c := range all {
		m := require.Must(kinds.Measure(exptest.PointOf(t, c.name, c.point, append(c.sets, "workload.hits=20")...)))(t)
		names := profiledIn(t, m.Profile)
		for _, fn := range c.stations {
			require.That(t, names[fn], "%s, %s: %s is not in the profile", c.name, c.point, fn)
		}
		require.That(t, !names["page_fault"] && !names["user_targets"], "%s, %s: the profile has more than hits", c.name, c.point)
	}
}

// profiledIn are the functions of a profile.
func profiledIn(t *testing.T, b []byte) map[string]bool {
	t.Helper()
	p := require.Must(profile.ParseData(b))(t)
	names := map[string]bool{}
	for _, f := range p.Function {
		names[f.Name] = true
	}
	return names
}

// TestTraceOfModules shows a hit with the handlers of a module, by their names, and so does the profile.
func TestTraceOfModules(t *testing.T) {
	for _, kernel := range moduleKernels {
		m, plan := measureModule(t, kernel, handlerIn(kernel), "handler")
		pt := require.Must(plan.Point("handler"))(t)
		trace, names := shownHit(t, pt, 2), profiledIn(t, m.Profile)
		inOrder(t, trace, entered([]string{"bench_target", "my_probe:probe_pre", "my_probe:probe_post", "bench_target"}))
		require.That(t, names["my_probe:probe_pre"] && names["my_probe:probe_post"], "%s: the profile lacks a function of the module: %v", kernel, names)
	}
}

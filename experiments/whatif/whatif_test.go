package whatif

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"kprobesim/distro/probing"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// TestParse reads what tracers write, and says what is wrong with the rest.
func TestParse(t *testing.T) {
	p, err := Parse("tracepoint:sched/sched_switch")
	require.That(t, err == nil && p == (Probe{"tracepoint", "sched/sched_switch"}) && !p.InKernel(), "%+v, %v", p, err)
	for text, want := range map[string]string{
		"tracepoint:sched/sched_switch": "__traceiter_sched_switch", "raw-tracepoint:sched_switch": "__traceiter_sched_switch",
		"tracepoint:syscalls/sys_enter_read": "", "kprobe:f": "",
	} {
		if p, err := Parse(text); err != nil || p.Function() != want {
			t.Errorf("%s: %q, %v; want %q", text, p.Function(), err, want)
		}
	}
	for _, bad := range []string{"", "kprobe", "kprobe:", "dtrace:x", ":x"} {
		require.Error(t, require.Err(Parse(bad)), "KIND:TARGET", "%q", bad)
	}
}

// TestWays holds the ways of each kind of place, the own one first.
func TestWays(t *testing.T) {
	ftrace := &probing.Verdict{Probe: true, Kind: kprobes.Ftrace.String()}
	jump := &probing.Verdict{Probe: true, Kind: kprobes.Stepped.String(), Optimized: true}
	steps := &probing.Verdict{Probe: true, Kind: kprobes.Stepped.String()}
	emulated := &probing.Verdict{Probe: true, Kind: kprobes.Emulated.String()}
	boosted, leaps := &probing.Verdict{Probe: true, Kind: kprobes.Boosted.String()}, &probing.Verdict{Probe: true, Kind: kprobes.Boosted.String(), Optimized: true}
	for v, want := range map[*probing.Verdict]string{nil: "[]", steps: "[]", leaps: "[]", boosted: "[points.kprobe-step-count.mode=boosted]"} {
		require.Equal(t, fmt.Sprint(Settings(v, "count")), want, "settings")
	}
	require.Equal(t, fmt.Sprint(Settings(boosted, "empty"), require.Must(Ways(require.Must(Parse("kprobe:f+5"))(t), boosted, Kernel{Typed: true}, "empty"))(t)[0].Name),
		"[points.kprobe-step.mode=boosted]kprobe, a breakpoint, boosted", "a way that boosts")
	for _, x := range []struct {
		probe   string
		v       *probing.Verdict
		typed   bool
		newer   bool
		program string
		want    string // points of each way; "" for an error
	}{
		{"kprobe:f", ftrace, true, false, "count", "kprobe-count fentry-count"},
		{"kprobe:f", ftrace, false, false, "empty", "kprobe"},
		{"kprobe:f+5", jump, true, false, "ringbuf", "kprobe-opt-ringbuf"},
		{"kprobe:f+5", steps, true, false, "empty", "kprobe-step"},
		{"kprobe:f+5", boosted, true, false, "empty", "kprobe-step"},
		{"kprobe:f+5", leaps, true, false, "empty", "kprobe-opt"},
		{"kprobe:f+5", emulated, true, false, "empty", "kprobe-emulated"},
		{"kretprobe:f", ftrace, true, false, "empty", "kretprobe fexit"},
		{"kretprobe:f", steps, true, false, "empty", "kretprobe+kprobe-step-kprobe"},
		{"fentry:f", ftrace, true, false, "count", "fentry-count"},
		{"fentry:f", ftrace, false, false, "count", ""},
		{"fexit:f", steps, true, false, "count", ""},
		{"tracepoint:a/b", nil, false, false, "empty", "tp raw-tp"},
		{"tracepoint:syscalls/sys_enter_read", nil, false, false, "empty", "tp-syscall raw-syscall"},
		{"raw-tracepoint:a/b", nil, false, false, "count", "raw-tp-count"},
		{"btf-tracepoint:a/b", nil, false, false, "empty", "tp-btf"},
		{"uprobe:f", nil, false, false, "empty", "uprobe"},
		{"usdt:f", nil, false, false, "count", "usdt-count"},
		{"kprobe:f", ftrace, true, true, "count", "kprobe-count kprobe-multi-count fentry-count"},
		{"kretprobe:f", ftrace, false, true, "empty", "kretprobe kretprobe-multi"},
		{"kprobe:f+5", jump, true, true, "empty", "kprobe-opt"},
		{"kprobe-multi:f", ftrace, false, true, "ringbuf", "kprobe-multi-ringbuf"},
		{"kprobe-session:f", ftrace, false, true, "empty", "kprobe-session"},
		{"kretprobe-multi:f", steps, true, true, "empty", ""},
		{"uretprobe:f", nil, false, true, "empty", "uretprobe uretprobe-opt"},
		{"uprobe-multi:f", nil, false, true, "empty", "uprobe-multi"},
		{"uprobe-session:f", nil, false, true, "count", "uprobe-session-count"},
		{"usdt:f", nil, false, true, "count", "usdt-count usdt-opt-count"},
	} {
		p := require.Must(Parse(x.probe))(t)
		ways, err := Ways(p, x.v, Kernel{Typed: x.typed, Multi: x.newer, Called: x.newer, Entered: kprobes.Ftrace}, x.program)
		var got []string
		for _, w := range ways {
			text := strings.Join(w.Plus, "+")
			for _, l := range w.Less {
				text += "-" + l
			}
			got = append(got, text)
		}
		require.That(t, strings.Join(got, " ") == x.want && (err == nil) == (x.want != ""), "%s: %q, %v; want %q", x.probe, got, err, x.want)
	}
	for v, want := range map[*probing.Verdict]Way{ // where no probe rests on ftrace
		emulated: {Plus: []string{"kretprobe"}}, jump: {Plus: []string{"kretprobe", "kprobe-opt"}, Less: []string{"kprobe-emulated"}},
	} {
		ways := require.Must(Ways(require.Must(Parse("kretprobe:f"))(t), v, Kernel{Entered: kprobes.Emulated}, "empty"))(t)
		require.That(t, slices.Equal(ways[0].Plus, want.Plus) && slices.Equal(ways[0].Less, want.Less), "%+v: %+v", v, ways)
	}
}

// costs are made-up cycles of points.
func costs(p string) (float64, error) {
	known := map[string]float64{"kprobe": 500, "fentry": 200, "kprobe-step": 2000, "kretprobe": 800}
	n, ok := known[p]
	if !ok {
		return 0, fmt.Errorf("no point %s", p)
	}
	return n, nil
}

// TestAsk holds shares of CPUs, what is saved, and both forms of the answer.
func TestAsk(t *testing.T) {
	ways := []Way{{Name: "kprobe", Plus: []string{"kprobe"}}, {Name: "fentry", Plus: []string{"fentry"}}}
	q := &Question{Probe: Probe{"kprobe", "f"}, Program: "empty", Rate: 1e6, CPUs: 4, Limit: 5, Hz: 2e9, Machine: "m", Kernel: "6.1", Place: "f+0x0", Why: "so"}
	a, err := Ask(q, ways, costs)
	require.NoError(t, err)
	own, other := a.Ways[0], a.Ways[1]
	require.That(t, own.Cycles == 500 && own.Nanoseconds == 250 && own.Percent == 25 && own.Each == 6.25 && !(math.Abs(other.Saves-60) > 1e-9) && a.Over, "%+v", a)
	for _, want := range []string{"kprobe:f, program empty, Linux 6.1 on m at 2.00 GHz", "f+0x0: so", "60 % cheaper at the same place", "limit: 6.250 % of each CPU is above 5.000 %", "rate: 1000000 events", "hits of several CPUs are taken not to wait for each other", "a loop of system calls on one CPU", "ns a hit   % of one CPU % of each of 4 CPUs\n"} {
		require.That(t, strings.Contains(a.Text(), want), "%q lacks %q", a.Text(), want)
	}
	var back Answer
	if b, err := json.Marshal(a); err != nil || json.Unmarshal(b, &back) != nil || !slices.Equal(back.Measured, a.Measured) || back.Ways[0].Each != 6.25 {
		t.Errorf("%s, %v", b, err)
	}
	require.That(t, !strings.Contains(a.Text(), "more than the CPUs"), "a quarter of a CPU is too much: %s", a.Text())
	needy := Way{Name: "other", Plus: []string{"fentry"}, Needs: "something else"}
	a, err = Ask(q, append(ways, needy), costs)
	require.That(t, err == nil && slices.Contains(a.Interpolated, "other: something else"), "%+v, %v", a, err)
	q.Limit = 6.25
	if a, err = Ask(q, ways, costs); err != nil || a.Over || !strings.Contains(a.Text(), "within") {
		t.Errorf("%+v, %v", a, err)
	}
	q.Rate = 1e8
	if a, err = Ask(q, ways, costs); err != nil || !strings.Contains(a.Text(), "more than the CPUs can execute") {
		t.Errorf("%+v, %v", a, err)
	}
	q.Rate, q.Limit = 0, 0
	if a, err = Ask(q, ways[1:], costs); err != nil || strings.Contains(a.Text(), "%") {
		t.Errorf("%s, %v", a.Text(), err)
	}
	if _, err = Ask(q, []Way{{Plus: []string{"none"}}}, costs); err == nil {
		t.Error("a point that was not measured has a cost")
	}
}

// TestAskCombines adds and takes away points.
func TestAskCombines(t *testing.T) {
	w := Way{Name: "r", Plus: []string{"kretprobe", "kprobe-step"}, Less: []string{"kprobe"}}
	a, err := Ask(&Question{CPUs: 1, Hz: 1e9}, []Way{w, {Name: "dear", Plus: []string{"kprobe-step", "kretprobe"}}}, costs)
	require.That(t, err == nil && a.Ways[0].Cycles == 2300 && strings.Contains(a.Text(), "kretprobe and kprobe-step less kprobe") && strings.Contains(a.Text(), "22 % dearer"), "%+v, %v", a, err)
	got := Points([]Way{w, w})
	require.That(t, slices.Equal(got, []string{"kretprobe", "kprobe-step", "kprobe"}), "%q", got)
}

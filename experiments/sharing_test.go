package experiments

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

const sharing = "sharing-xeon-e5410-x86_64"

// on32 are the settings that put an experiment on the E5410 under a 32-bit kernel.
func on32() []string {
	return []string{"machine=xeon-e5410-i386", "kernel.isa=i386", "kernel.image=i386-2010"}
}

// The trace of a jprobe's hit shows its three exceptions, and where each leads, on every instruction set
// and in every era; with a return probe there is a fourth where that traps.
func TestTraceOfAJprobe(t *testing.T) {
	entry := []string{"#BP", "setjmp_pre_handler+0x0 ", "jprobe_empty+0x0 "}
	rest := []string{"jprobe_return+0x0 ", "#BP", "longjmp_break_handler+0x0 ", "#DB", "resume_execution+0x0 ", "bench_target+0x"}
	for _, c := range []struct {
		name        string
		sets        []string
		point       string
		breakpoints int
	}{
		{sharing, nil, "j", 2},
		{sharing, on32(), "j", 2},
		{"overhead-opteron-246", nil, "j", 2},
		{"overhead-pentium-m", nil, "j", 2},
		{sharing, nil, "jr", 2},
		{sharing, on32(), "jr", 2},
		{"overhead-opteron-246", nil, "jr", 3},
		{"overhead-pentium-m", nil, "jr", 3},
	} {
		t.Run(strings.Join(append(c.sets, c.name, c.point), " "), func(t *testing.T) {
			text := traceOf(t, c.name, c.sets, c.point)
			for name, want := range map[string]int{"#BP": c.breakpoints, "#DB": 1} {
				if n := strings.Count(text, name); n != want {
					t.Errorf("%d %s, want %d", n, name, want)
				}
			}
			inOrder(t, text, append(entry, rest...))
			if c.point == "jr" {
				inOrder(t, text, append(append(entry, rest...), "kretprobe_trampoline", "ret_empty"))
			}
		})
	}
}

// traceOf traces a warm hit of a point.
func traceOf(t *testing.T, name string, sets []string, point string) string {
	t.Helper()
	pt := pointOf(t, name, point, sets...)
	var out bytes.Buffer
	if err := Trace(pt, 3, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// inOrder looks for stations in a trace, each behind the one before it.
func inOrder(t *testing.T, text string, stations []string) {
	t.Helper()
	for _, want := range stations {
		_, behind, found := strings.Cut(text, want)
		if !found {
			t.Fatalf("the trace has no %s behind the others\n%s", want, text)
		}
		text = behind
	}
}

func TestProbesOfOnePoint(t *testing.T) {
	p, err := NewLoader().Plan(sharing, []string{"points.kr.with.0.maxactive=3"})
	if err != nil {
		t.Fatal(err)
	}
	kr, err := p.Point("kr")
	if err != nil {
		t.Fatal(err)
	}
	want := []Registration{{Kprobe, "handler_empty", 0}, {Kretprobe, "ret_empty", 3}}
	if got := kr.Probe.Registrations(); !slices.Equal(got, want) {
		t.Errorf("probes %+v, want %+v", got, want)
	}
}

func TestBadProbesOfOnePoint(t *testing.T) {
	for set, want := range map[string]string{
		"points.kr.with.0.kind=uprobe":       "points.kr.with.0.kind",
		"points.kr.with.0.handler=ret_emtpy": `points.kr.with.0.handler: image x86_64-2010 has no function "ret_emtpy"; did you mean "ret_empty"?`,
		"points.kr.with.0.colour=red":        `unknown key "points.kr.with.0.colour"`,
		"points.kk.with.0.maxactive=1":       "only a kretprobe has instances",
		"workload.offset=4":                  "points.j: a jprobe sits at offset 0, not 4",
	} {
		if _, err := NewLoader().Plan(sharing, []string{set}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", set, err, want)
		}
	}
}

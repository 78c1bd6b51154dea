package experiments

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

const sharing = "sharing-xeon-e5410-x86_64"

// The trace of a jprobe's hit shows its three exceptions, and where each leads.
func TestTraceOfAJprobe(t *testing.T) {
	p, err := NewLoader().Plan(sharing, nil)
	if err != nil {
		t.Fatal(err)
	}
	j, err := p.Point("j")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Trace(j, 3, &out); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"#BP": 2, "#DB": 1} {
		if n := strings.Count(out.String(), name); n != want {
			t.Errorf("%d %s, want %d\n%s", n, name, want, out.String())
		}
	}
	at := 0
	for _, want := range []string{
		"bench_target+0x0 ", "setjmp_pre_handler+0x0 ", "jprobe_empty+0x0 ", "jprobe_return+0x0 ",
		"longjmp_break_handler+0x0 ", "resume_execution+0x0 ", "bench_target+0x",
	} {
		i := strings.Index(out.String()[at:], want)
		if i < 0 {
			t.Fatalf("the trace has no %s behind the others\n%s", want, out.String())
		}
		at += i
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

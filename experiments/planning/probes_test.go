package planning_test

import (
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/kprobes"
)

func TestOffsetInsideInstruction(t *testing.T) {
	_, err := planning.NewLoader().Plan(exptest.E5410, []string{"workload.offset=3", "points.k.kind=kprobe"})
	if err == nil || !strings.Contains(err.Error(), "is inside the instruction at +0x0") {
		t.Errorf("got %v", err)
	}
}

func TestProbesOfOnePoint(t *testing.T) {
	p, err := planning.NewLoader().Plan(exptest.Sharing, []string{"points.kr.with.0.maxactive=3"})
	if err != nil {
		t.Fatal(err)
	}
	kr, err := p.Point("kr")
	if err != nil {
		t.Fatal(err)
	}
	want := []schema.Registration{
		{Kind: kprobes.Kprobe, Handler: "handler_empty"},
		{Kind: kprobes.Kretprobe, Handler: "ret_empty", MaxActive: 3},
	}
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
		if _, err := planning.NewLoader().Plan(exptest.Sharing, []string{set}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", set, err, want)
		}
	}
}

// TestTargetInUserMode: kprobes are in code of the kernel, which an experiment is told before it runs.
func TestTargetInUserMode(t *testing.T) {
	_, err := planning.NewLoader().Plan(exptest.E5410, []string{"workload.target=user_main"})
	want := "--set workload.target=user_main: workload.target: user_main runs in user mode: name a function of the kernel"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

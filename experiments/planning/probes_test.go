package planning_test

import (
	"fmt"
	"slices"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

func TestOffsetInsideInstruction(t *testing.T) {
	_, err := planning.NewLoader().Plan(exptest.E5410, []string{"workload.offset=3", "points.k.kind=kprobe"})
	require.Error(t, err, "is inside the instruction at +0x0", "the call")
}

func TestProbesOfOnePoint(t *testing.T) {
	kr := exptest.PointOf(t, exptest.Sharing, "kr", "points.kr.with.0.maxactive=3")
	want := []schema.Registration{
		{Kind: kprobes.Kprobe, Handler: "handler_empty"},
		{Kind: kprobes.Kretprobe, Handler: "ret_empty", MaxActive: 3},
	}
	got := kr.Probe.Registrations()
	require.That(t, slices.Equal(got, want), "probes %+v, want %+v", got, want)
}

// TestHandlersOfAPoint reads every key of a registration, by short names and by symbols.
func TestHandlersOfAPoint(t *testing.T) {
	p, err := planning.NewLoader().Plan(exptest.Sharing, []string{
		"points.k.handler=count", "points.k.post_handler=empty", "points.k.fault_handler=fault_count",
		`points.k.flags=["disabled"]`, "points.r.entry_handler=argument", `points.r.data_size="8 B"`,
	})
	require.NoError(t, err)
	for point, want := range map[string]schema.Registration{
		"k": {Kind: kprobes.Kprobe, Handler: "handler_count", Post: "post_empty", Fault: "fault_count", Disabled: true},
		"r": {Kind: kprobes.Kretprobe, Handler: "ret_empty", Entry: "entry_argument", DataSize: 8},
	} {
		pt, err := p.Point(point)
		require.That(t, err == nil && pt.Probe.Registration == want, "%s: %+v, %v, want %+v", point, pt.Probe.Registration, err, want)
	}
}

// TestBadHandlers: what a kind of probe or the kernel's year does not have is said with its key.
func TestBadHandlers(t *testing.T) {
	const i386, opteron = "overhead-xeon-e5410-i386", "overhead-opteron-246"
	for _, tt := range []struct{ experiment, set, want string }{
		{i386, "points.r.post_handler=empty", "points.r.post_handler: only a kprobe has a post handler"},
		{i386, "points.r.fault_handler=count", "points.r.fault_handler: only a kprobe has a fault handler"},
		{i386, "points.k.entry_handler=entry_empty", "points.k.entry_handler: only a kretprobe has an entry handler"},
		{i386, `points.k.data_size="8 B"`, "points.k.data_size: only a kretprobe has private data"},
		{i386, "points.k.pre_handler=count", "points.k.pre_handler: handler is another name of it: write one of them"},
		{i386, "points.r.pre_handler=count", "only a kprobe has a pre-handler of its own"},
		{i386, `points.k.handler=""`, `points.k.handler`},
		{i386, "points.k.post_handler=post_emtpy", `points.k.post_handler: image i386-2010 has no function "post_emtpy"; did you mean "post_empty"?`},
		{i386, "points.r.entry_handler=argument", "points.r.data_size: entry_argument keeps a word of 4 bytes in the private data, which has 0"},
		{i386, `points.k.flags=["gone"]`, `points.k.flags: element 0: unknown value "gone": known are disabled`},
		{opteron, "points.r.entry_handler=empty", "points.r: return probes of 2005 have no entry handler and no data"},
		{opteron, `points.r.data_size="8 B"`, "points.r: return probes of 2005 have no entry handler and no data"},
		{opteron, `points.k.flags=["disabled"]`, "points.k: probes of 2005 cannot be registered disabled"},
	} {
		require.Error(t, require.Err(planning.NewLoader().Plan(tt.experiment, []string{tt.set})), tt.want, "%s", tt.set)
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
		require.Error(t, require.Err(planning.NewLoader().Plan(exptest.Sharing, []string{set})), want, "%s", set)
	}
}

// TestTargetInUserMode: kprobes are in code of the kernel, which an experiment is told before it runs.
func TestTargetInUserMode(t *testing.T) {
	_, err := planning.NewLoader().Plan(exptest.E5410, []string{"workload.target=user_main"})
	want := "--set workload.target=user_main: workload.target: user_main runs in user mode: name a function of the kernel"
	require.That(t, err != nil && err.Error() == want, "error %v, want %q", err, want)
}

// TestOffsetOfPoint: a point may sit elsewhere in the target than the workload says. Its offset is held against the target as
// that of the workload is, and no kind that chooses places takes one.
func TestOffsetOfPoint(t *testing.T) {
	p := require.Must(planning.NewLoader().Plan(schema.KindEventRate, []string{"workload.rate=1000"}))(t)
	var offsets []uint64
	for _, pt := range p.Points {
		offsets = append(offsets, pt.Workload.Offset)
	}
	want := []uint64{5, 0, 0, 5, 5}
	require.That(t, slices.Equal(offsets, want), "offsets are %v, not %v", offsets, want)
	for _, c := range []struct{ experiment, set, want string }{
		{schema.KindEventRate, "points.o.offset=2", "points.o.offset: bench_target+0x2 is inside the instruction at +0x0"},
		{schema.KindEventRate, "points.rf.offset=5", "points.rf: a kretprobe sits at offset 0, not 5"},
		{schema.KindUnregister, "points.k.offset=5", "kind unregister-batch chooses the places of its probes itself"},
	} {
		require.Error(t, require.Err(planning.NewLoader().Plan(c.experiment, []string{c.set})), c.want, "%s", c.set)
	}
}

// TestLineOfATarget has a line of the sources stand for the offset of its first instruction, which each check knows.
func TestLineOfATarget(t *testing.T) {
	pt := require.Must(planning.NewLoader().Plan(schema.KindCrowding, nil))(t).Points[0]
	f, _ := pt.Image.Func("work_checksum")
	file, line, _ := pt.Image.Line(f.Entry + f.Size/2)
	at, _ := pt.Image.LineIn(file, line, f.Entry, f.Entry+f.Size)
	sets := []string{"workload.target=work_checksum", fmt.Sprintf("workload.line=%s:%d", file, line)}
	require.Error(t, require.Err(planning.NewLoader().Plan(exptest.E5410, sets)), fmt.Sprintf("a kretprobe sits at offset 0, not %d", at-f.Entry), "a return probe at a line")
	for _, p := range require.Must(planning.NewLoader().Plan(schema.KindCrowding, sets))(t).Points {
		require.That(t, p.Workload.Offset == at-f.Entry && at > f.Entry, "%s is at offset %d, want %d", p.Probe.Name, p.Workload.Offset, at-f.Entry)
	}
}

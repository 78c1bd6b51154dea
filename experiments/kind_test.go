package experiments

import (
	"bytes"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"kprobesim/results"
)

// small makes every experiment with several CPUs quick, and still one that has all its lines.
var small = map[string][]string{
	KindLatency:    {"kernel.hz=1000", "kernel.cpus=4"},
	KindBystander:  {"kernel.cpus=4", "workload.batch=3"},
	KindScaling:    {"kernel.cpus=3", "workload.hits=5", "workload.warmup=2"},
	KindIRQOff:     {"workload.hits=200", "workload.interrupts=10"},
	KindUnregister: {"workload.batch=3", "workload.singly=2"},
	KindMissed:     {"kernel.cpus=2", "points.r.maxactive=4", "workload.hits=1", "workload.args=[9000, 1]"},
}

// The experiments with several CPUs have the names of their kinds.
func smallPlan(t *testing.T, name string) *Plan {
	t.Helper()
	p, err := NewLoader().Plan(name, small[name])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestKindsAreTheSameEverywhere runs every kind of experiment with one worker on one processor, and with
// several on two.
func TestKindsAreTheSameEverywhere(t *testing.T) {
	if len(small) != len(kinds())-1 {
		t.Errorf("%d kinds are tried, of %d", len(small), len(kinds())-1)
	}
	for _, name := range slices.Sorted(maps.Keys(small)) {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != KindScaling {
				t.Skip("short tests run one kind with several CPUs")
			}
			var want map[string][]byte
			for _, c := range []struct{ procs, workers int }{{1, 1}, {2, 3}} {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.procs))
				p := smallPlan(t, name)
				r := NewReport(p, (&Runner{Measure: MeasurePoint, Workers: c.workers}).Run(p))
				if err := r.Err(); err != nil {
					t.Fatal(err)
				}
				got, err := r.Files()
				if err != nil {
					t.Fatal(err)
				}
				if name == KindScaling && !strings.Contains(r.Table().Text(), "figure scaling is not drawn: kernel.cpus is not swept") {
					t.Errorf("the table does not say that a figure is missing:\n%s", r.Table().Text())
				}
				if want == nil {
					want = got
				}
				for file := range want {
					if !bytes.Equal(got[file], want[file]) {
						t.Errorf("%s differs with %d workers", file, c.workers)
					}
				}
			}
		})
	}
}

// smallPoint is a point of a small plan, or skips the test.
func smallPoint(t *testing.T, name, point string, sets ...string) *Point {
	t.Helper()
	if testing.Short() {
		t.Skip("short tests run one kind with several CPUs")
	}
	return pointOf(t, name, point, append(slices.Clone(small[name]), sets...)...)
}

// outcome runs a point of a small plan and returns its metrics.
func outcome(t *testing.T, name, point string, sets ...string) map[string]float64 {
	t.Helper()
	pt := smallPoint(t, name, point, sets...)
	m, err := MeasurePoint(pt)
	if err != nil {
		t.Fatal(err)
	}
	records, err := Records(pt, m)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, r := range records {
		out[r.Metric] = r.Value.Float()
		if r.CPUs != int(pt.Kernel.CPUs) {
			t.Errorf("%s: the record says %d CPUs", r, r.CPUs)
		}
	}
	return out
}

// TestLatencyAddsUp holds the parts against the whole, and the grace period of busy CPUs against the
// three jiffies after which they are asked to reschedule, that of CPUs in user mode against their next tick.
func TestLatencyAddsUp(t *testing.T) {
	idle := outcome(t, KindLatency, "o", "workload.load=idle")
	busy := outcome(t, KindLatency, "o", "workload.load=busy")
	user := outcome(t, KindLatency, "o", "workload.load=user")
	for _, m := range []map[string]float64{idle, busy, user} {
		sum := m[metricDelay] + m[metricGrace] + m[metricTurn] + m[metricPatch]
		if d := sum - m[metricOptimized]; d > 0.001 || d < -0.001 {
			t.Errorf("parts of %v us, and the whole is %v us", sum, m[metricOptimized])
		}
		if m[metricDelay] < 4000 || m[metricDelay] > 5000 {
			t.Errorf("the delay is %v us, want nearly 5 jiffies of 1000", m[metricDelay])
		}
	}
	if idle[metricGrace] > 1 || busy[metricGrace] < 2000 || busy[metricGrace] > 3000 {
		t.Errorf("grace periods are %v us idle and %v us busy", idle[metricGrace], busy[metricGrace])
	}
	if g := user[metricGrace]; g < 10*idle[metricGrace] || g > 1000 {
		t.Errorf("the grace period of CPUs in user mode takes %v us, want at most a jiffy", g)
	}
}

// TestBystanders: arming tells nobody; stop_machine costs a batch once, and so do breakpoints that are
// written together, but those that are written one by one cost each probe.
func TestBystanders(t *testing.T) {
	steal := func(patching string, batch string) map[string]float64 {
		return outcome(t, KindBystander, "o", "kernel.patching="+patching, "workload.batch="+batch)
	}
	stop, one, bp := steal("stop_machine", "3"), steal("stop_machine", "1"), steal("breakpoint", "3")
	alone, batch := steal("breakpoint", "1"), steal("breakpoint-batch", "3")
	const opt = "cycles_stolen_optimize"
	if stop["cycles_stolen_arm"] != 0 || bp["cycles_stolen_arm"] != 0 {
		t.Errorf("arming steals %v and %v cycles", stop["cycles_stolen_arm"], bp["cycles_stolen_arm"])
	}
	if stop[opt] > one[opt]/2 || stop[opt] >= bp[opt] || bp[opt+"_stop_machine"] != 0 || stop[opt+"_stop_machine"] == 0 {
		t.Errorf("optimizing steals %v cycles a probe of three and %v alone by stop_machine, %v by a breakpoint",
			stop[opt], one[opt], bp[opt])
	}
	if r := 3 * batch[opt] / alone[opt]; r < 0.8 || r > 1.2 || batch["cycles_stolen_arm"] != 0 || batch[opt+"_stop_machine"] != 0 {
		t.Errorf("optimizing steals %v cycles a probe of three by a batch of breakpoints, want a third of %v", batch[opt], alone[opt])
	}
}

// TestUnregisterTogether: with busy CPUs one call for all waits once.
func TestUnregisterTogether(t *testing.T) {
	busy := outcome(t, KindUnregister, "k", "workload.load=busy")
	if r := busy[metricSingly] / busy[metricTogether]; r < 2.5 || r > 3.5 {
		t.Errorf("%v us each, %v us together: want a third", busy[metricSingly], busy[metricTogether])
	}
}

// TestMissedBySleepers counts calls: 16 tasks are in a function that sleeps, and 4 instances see one each.
func TestMissedBySleepers(t *testing.T) {
	m := outcome(t, KindMissed, "r", "workload.target=sleep_work", "kernel.preempt=none")
	if m[metricCalls] != 16 || m[metricMissed] != 12 || m[metricMissShare] != 75 {
		t.Errorf("missed are %v", m)
	}
	m = outcome(t, KindMissed, "r", "workload.target=sleep_work", "kernel.preempt=none", "kernel.cpus=1")
	if m[metricMissed] != 12 {
		t.Errorf("missed on one CPU are %v", m)
	}
	if m = outcome(t, KindMissed, "r", "workload.target=divide_work", "kernel.preempt=none"); m[metricMissed] != 0 {
		t.Errorf("of calls that run to their ends on two CPUs, %v are missed with four instances", m[metricMissed])
	}
}

// TestProbesDisableInterrupts: a breakpoint does as long as a hit takes, a jump does not.
func TestProbesDisableInterrupts(t *testing.T) {
	k, o := outcome(t, KindIRQOff, "k"), outcome(t, KindIRQOff, "o")
	if k[metricOff] < 0.9 || k[metricOff+plain] != 0 || o[metricOff] != 0 {
		t.Errorf("interrupts are off for %v us with a kprobe, %v optimized, %v without", k[metricOff], o[metricOff], k[metricOff+plain])
	}
	if k[metricLate] > k[metricOff]+0.1 || k[metricLate] < k[metricLateMean] {
		t.Errorf("interrupts are late by %v us at most, %v in the mean, and off for %v", k[metricLate], k[metricLateMean], k[metricOff])
	}
}

// TestScalingCountsLines: with a counter of its own every CPU goes its way, a common one moves at each hit.
func TestScalingCountsLines(t *testing.T) {
	own, shared := outcome(t, KindScaling, "o", "workload.hits=50"), outcome(t, KindScaling, "o-shared", "workload.hits=50")
	if own[metricMoved] > 0.2 || shared[metricMoved] < 0.8 || own[metricRate] < 2*shared[metricRate] {
		t.Errorf("lines move %v and %v times a hit, at %v and %v million hits a second", own[metricMoved],
			shared[metricMoved], own[metricRate], shared[metricRate])
	}
}

// TestKindsRefuse holds what must not be measured.
func TestKindsRefuse(t *testing.T) {
	for _, c := range []struct {
		name string
		sets []string
		want string
	}{
		{KindBystander, []string{"kernel.cpus=1"}, "needs a bystander"},
		{KindLatency, []string{"points.o.mode=step"}, "points.0.mode: kind optimize-latency measures probes of mode optimized, not step"},
		{KindLatency, []string{"workload.target=work_switch"}, "rule indirect-jump"},
		{KindLatency, []string{"kernel.preempt=full"}, "rule preempt"},
		{KindMissed, []string{"points.r.kind=kprobe", "points.r.maxactive=0", "points.r.handler=handler_empty"}, "measures a kretprobe"},
		{KindIRQOff, []string{"workload.period=1 us"}, "later than its period"},
	} {
		p, err := NewLoader().Plan(c.name, append(slices.Clone(small[c.name]), c.sets...))
		if err == nil {
			_, err = MeasurePoint(&p.Points[0])
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %v: error %v, want %q", c.name, c.sets, err, c.want)
		}
	}
}

// TestOverheadAmongOtherCPUs: CPUs that idle change nothing but what is cold, wherever the calls run.
func TestOverheadAmongOtherCPUs(t *testing.T) {
	var cycles [2]results.Value
	for i, cpus := range []string{"1", "3"} {
		p, err := NewLoader().Plan(e5410, []string{"workload.hits=50", "kernel.cpus=" + cpus})
		if err != nil {
			t.Fatal(err)
		}
		pt, err := p.Point("b")
		if err != nil {
			t.Fatal(err)
		}
		m, err := MeasurePoint(pt)
		if err != nil {
			t.Fatal(err)
		}
		records, err := Records(pt, m)
		if err != nil || records[0].Metric != results.MetricCycles {
			t.Fatal(records, err)
		}
		cycles[i] = records[0].Value
	}
	if d := cycles[0].Sub(cycles[1]).Abs().Float(); d > 2 {
		t.Errorf("a hit takes %s cycles alone and %s among three CPUs", cycles[0], cycles[1])
	}
}

// TestTraceWantsALoop: kinds without a loop of calls have no hit to trace.
func TestTraceWantsALoop(t *testing.T) {
	p := smallPlan(t, KindLatency)
	err := Trace(&p.Points[0], 1, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "look at them with timeline") {
		t.Errorf("tracing %s: %v", KindLatency, err)
	}
}

// TestKindsCheckTheirFiles holds the places of mistakes.
func TestKindsCheckTheirFiles(t *testing.T) {
	alone(t)
	for _, c := range []struct{ name, set, want string }{
		{KindScaling, "kind=scalling", `kind: unknown value "scalling": known are overhead, optimize-latency`},
		{KindScaling, "kernel.cpus=0", "kernel.cpus: 0 is outside 1 to 256"},
		{KindScaling, "kernel.cpus=257", "kernel.cpus: 257 is outside 1 to 256"},
		{KindScaling, "kernel.preempt=some", `kernel.preempt: unknown value "some"`},
		{KindScaling, "kernel.patching=none", `kernel.patching: unknown value "none"`},
		{KindScaling, "kernel.quiesce=rcu", `kernel.quiesce: unknown value "rcu"`},
		{KindScaling, "kernel.tick=fast", `kernel.tick: unknown value "fast"`},
		{KindLatency, "workload.load=bussy", `did you mean "busy"?`},
		{KindLatency, "workload.hits=3", `unknown key "workload.hits"`},
		{KindUnregister, "workload.batch=1025", "workload.batch: 1025 is outside 1 to 1024"},
		{KindIRQOff, "workload.period=20", "workload.period"},
		{KindMissed, "figures=[\"overhead\"]", `unknown value "overhead": known are missed, missed-default`},
		{KindMissed, "kernel.image=x86_64-2005", "is isa x86_64, era 2005"},
	} {
		_, err := NewLoader().Plan(c.name, []string{c.set})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s: error %v, want %q", c.name, c.set, err, c.want)
		}
	}
}

// TestPreemptibleImage: an experiment asks for preemption, or says what its image has.
func TestPreemptibleImage(t *testing.T) {
	for _, c := range []struct{ set, image, want string }{
		{"kernel.preempt=none", "x86_64-2010", PreemptNone},
		{"kernel.preempt=full", "x86_64-2010-preempt", PreemptFull},
		{"kernel.image=x86_64-2010-preempt", "x86_64-2010-preempt", PreemptFull},
	} {
		p, err := NewLoader().Plan(KindScaling, []string{c.set})
		if err != nil {
			t.Fatal(err)
		}
		if k := p.Points[0].Kernel; p.Points[0].Image.Name != c.image || k.Preempt != c.want {
			t.Errorf("%s: image %s, preemption %s", c.set, p.Points[0].Image.Name, k.Preempt)
		}
	}
	_, err := NewLoader().Plan(KindScaling, []string{"kernel.image=x86_64-2010-preempt", "kernel.preempt=none"})
	if err == nil || !strings.Contains(err.Error(), "is built with preemption full, not none") {
		t.Errorf("an image with preemption where none is wanted: %v", err)
	}
}

// TestFiguresOfKinds draws every figure of the experiments from their baselines.
func TestFiguresOfKinds(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(small)) {
		s, err := results.LoadBaseline("../results/baselines/" + name + ".csv")
		if err != nil {
			t.Error(err)
			continue
		}
		for _, figure := range kindOf(name).figureNames() {
			files := map[string][]byte{}
			if err := Draw(files, s, []string{figure}); err != nil || len(files) != 3 {
				t.Errorf("%s, %s: %d files, %v", name, figure, len(files), err)
			}
		}
	}
}

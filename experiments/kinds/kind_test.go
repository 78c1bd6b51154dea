package kinds_test

import (
	"io"
	"slices"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// outcome runs a point of a small plan and returns its metrics.
func outcome(t *testing.T, name, point string, sets ...string) map[string]float64 {
	t.Helper()
	return recorded(t, exptest.SmallPoint(t, name, point, sets...))
}

// TestLatencyAddsUp holds the parts against the whole, and the grace period of busy CPUs against the
// three jiffies after which they are asked to reschedule, that of CPUs in user mode against their next tick.
func TestLatencyAddsUp(t *testing.T) {
	idle := outcome(t, schema.KindLatency, "o", "workload.load=idle")
	busy := outcome(t, schema.KindLatency, "o", "workload.load=busy")
	user := outcome(t, schema.KindLatency, "o", "workload.load=user")
	for _, m := range []map[string]float64{idle, busy, user} {
		sum := m[kinds.MetricDelay] + m[kinds.MetricGrace] + m[kinds.MetricTurn] + m[kinds.MetricPatch]
		if d := sum - m[kinds.MetricOptimized]; d > 0.001 || d < -0.001 {
			t.Errorf("parts of %v us, and the whole is %v us", sum, m[kinds.MetricOptimized])
		}
		require.That(t, !(m[kinds.MetricDelay] < 4000) && !(m[kinds.MetricDelay] > 5000), "the delay is %v us, want nearly 5 jiffies of 1000", m[kinds.MetricDelay])
	}
	if idle[kinds.MetricGrace] > 1 || busy[kinds.MetricGrace] < 2000 || busy[kinds.MetricGrace] > 3000 {
		t.Errorf("grace periods are %v us idle and %v us busy", idle[kinds.MetricGrace], busy[kinds.MetricGrace])
	}
	if g := user[kinds.MetricGrace]; g < 10*idle[kinds.MetricGrace] || g > 1000 {
		t.Errorf("the grace period of CPUs in user mode takes %v us, want at most a jiffy", g)
	}
}

// TestBystanders: arming tells nobody; stop_machine costs a batch once, and so do breakpoints that are
// written together, but those that are written one by one cost each probe.
func TestBystanders(t *testing.T) {
	steal := func(patching string, batch string) map[string]float64 {
		return outcome(t, schema.KindBystander, "o", "kernel.patching="+patching, "workload.batch="+batch)
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
	busy := outcome(t, schema.KindUnregister, "k", "workload.load=busy")
	if r := busy[kinds.MetricSingly] / busy[kinds.MetricTogether]; !(r >= 2.5 && r <= 3.5) { // nothing over nothing is no number
		t.Errorf("%v us each, %v us together: want a third", busy[kinds.MetricSingly], busy[kinds.MetricTogether])
	}
}

// TestMissedBySleepers counts calls: 16 tasks are in a function that sleeps, and 4 instances see one each.
func TestMissedBySleepers(t *testing.T) {
	m := outcome(t, schema.KindMissed, "r", "workload.target=sleep_work", "kernel.preempt=none")
	require.That(t, m[results.MetricCalls] == 16 && m[kinds.MetricMissed] == 12 && m[kinds.MetricMissShare] == 75, "missed are %v", m)
	m = outcome(t, schema.KindMissed, "r", "workload.target=sleep_work", "kernel.preempt=none", "kernel.cpus=1")
	require.That(t, m[kinds.MetricMissed] == 12, "missed on one CPU are %v", m)
	if m = outcome(t, schema.KindMissed, "r", "workload.target=divide_work", "kernel.preempt=none"); m[kinds.MetricMissed] != 0 {
		t.Errorf("of calls that run to their ends on two CPUs, %v are missed with four instances", m[kinds.MetricMissed])
	}
}

// TestProbesDisableInterrupts: a breakpoint does as long as a hit takes, a jump does not.
func TestProbesDisableInterrupts(t *testing.T) {
	k, o := outcome(t, schema.KindIRQOff, "k"), outcome(t, schema.KindIRQOff, "o")
	if k[kinds.MetricOff] < 0.9 || k[kinds.MetricOff+kinds.Plain] != 0 || o[kinds.MetricOff] != 0 {
		t.Errorf("interrupts are off for %v us with a kprobe, %v optimized, %v without", k[kinds.MetricOff], o[kinds.MetricOff], k[kinds.MetricOff+kinds.Plain])
	}
	if k[kinds.MetricLate] > k[kinds.MetricOff]+0.1 || k[kinds.MetricLate] < k[kinds.MetricLateMean] {
		t.Errorf("interrupts are late by %v us at most, %v in the mean, and off for %v", k[kinds.MetricLate], k[kinds.MetricLateMean], k[kinds.MetricOff])
	}
}

// TestScalingCountsLines: with a counter of its own every CPU goes its way, a common one moves at each hit.
func TestScalingCountsLines(t *testing.T) {
	own, shared := outcome(t, schema.KindScaling, "o", "workload.hits=50"), outcome(t, schema.KindScaling, "o-shared", "workload.hits=50")
	if own[kinds.MetricMoved] > 0.2 || shared[kinds.MetricMoved] < 0.8 || own[kinds.MetricRate] < 2*shared[kinds.MetricRate] {
		t.Errorf("lines move %v and %v times a hit, at %v and %v million hits a second", own[kinds.MetricMoved],
			shared[kinds.MetricMoved], own[kinds.MetricRate], shared[kinds.MetricRate])
	}
}

// TestKindsRefuse holds what must not be measured.
func TestKindsRefuse(t *testing.T) {
	for _, c := range []struct {
		name string
		sets []string
		want string
	}{
		{schema.KindBystander, []string{"kernel.cpus=1"}, "needs a bystander"},
		{schema.KindLatency, []string{"points.o.mode=step"}, "points.0.mode: kind optimize-latency measures probes of mode optimized, not step"},
		{schema.KindLatency, []string{"workload.target=work_switch"}, "rule indirect-jump"},
		{schema.KindLatency, []string{"kernel.preempt=full"}, "rule preempt"},
		{schema.KindBystander, []string{"kernel.preempt=full"}, "rule preempt"},
		{schema.KindMissed, []string{"points.r.kind=kprobe", "points.r.maxactive=0", "points.r.handler=handler_empty"}, "measures a kretprobe"},
		{schema.KindIRQOff, []string{"workload.period=1 us", "points.k.kind=jprobe", "points.k.handler=jprobe_empty"}, "later than its period"},
	} {
		p, err := planning.NewLoader().Plan(c.name, append(slices.Clone(exptest.Small[c.name]), c.sets...))
		if err == nil {
			_, err = kinds.Measure(&p.Points[0])
		}
		require.Error(t, err, c.want, "%s with %v", c.name, c.sets)
	}
}

// TestOverheadAmongOtherCPUs: CPUs that idle change nothing but what is cold, wherever the calls run.
func TestOverheadAmongOtherCPUs(t *testing.T) {
	var cycles [2]results.Value
	for i, cpus := range []string{"1", "3"} {
		pt := exptest.PointOf(t, exptest.E5410, "b", "workload.hits=50", "kernel.cpus="+cpus)
		m := require.Must(kinds.Measure(pt))(t)
		records, err := reports.Records(pt, m)
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
	p := exptest.SmallPlan(t, schema.KindLatency)
	require.Error(t, kinds.Trace(&p.Points[0], 1, io.Discard), "look at them with timeline", "tracing %s", schema.KindLatency)
}

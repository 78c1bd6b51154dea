package kinds_test

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// recorded measures a point and returns its metrics.
func recorded(t *testing.T, pt *schema.Point) map[string]float64 {
	t.Helper()
	m := require.Must(kinds.Measure(pt))(t)
	records := require.Must(reports.Records(pt, m))(t)
	out := map[string]float64{}
	for _, r := range records {
		out[r.Metric] = r.Value.Float()
		require.That(t, r.CPUs == int(pt.Kernel.CPUs), "%s: the record says %d CPUs", r, r.CPUs)
	}
	return out
}

// recursive plans a point of an experiment that probes a function which calls itself.
func recursive(t *testing.T, experiment, point string, depth int, sets ...string) *schema.Point {
	t.Helper()
	return exptest.PointOf(t, experiment, point, append(sets, "workload.target=work_recursive", fmt.Sprintf("workload.args=[%d, 1]", depth))...)
}

// TestRecursionIsPerHit: a hit takes about the same however many a call has, and all of them are counted, with as many calls
// as make code hot, too.
func TestRecursionIsPerHit(t *testing.T) {
	exptest.Alone(t)
	for _, c := range []struct{ experiment, point, hits string }{
		{"overhead-xeon-e5410-x86_64", "k", "1000"},
		{"overhead-xeon-e5410-x86_64", "b", "20"},
		{"overhead-xeon-e5410-x86_64", "o", "20"},
		{"isas-i386-2006", "b", "20"},
		{"isas-x86_64-2020-entry", "f", "20"},
		{"overhead-power5", "k", "20"},
		{"isas-arm-2014", "o", "20"},
	} {
		calls := "workload.hits=" + c.hits
		once := recorded(t, recursive(t, c.experiment, c.point, 0, calls))
		deep := recorded(t, recursive(t, c.experiment, c.point, 12, calls))
		if once[results.MetricCalls] != 0 || deep[results.MetricHits] != 13*deep[results.MetricCalls] || deep[results.MetricHitsMissed] != 0 {
			t.Errorf("%s %s: %v hits of %v calls, %v missed", c.experiment, c.point, deep[results.MetricHits],
				deep[results.MetricCalls], deep[results.MetricHitsMissed])
		}
		for _, metric := range []string{results.MetricCycles, results.MetricMicros, results.MetricInstructions} {
			if r := deep[metric] / once[metric]; math.Abs(r-1) > 0.1 {
				t.Errorf("%s %s: %s is %v at 13 hits a call, and %v at one", c.experiment, c.point, metric, deep[metric], once[metric])
			}
		}
		require.That(t, !(deep[results.MetricFirst] > once[results.MetricFirst]), "%s %s: the first of 13 hits are %v cycles each, the first of one %v", c.experiment, c.point, deep[results.MetricFirst], once[results.MetricFirst])
		require.That(t, !(deep["cycles_unprobed_call"] <= once["cycles_unprobed_call"]), "%s %s: a call without the probe takes %v and %v cycles", c.experiment, c.point, deep["cycles_unprobed_call"], once["cycles_unprobed_call"])
	}
}

// TestMissedReturns: a return probe whose instances are out misses returns, and its hits are cheaper for that.
func TestMissedReturns(t *testing.T) {
	exptest.Alone(t)
	const experiment = "overhead-xeon-e5410-x86_64"
	few := recorded(t, recursive(t, experiment, "rb", 12, "workload.hits=20"))
	all := recorded(t, recursive(t, experiment, "rb", 12, "workload.hits=20", "points.rb.maxactive=64"))
	require.That(t, few[results.MetricReturns] == 12*20 && few[results.MetricHits] == 13*20 && few[results.MetricHitsMissed] == 0, "with one instance %v", few)
	if n, ok := all[results.MetricReturns]; n != 0 || !ok || all[results.MetricCycles] < 1.2*few[results.MetricCycles] {
		t.Errorf("with 64 instances %v, with one %v", all, few)
	}
}

// TestScalingCountsHits: a recursive function has more hits than calls, and a disabled probe none, on all CPUs.
func TestScalingCountsHits(t *testing.T) {
	exptest.Alone(t)
	const sets = "kernel.cpus=2"
	once := outcome(t, schema.KindScaling, "b", sets)
	deep := outcome(t, schema.KindScaling, "b", sets, "workload.target=work_recursive", "workload.args=[12, 1]")
	if n := deep[results.MetricCalls]; n == 0 || deep[results.MetricHits] != 13*n {
		t.Errorf("%v hits of %v calls", deep[results.MetricHits], n)
	}
	if r := deep[kinds.MetricRate] / once[kinds.MetricRate]; r < 0.8 || r > 1.3 {
		t.Errorf("%v million hits a second at 13 a call, %v at one", deep[kinds.MetricRate], once[kinds.MetricRate])
	}
	const mhz = 2333.3
	if cpus := deep[kinds.MetricRate] * deep["cycles_per_hit_and_cpu"] / mhz; math.Abs(cpus-2) > 0.01 {
		t.Errorf("%v million hits a second of %v cycles each are %v CPUs, want 2", deep[kinds.MetricRate], deep["cycles_per_hit_and_cpu"], cpus)
	}
	off := outcome(t, schema.KindScaling, "b", sets, `points.b.flags=["disabled"]`)
	if _, ok := off["cycles_per_hit_and_cpu"]; ok || off[kinds.MetricRate] != 0 || off[results.MetricCalls] == 0 || off[results.MetricHits] != 0 {
		t.Errorf("disabled: %v", off)
	}
}

// TestModuleCounts: a module's kprobe and its return probe stand at one address. The calls are those that make the hits.
func TestModuleCounts(t *testing.T) {
	exptest.Alone(t)
	for _, kernel := range moduleKernels {
		l := planning.NewLoader()
		pt := require.Must(l.Trial(kernel, ""))(t)
		pt.Workload.Args = [...]uint64{12, 1}
		f := require.Must(l.Module(filepath.Join(objects, kernel, "my_probe.o"), ""))(t)
		tried, err := kinds.Try(pt, kinds.Trial{File: f, Hits: 20, Parameters: "symbol=work_recursive"})
		require.Need(t, err == nil, "%s: %v", kernel, err)
		c := tried.Rows[0].Counts
		require.That(t, c.Calls == 20 && c.Hits == 13*20 && c.Missed == 0 && c.Returns != 0 && c.AllHandled() != nil, "%s: counted are %+v", kernel, c)
	}
}

// TestUserHitsMissed: while one CPU steps in place another finds no breakpoint. What the kernel emulates leaves it there.
func TestUserHitsMissed(t *testing.T) {
	exptest.Alone(t)
	missed := results.MissedMetric(kinds.MetricUserShared)
	stepping := recorded(t, exptest.PointOf(t, "user-probes-sharing", "k", "kernel.cpus=2"))
	require.That(t, stepping[missed] != 0 && stepping[results.MetricHits] == 0, "two CPUs that step: %v", stepping)
	if alone := recorded(t, exptest.PointOf(t, "user-probes-sharing", "k", "kernel.cpus=1")); alone[missed] != 0 || alone[results.MetricHits] != 0 {
		t.Errorf("one CPU: %v", alone)
	}
}

// TestWatchpointCounts: what lies beside a watchpoint does not hit it.
func TestWatchpointCounts(t *testing.T) {
	exptest.Alone(t)
	for point, want := range map[string]kinds.Counts{"w": {Calls: 20, Hits: 20}, "beside": {Calls: 20}} {
		m, err := kinds.Measure(exptest.PointOf(t, "watchpoints", point, "kernel.cpus=1", "workload.hits=20"))
		require.That(t, err == nil && m.Counts == want, "%s: %v, %+v, want %+v", point, err, m.Counts, want)
	}
}

// TestCrowdingIsPerHit: among many probes, too, a call may have several hits.
func TestCrowdingIsPerHit(t *testing.T) {
	exptest.Alone(t)
	once := outcome(t, schema.KindCrowding, "b/crowd.position=last", "workload.target=work_recursive", "workload.args=[0, 1]")
	deep := outcome(t, schema.KindCrowding, "b/crowd.position=last", "workload.target=work_recursive", "workload.args=[12, 1]")
	if r := deep[results.MetricCycles] / once[results.MetricCycles]; math.Abs(r-1) > 0.1 || deep[results.MetricHits] != 13*deep[results.MetricCalls] {
		t.Errorf("13 hits a call: %v; one: %v", deep, once)
	}
}

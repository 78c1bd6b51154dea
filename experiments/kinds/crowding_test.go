package kinds_test

import (
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// crowdOf measures a point of an experiment of the kind, and returns its metrics and notes.
func crowdOf(t *testing.T, point string, sets ...string) (map[string]int64, string) {
	t.Helper()
	sets = append([]string{"crowd.probes=0", "crowd.position=last", "workload.hits=10"}, sets...)
	m, err := kinds.Measure(exptest.PointOf(t, schema.KindCrowding, point, sets...))
	require.Need(t, err == nil, "%s %q: %v", point, sets, err)
	got := map[string]int64{}
	for _, q := range m.Quantities {
		got[q.Metric] = q.Num * 1000 / q.Den
	}
	return got, strings.Join(m.Notes, "\n")
}

// TestCrowdedBucket: a hit passes the probes before its own in the bucket, and an optimized one none.
func TestCrowdedBucket(t *testing.T) {
	exptest.Alone(t)
	alone, _ := crowdOf(t, "b")
	last, _ := crowdOf(t, "b", "crowd.same_bucket=30")
	first, _ := crowdOf(t, "b", "crowd.same_bucket=30", "crowd.position=first")
	disabled, _ := crowdOf(t, "b", "crowd.same_bucket=30", `crowd.flags=["disabled"]`)
	if last["probes_in_bucket"] != 31_000 || alone["probes_in_bucket"] != 1000 {
		t.Errorf("%d and %d probes in the bucket, in thousandths", last["probes_in_bucket"], alone["probes_in_bucket"])
	}
	if a, l := alone[results.MetricInstructions], last[results.MetricInstructions]; l < a+30*3000 || l > a+30*8000 {
		t.Errorf("30 probes before the own one cost %d instructions, in thousandths", l-a)
	}
	require.That(t, first[results.MetricInstructions] == alone[results.MetricInstructions], "the first of its bucket executes %d instructions, alone %d", first[results.MetricInstructions], alone[results.MetricInstructions])
	require.That(t, disabled[results.MetricInstructions] == last[results.MetricInstructions], "a disabled probe leaves the bucket")
	if last[kinds.MetricArm] <= 0 || disabled[kinds.MetricArm] != 0 || last[kinds.MetricRegister] <= last[kinds.MetricArm] {
		t.Errorf("arming takes %d, of disabled probes %d, registering %d", last[kinds.MetricArm], disabled[kinds.MetricArm], last[kinds.MetricRegister])
	}
	o, _ := crowdOf(t, "o")
	crowded, _ := crowdOf(t, "o", "crowd.same_bucket=30")
	require.That(t, o[results.MetricInstructions] == crowded[results.MetricInstructions] && crowded["probes_optimized"] == 30_000, "optimized: %v among others, %v alone", crowded, o)
}

// TestCrowdBeyondTheSlots: more probes than the image has slots and detour buffers for take pages, and work.
func TestCrowdBeyondTheSlots(t *testing.T) {
	exptest.Alone(t)
	for _, point := range []string{"b", "o"} {
		got, notes := crowdOf(t, point, "crowd.probes=5000", "crowd.position=first")
		alone, _ := crowdOf(t, point)
		require.That(t, got[results.MetricInstructions] == alone[results.MetricInstructions] && notes == "", "%s: %v, alone %v; notes %q", point, got, alone, notes)
		if point == "o" && got["probes_optimized"] != 5_000_000 {
			t.Errorf("%d thousandths of the crowd are optimized", got["probes_optimized"])
		}
	}
}

// TestMemoryOfProbes: the parts add up, and every probe has a structure and a slot.
func TestMemoryOfProbes(t *testing.T) {
	exptest.Alone(t)
	for _, sets := range [][]string{nil, exptest.On32()} {
		for _, point := range []string{"b", "o"} {
			got, _ := crowdOf(t, point, append(sets, "crowd.probes=9")...)
			var sum int64
			for name, v := range got {
				if strings.HasPrefix(name, "bytes_per_probe: ") {
					sum += v
				}
			}
			require.That(t, sum != 0 && sum == got["bytes_per_probe"] && got["bytes_per_probe: slot"] == 16_000 && got["bytes_per_probe: struct"] != 0, "%s %q: %v", point, sets, got)
			require.That(t, (got["bytes_per_probe: detour buffer"] > 0 && got["bytes_per_probe: aggregate"] > 0) == (point == "o"), "%s: %v", point, got)
		}
	}
}

// TestCrowdOfEveryEra: every kind that hits a probe can have a crowd beside it, also in kernels that cannot register
// disabled probes.
func TestCrowdOfEveryEra(t *testing.T) {
	exptest.Alone(t)
	for experiment := range exptest.Eras() {
		var cost []int64
		for _, n := range []string{"0", "20"} {
			m, err := kinds.Measure(exptest.PointOf(t, experiment, "k", "crowd.same_bucket="+n, "workload.hits=10"))
			require.Need(t, err == nil, "%s: %v", experiment, err)
			cost = append(cost, m.Probed.Instructions-m.Base.Instructions)
		}
		more := cost[1] - cost[0]
		require.That(t, more >= 10*20*3 && more <= 10*20*8, "%s: 20 probes in the bucket cost %d instructions in 10 hits", experiment, more)
	}
}

// TestBadCrowds says what cannot be: when the file is read where that is known, or when the point runs.
func TestBadCrowds(t *testing.T) {
	for _, tt := range []struct{ experiment, set, want string }{
		{schema.KindCrowding, "crowd.probes=10241", "crowd.probes"},
		{schema.KindCrowding, "crowd.same_bucket=-1", "crowd.same_bucket"},
		{schema.KindCrowding, "crowd.position=middle", `crowd.position: unknown value "middle": known are first, last`},
		{schema.KindCrowding, "crowd.colour=red", `unknown key "crowd.colour"`},
		{schema.KindCrowding, `crowd.flags=["gone"]`, "crowd.flags"},
		{schema.KindUnregister, "crowd.probes=3", "crowd: kind unregister-batch registers many probes by itself: leave the table out"},
		{schema.KindBystander, "crowd.probes=3", "crowd: kind bystander-cost registers many probes by itself: leave the table out"},
	} {
		require.Error(t, require.Err(planning.NewLoader().Plan(tt.experiment, []string{tt.set})), tt.want, "%s %s", tt.experiment, tt.set)
	}
	for _, tt := range []struct {
		sets []string
		want string
	}{
		{[]string{"crowd.same_bucket=2000"}, "places in the bucket of bench_target+0x0"},
		{[]string{"crowd.probes=1", "kernel.preempt=full", "points.k.mode=step"}, "has no text for a crowd of probes"},
	} {
		require.Error(t, require.Err(kinds.Measure(exptest.PointOf(t, exptest.E5410, "k", slices.Concat(tt.sets)...))), tt.want, "%q", tt.sets)
	}
}

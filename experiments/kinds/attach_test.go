package kinds_test

import (
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
)

// TestAttachSteps: three probes are armed by breakpoints with a synchronization of each CPU for each probe, and by ftrace with three. Jumps wait for the optimizer's delay and one grace period, and removing waits for one, too.
func TestAttachSteps(t *testing.T) {
	b, f := outcome(t, schema.KindAttach, "b"), outcome(t, schema.KindAttach, "f")
	o := outcome(t, schema.KindAttach, "o")
	arm, optimize, remove := kinds.StepArm, kinds.StepOptimize, kinds.StepRemove
	if b[kinds.MetricSyncs(arm)] != 3*2 || b[kinds.MetricLosses(arm)] == 0 || f[kinds.MetricSyncs(arm)] != 3*2*3 || f[kinds.MetricLosses(arm)] < 2*b[kinds.MetricLosses(arm)] {
		t.Errorf("arming synchronizes %v times with breakpoints and %v with ftrace, and takes %v and %v us of others", b[kinds.MetricSyncs(arm)],
			f[kinds.MetricSyncs(arm)], b[kinds.MetricLosses(arm)], f[kinds.MetricLosses(arm)])
	}
	if n, us := o[kinds.MetricPeriods(optimize)], o[kinds.MetricStep(optimize)]; n != 1 || us < 7000 || us > 8500 {
		t.Errorf("jumps stand after %v grace periods and %v us: want one, and 5 and 3 jiffies of 1000", n, us)
	}
	for name, m := range map[string]map[string]float64{"b": b, "f": f, "o": o} {
		if m[kinds.MetricPeriods(remove)] != 1 || m[kinds.MetricStep(kinds.StepSingly)] < 2000 {
			t.Errorf("%s: one call waits for %v grace periods, and a call each takes %v us", name, m[kinds.MetricPeriods(remove)],
				m[kinds.MetricStep(kinds.StepSingly)])
		}
	}
}

// TestAttachStops: a kernel of 2010 stops the machine once for all jumps of a batch, and idle CPUs hold no grace period up.
func TestAttachStops(t *testing.T) {
	exptest.Alone(t)
	m := recorded(t, exptest.PointOf(t, "attach-time-2010", "o/workload.load=idle/workload.batch=10"))
	if m[kinds.MetricStops(kinds.StepOptimize)] != 1 || m[kinds.MetricStep(kinds.StepRemove)] > 100 || m[kinds.MetricStep(kinds.StepClean)] < 4000 {
		t.Errorf("%v stops; removing takes %v us, and cleaning up %v", m[kinds.MetricStops(kinds.StepOptimize)],
			m[kinds.MetricStep(kinds.StepRemove)], m[kinds.MetricStep(kinds.StepClean)])
	}
	_, noted := m[kinds.MetricLosses(kinds.StepOptimize)]
	require.That(t, !noted, "idle CPUs have lost %v us", m[kinds.MetricLosses(kinds.StepOptimize)])
}

// TestAttachRefuses: where the image has no places, or no nops of functions, the error says so.
func TestAttachRefuses(t *testing.T) {
	exptest.Alone(t)
	for _, c := range []struct{ experiment, point, set, want string }{
		{"attach-time-returns", "rf", "workload.batch=129", "has 128 places for a kretprobe"},
		{schema.KindAttach, "f", "kernel.image=x86_64-2020-untraced", "no function of image x86_64-2020-untraced begins with a nop"},
		{schema.KindAttach, "b", "kernel.preempt=full", "has no text for a crowd of probes"},
	} {
		pt := exptest.PointOf(t, c.experiment, c.point, append(exptest.Small[schema.KindAttach], c.set)...)
		require.Error(t, require.Err(kinds.Measure(pt)), c.want, "%s %s", c.point, c.set)
	}
}

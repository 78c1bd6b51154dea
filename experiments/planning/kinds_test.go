package planning_test

import (
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/workloads"
)

// TestKindsCheckTheirFiles holds the places of mistakes.
func TestKindsCheckTheirFiles(t *testing.T) {
	exptest.Alone(t)
	for _, c := range []struct{ name, set, want string }{
		{schema.KindScaling, "kind=scalling", `kind: unknown value "scalling": known are overhead, optimize-latency`},
		{schema.KindScaling, "kernel.preempt=some", `kernel.preempt: unknown value "some"`},
		{schema.KindScaling, "kernel.patching=none", `kernel.patching: unknown value "none"`},
		{schema.KindScaling, "kernel.quiesce=rcu", `kernel.quiesce: unknown value "rcu"`},
		{schema.KindScaling, "kernel.tick=fast", `kernel.tick: unknown value "fast"`},
		{schema.KindLatency, "workload.load=bussy", `did you mean "busy"?`},
		{schema.KindLatency, "workload.hits=3", `unknown key "workload.hits"`},
		{schema.KindIRQOff, "workload.period=20", "workload.period"},
		{schema.KindMissed, "figures=[\"overhead\"]", `unknown value "overhead": known are missed, missed-default`},
		{schema.KindMissed, "kernel.image=x86_64-2005", `unknown image "x86_64-2005-preempt"`},
	} {
		require.Error(t, require.Err(planning.NewLoader().Plan(c.name, []string{c.set})), c.want, "%s with %s", c.name, c.set)
	}
}

// TestImageOfAFile takes an image of the program from a file.
func TestImageOfAFile(t *testing.T) {
	file := exptest.Write(t, t.TempDir(), "own.elf", string(require.Must(workloads.Open("x86_64-2010"))(t)))
	own, same := exptest.PointOf(t, exptest.E5410, "k").Image, exptest.PointOf(t, exptest.E5410, "k", "kernel.image="+file).Image
	require.That(t, same != nil && same.Hash == own.Hash && same.Name == file, "the image is %+v", same)
}

// TestPreemptibleImage: an experiment asks for preemption, or says what its image has.
func TestPreemptibleImage(t *testing.T) {
	for _, c := range []struct{ set, image, want string }{
		{"kernel.preempt=none", "x86_64-2010", schema.PreemptNone},
		{"kernel.preempt=full", "x86_64-2010-preempt", schema.PreemptFull},
		{"kernel.image=x86_64-2010-preempt", "x86_64-2010-preempt", schema.PreemptFull},
	} {
		p := require.Must(planning.NewLoader().Plan(schema.KindScaling, []string{c.set}))(t)
		k := p.Points[0].Kernel
		require.That(t, p.Points[0].Image.Name == c.image && k.Preempt == c.want, "%s: image %s, preemption %s", c.set, p.Points[0].Image.Name, k.Preempt)
	}
	_, err := planning.NewLoader().Plan(schema.KindScaling, []string{"kernel.image=x86_64-2010-preempt", "kernel.preempt=none"})
	require.Error(t, err, "is built with preemption full, not none", "an image with preemption where none is wanted")
}

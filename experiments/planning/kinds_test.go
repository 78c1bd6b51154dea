package planning_test

import (
	"fmt"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
)

// TestKindsCheckTheirFiles holds the places of mistakes.
func TestKindsCheckTheirFiles(t *testing.T) {
	exptest.Alone(t)
	for _, c := range []struct{ name, set, want string }{
		{schema.KindScaling, "kind=scalling", `kind: unknown value "scalling": known are overhead, optimize-latency`},
		{schema.KindScaling, "kernel.cpus=0", "kernel.cpus: 0 is outside 1 to 256"},
		{schema.KindScaling, "kernel.cpus=257", "kernel.cpus: 257 is outside 1 to 256"},
		{schema.KindScaling, "kernel.preempt=some", `kernel.preempt: unknown value "some"`},
		{schema.KindScaling, "kernel.patching=none", `kernel.patching: unknown value "none"`},
		{schema.KindScaling, "kernel.quiesce=rcu", `kernel.quiesce: unknown value "rcu"`},
		{schema.KindScaling, "kernel.tick=fast", `kernel.tick: unknown value "fast"`},
		{schema.KindLatency, "workload.load=bussy", `did you mean "busy"?`},
		{schema.KindLatency, "workload.hits=3", `unknown key "workload.hits"`},
		{schema.KindUnregister, "workload.batch=1025", "workload.batch: 1025 is outside 1 to 1024"},
		{schema.KindIRQOff, "workload.period=20", "workload.period"},
		{schema.KindMissed, "figures=[\"overhead\"]", `unknown value "overhead": known are missed, missed-default`},
		{schema.KindMissed, "workload.tasks=0", "workload.tasks: 0 is outside 1 to 1000"},
		{schema.KindMissed, "kernel.image=x86_64-2005", `unknown image "x86_64-2005-preempt"`},
	} {
		require.Error(t, require.Err(planning.NewLoader().Plan(c.name, []string{c.set})), c.want, "%s with %s", c.name, c.set)
	}
}

// TestBoundsOfKinds has each number of a kind take its least and its greatest value, and none beyond them.
func TestBoundsOfKinds(t *testing.T) {
	exptest.Alone(t)
	l := planning.NewLoader()
	for _, c := range []struct {
		name, key   string
		least, most int
	}{
		{schema.KindScaling, "kernel.hz", 1, 10_000},
		{schema.KindLatency, "workload.offset", 0, 1 << 20},
		{schema.KindMissed, "workload.tasks", 1, 1000},
		{schema.KindMissed, "workload.hits", 1, 1_000_000},
		{schema.KindUnregister, "workload.batch", 1, 1024},
		{schema.KindUnregister, "workload.singly", 1, 1024},
		{schema.KindBystander, "workload.batch", 1, 1024},
		{schema.KindIRQOff, "workload.interrupts", 10, 1_000_000},
		{schema.KindIRQOff, "workload.hits", 1, 10_000_000},
		{schema.KindIRQOff, "workload.warmup", 0, 10_000_000},
		{schema.KindEventRate, "workload.rate", 1, 100_000_000},
		{schema.KindUserProbes, "workload.hits", 1, 1_000_000},
	} {
		for v, ok := range map[int]bool{c.least - 1: false, c.least: true, c.most: true, c.most + 1: false} {
			_, err := l.Plan(c.name, []string{fmt.Sprintf("%s=%d", c.key, v)})
			refused := err != nil && strings.Contains(err.Error(), fmt.Sprintf("%s: %d is outside %d to %d", c.key, v, c.least, c.most))
			require.That(t, refused == !ok, "%s with %s=%d: %v", c.name, c.key, v, err)
		}
	}
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

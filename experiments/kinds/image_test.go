package kinds_test

import (
	"bytes"
	"slices"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/workloads"
)

// TestImagesThatLackAName: an image of the user's without a function or variable that a kind needs is an error with its name.
func TestImagesThatLackAName(t *testing.T) {
	exptest.Alone(t)
	for _, c := range []struct{ experiment, name, set string }{
		{exptest.E5410, "bench_target", "workload.hits=20"},
		{schema.KindScaling, "barrier_wait", "kernel.cpus=2"},
		{schema.KindCrowding, "crowd_17", "crowd.probes=200"},
		{schema.KindEventRate, "speed_chase", "kernel.cpus=1"},
	} {
		plan := require.Must(planning.NewLoader().Plan(c.experiment, exptest.Small[c.experiment]))(t)
		whole := require.Must(workloads.Open(plan.Points[0].Image.Name))(t)
		lacking := bytes.ReplaceAll(whole, []byte(c.name+"\x00"), []byte("-"+c.name[1:]+"\x00"))
		require.Need(t, !bytes.Equal(whole, lacking), "%s has no name %s", plan.Points[0].Image.Name, c.name)
		sets := append(slices.Clone(exptest.Small[c.experiment]), "kernel.image="+exptest.Write(t, t.TempDir(), "my.elf", string(lacking)), c.set)
		p, err := planning.NewLoader().Plan(c.experiment, sets)
		if err == nil {
			_, err = kinds.Measure(&p.Points[0])
		}
		require.Error(t, err, c.name, "%s without %s", c.experiment, c.name)
	}
}

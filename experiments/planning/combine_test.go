package planning_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/internal/require"
)

// TestSweepOverMachines sweeps machines of three instruction sets: kernel and modes move along, what cannot be is left out
// with a note, and quantities become numbers.
func TestSweepOverMachines(t *testing.T) {
	exptest.Alone(t)
	for _, c := range []struct {
		sweep string
		isas  []string
		notes int
	}{
		{`machine = ["xeon-e5410", "power5-1656", "tc2-cortex-a15"]`, []string{"x86_64", "ppc64", "arm"}, 2},
		{`isa = ["x86_64", "ppc64"]` + "\n" + `machine = ["xeon-e5410", "power5-1656"]`, []string{"x86_64", "ppc64"}, 3},
		{`machine = ["xeon-e5410", "tc2-cortex-a15"]` + "\nkernel.cpus = [1, 64]", []string{"x86_64", "arm", "x86_64"}, 2},
		{`kernel.era = ["2006", "2010"]` + "\n" + `machine = ["xeon-e5410"]`, []string{"x86_64", "x86_64"}, 0},
	} {
		file := filepath.Join(t.TempDir(), "machines.toml")
		text := "base = \"overhead-xeon-e5410-x86_64\"\nname = \"machines\"\n[sweep]\nkernel.memory = [\"64 MiB\"]\n" + c.sweep
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		plan := require.Must(planning.NewLoader().Plan(file, []string{"workload.hits=10"}))(t)
		var isas []string
		for _, pt := range plan.Points {
			if pt.Probe.Name == "k" {
				isas = append(isas, pt.Target.Name)
			}
			require.That(t, pt.Machine.ISA == pt.Target.Name && pt.Kernel.Memory == 64<<20, "%s: machine %s, kernel %s", pt.Name, pt.Machine.ISA, pt.Target.Name)
		}
		require.That(t, slices.Equal(isas, c.isas) && len(plan.Notes) == c.notes, "%s: %v, notes %q", c.sweep, isas, plan.Notes)
		a := plan.Axes[0]
		require.That(t, a.Key == "kernel.memory" && a.Unit == "B" && a.Cells["64 MiB"] == "67108864", "axis %+v", a)
	}
}

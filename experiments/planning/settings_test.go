package planning_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/internal/require"
)

// TestEverySetting plans one experiment of each kind with each of its keys set to values that are too small, too large, of
// another type or unknown. The golden file has how many are refused and the sum of all plans and errors, so that a limit
// that moves shows. KPROBESIM_OUTCOMES names a file that takes the plans and errors, to be compared with those before.
func TestEverySetting(t *testing.T) {
	exptest.Alone(t)
	var out, all strings.Builder
	l := planning.NewLoader()
	for _, name := range []string{
		"bystander-cost", "irq-off", "missed", "optimize-latency", "scaling", "unregister-batch", "user-probes", "watchpoints",
	} {
		p := require.Must(l.Plan(name, nil))(t)
		for _, value := range []string{"0", "-1", "7", "1000000000000", "x", "none"} {
			var plans outcomes
			keys := settable(name, slices.Sorted(maps.Keys(p.Keys)))
			for _, key := range keys {
				plans.add(t, l, name, key+"="+value)
			}
			plans.sum(&out, &all, name+", "+value)
		}
	}
	hold(t, "settings.txt", out.String(), all.String())
}

// TestEveryMove plans experiments of different forms on each instruction set and under kernels of other years, and holds the outcomes
// as TestEverySetting does.
func TestEveryMove(t *testing.T) {
	exptest.Alone(t)
	var out, all strings.Builder
	l := planning.NewLoader()
	for _, sets := range []string{
		"isa=i386 machine=pentium-m-1495", "isa=x86_64 machine=xeon-e5410", "isa=ppc64 machine=power5-1656", "isa=arm machine=tc2-cortex-a15",
		"isa=arm", "kernel.era=2006", "kernel.era=2012", "kernel.isa=ppc64", "kernel.cpus=4", "replicates=3",
	} {
		var plans outcomes
		for _, name := range []string{
			"crowding", "entry-probes", "eras", "handlers", "irq-off", "isas-arm-2014-a7", "missed", "overhead-pentium-m", "overhead-published",
			"overhead-tc2-a15", "scaling", "sharing-power5", "sites-tc2-a7", "unregister-batch", "user-probes-sharing", "watchpoints",
		} {
			plans.add(t, l, name, strings.Fields(sets)...)
		}
		plans.sum(&out, &all, sets)
	}
	hold(t, "moves.txt", out.String(), all.String())
}

// outcomes are plans and errors as text.
type outcomes struct {
	strings.Builder
	refused, of int
}

// add plans an experiment with settings.
func (o *outcomes) add(t *testing.T, l *planning.Loader, name string, sets ...string) {
	o.of++
	plan, err := l.Plan(name, sets)
	if err != nil {
		o.refused++
		fmt.Fprintln(o, name, sets, err)
		return
	}
	fmt.Fprintln(o, name, sets, plan.Title, plan.Figures, plan.Collected, plan.Notes, plan.Lacking, plan.Moved)
	for _, pt := range plan.Points {
		b, err := json.Marshal([]any{
			pt.Name, pt.Label, pt.Kind, pt.Image.Name, pt.Kernel, pt.Workload, pt.Crowd, pt.Modules, pt.Writes,
			pt.Probe, pt.Seed, pt.Replicate, pt.Budget, pt.Differs, pt.Remodelled, pt.Machine.Name, pt.Machine.CPU.Events,
		})
		require.NoError(t, err)
		fmt.Fprintf(o, "%s\n", b)
	}
}

// sum writes a line of the golden file, and what it stands for.
func (o *outcomes) sum(out, all *strings.Builder, what string) {
	fmt.Fprintf(out, "%s: %d of %d refused, sum %.6x\n", what, o.refused, o.of, sha256.Sum256([]byte(o.String())))
	all.WriteString(o.String())
}

func hold(t *testing.T, golden, sums, all string) {
	if file := os.Getenv("KPROBESIM_OUTCOMES"); file != "" {
		require.NoError(t, os.WriteFile(file, []byte(all), 0o644))
	}
	exptest.Golden(t, golden, sums)
}

// settable returns the keys of files as settings name them: all of an experiment, and of the machine of one experiment all
// but costs of instructions.
func settable(experiment string, keys []string) (all []string) {
	for _, key := range keys {
		if k, ok := strings.CutPrefix(key, "experiment "+experiment+" "); ok {
			all = append(all, strings.NewReplacer("[", ".", "]", "").Replace(k))
		}
		if k, ok := strings.CutPrefix(key, "machine xeon-e5410 "); ok && experiment == "irq-off" && !strings.HasPrefix(k, "cost.") && !strings.HasPrefix(k, "cpuid.") {
			all = append(all, "machine."+k)
		}
	}
	return all
}

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
		p, err := l.Plan(name, nil)
		require.NoError(t, err)
		for _, value := range []string{"0", "-1", "7", "1000000000000", "x", "none"} {
			var plans strings.Builder
			refused, keys := 0, settable(name, slices.Sorted(maps.Keys(p.Keys)))
			for _, key := range keys {
				plan, err := l.Plan(name, []string{key + "=" + value})
				if err != nil {
					refused++
					fmt.Fprintln(&plans, name, key, value, err)
					continue
				}
				fmt.Fprintln(&plans, name, key, value, plan.Title, plan.Figures, plan.Collected, plan.Notes, plan.Lacking)
				for _, pt := range plan.Points {
					b, err := json.Marshal([]any{
						pt.Name, pt.Label, pt.Kind, pt.Image.Name, pt.Kernel, pt.Workload, pt.Crowd, pt.Modules, pt.Writes,
						pt.Probe, pt.Seed, pt.Replicate, pt.Budget, pt.Differs, pt.Remodelled, pt.Machine.Name, pt.Machine.CPU.Events,
					})
					require.NoError(t, err)
					fmt.Fprintf(&plans, "%s\n", b)
				}
			}
			fmt.Fprintf(&out, "%s, %s: %d of %d refused, sum %.6x\n", name, value, refused, len(keys), sha256.Sum256([]byte(plans.String())))
			all.WriteString(plans.String())
		}
	}
	if file := os.Getenv("KPROBESIM_OUTCOMES"); file != "" {
		require.NoError(t, os.WriteFile(file, []byte(all.String()), 0o644))
	}
	exptest.Golden(t, "settings.txt", out.String())
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

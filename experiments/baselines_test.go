package experiments_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"kprobesim/experiments"
	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/schema"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/compare"
)

// pinned are one point of every experiment that is measured again, and metrics that are not zero there: an
// experiment that measures nothing would hold its invariants, too.
var pinned = []struct {
	experiment, point string
	metrics           []string
}{
	{"attach-time", "f/workload.batch=100", []string{kinds.MetricStep(kinds.StepArm), kinds.MetricSyncs(kinds.StepArm), kinds.MetricLosses(kinds.StepArm)}},
	{"attach-time-2010", "o/workload.load=busy/workload.batch=10", []string{kinds.MetricStops(kinds.StepOptimize)}},
	{"attach-time-returns", "ro/workload.batch=10", []string{kinds.MetricStep(kinds.StepClean)}},
	{"bystander-cost", "o/kernel.cpus=4/kernel.patching=stop_machine/workload.batch=16", []string{"cycles_stolen_optimize"}},
	{"crowding", "b/crowd.position=last/crowd.probes=1000", []string{results.MetricCycles, kinds.MetricRegister, kinds.MetricArm}},
	{"crowding-bucket", "b/crowd.position=last/crowd.probes=0/crowd.same_bucket=20", []string{results.MetricFirst}},
	{"crowding-i386", "o/crowd.position=first/crowd.probes=100", []string{results.MetricCycles}},
	{"eras-i386-2005", "k", []string{results.MetricCycles}},
	{"eras-i386-2006", "rb", []string{results.MetricCycles}},
	{"eras-i386-2006-stepping", "r", []string{results.MetricCycles}},
	{"eras-i386-2006-stepping-trapping", "r-trap", []string{results.MetricCycles}},
	{"eras-i386-2006-trapping", "rb-trap", []string{results.MetricCycles}},
	{"eras-i386-2010", "b", []string{results.MetricCycles}},
	{"eras-x86_64-2005", "k", []string{results.MetricCycles}},
	{"eras-x86_64-2006", "r-trap", []string{results.MetricCycles}},
	{"eras-x86_64-2010", "ro", []string{results.MetricCycles}},
	{"handlers-opteron-246", "k-post", []string{results.MetricCycles}},
	{"handlers-pentium-m", "faulting-fault", []string{results.MetricCycles}},
	{"handlers-xeon-e5410-i386", "r-data", []string{results.MetricCycles}},
	{"handlers-xeon-e5410-x86_64", "o-post", []string{results.MetricCycles}},
	{"event-rate", "f/workload.rate=100000", []string{kinds.MetricOverhead, kinds.MetricProduct, kinds.MetricEvent}},
	{"hit-latency", "o/replicate=3", []string{results.CallMetric(500), results.CallMetric(1000)}},
	{"irq-off", "k", []string{kinds.MetricOff, kinds.MetricLate}},
	{"irq-off-power5", "e", []string{kinds.MetricOff, kinds.MetricLate}},
	{"irq-off-tc2-a15", "e", []string{kinds.MetricOff, kinds.MetricLate}},
	{"isas-arm-2010", "re", []string{results.MetricCycles}},
	{"isas-arm-2010-a7", "je", []string{results.MetricCycles}},
	{"isas-arm-2014", "o", []string{results.MetricCycles}},
	{"isas-arm-2014-a7", "e", []string{results.MetricCycles}},
	{"isas-i386-2006", "jb", []string{results.MetricCycles}},
	{"isas-i386-2006-stepping", "j", []string{results.MetricCycles}},
	{"isas-i386-2010", "j", []string{results.MetricCycles}},
	{"isas-i386-2020", "b", []string{results.MetricCycles}},
	{"isas-i386-2020-emulated", "e", []string{results.MetricCycles}},
	{"isas-i386-2020-entry", "f", []string{results.MetricCycles}},
	{"isas-ppc64-2010", "k", []string{results.MetricCycles}},
	{"isas-x86_64-2006", "j", []string{results.MetricCycles}},
	{"isas-x86_64-2010", "jb", []string{results.MetricCycles}},
	{"isas-x86_64-2020", "k", []string{results.MetricCycles}},
	{"isas-x86_64-2020-emulated", "e", []string{results.MetricCycles}},
	{"isas-x86_64-2020-entry", "rf", []string{results.MetricCycles}},
	{"missed", "r/workload.target=sleep_work/kernel.preempt=none/kernel.cpus=2/points.r.maxactive=4", []string{kinds.MetricMissed}},
	{"missed-returns", "r/workload.target=divide_work/kernel.preempt=full/kernel.cpus=4/points.r.maxactive=4/workload.tasks=8", []string{kinds.MetricMissed}},
	{"optimize-latency", "o/workload.load=busy/kernel.hz=1000/kernel.cpus=2", []string{kinds.MetricOptimized, kinds.MetricGrace}},
	{"overhead-opteron-246", "k", []string{results.MetricCycles}},
	{"overhead-pentium-m", "k", []string{results.MetricCycles}},
	{"overhead-power5", "k", []string{results.MetricCycles}},
	{"overhead-power5-2011", "e", []string{results.MetricCycles}},
	{"overhead-power5-2017", "o", []string{results.MetricCycles}},
	{"overhead-tc2-a15", "o", []string{results.MetricCycles}},
	{"overhead-tc2-a7", "k", []string{results.MetricCycles}},
	{"overhead-today-haswell", "f", []string{results.MetricCycles}},
	{"overhead-today-skylake", "f", []string{results.MetricCycles}},
	{"overhead-today-zen4", "rf", []string{results.MetricCycles}},
	{"overhead-xeon-e5410-i386", "b", []string{results.MetricCycles}},
	{"overhead-xeon-e5410-x86_64", "o", []string{results.MetricCycles}},
	{"scaling", "b-shared/kernel.cpus=2", []string{kinds.MetricRate, kinds.MetricMoved}},
	{"sharing-power5", "jb", []string{results.MetricCycles}},
	{"sharing-tc2-a15", "jr", []string{results.MetricCycles}},
	{"sharing-xeon-e5410-i386", "j", []string{results.MetricCycles}},
	{"sharing-xeon-e5410-x86_64", "jr", []string{results.MetricCycles}},
	{"sites-tc2-a15", "o/workload.target=bench_near_pair/workload.offset=4", []string{results.MetricCycles}},
	{"sites-tc2-a7", "k/workload.target=bench_row/workload.offset=0", []string{results.MetricCycles}},
	{"user-probes", "r", []string{kinds.MetricUserWarm, kinds.MetricUserCold}},
	{"user-probes-pentium-m", "k", []string{kinds.MetricUserWarm}},
	{"user-probes-power5", "k", []string{kinds.MetricUserWarm}},
	{"user-probes-sharing", "r/kernel.cpus=2", []string{kinds.MetricUserShared}},
	{"user-probes-tc2-a15", "r", []string{kinds.MetricUserWarm}},
	{"watchpoints", "w/kernel.cpus=4", []string{results.MetricCycles, kinds.MetricWatch}},
	{"watchpoints-pentium-m", "x", []string{results.MetricCycles}},
	{"watchpoints-power5", "rw/kernel.cpus=1", []string{results.MetricCycles}},
	{"watchpoints-tc2-a15", "x/kernel.cpus=2", []string{results.MetricCycles}},
	{"unregister-batch", "k/workload.load=busy/workload.batch=3", []string{kinds.MetricSingly, kinds.MetricTogether}},
}

// TestPinnedPoints measures them and compares every record with the baseline, exactly.
func TestPinnedPoints(t *testing.T) {
	exptest.Alone(t)
	for _, c := range hosttools.Share(t, "pinned points", 8, pinned) {
		t.Run(c.experiment, func(t *testing.T) {
			want := require.Must(compare.LoadBaseline("../results/baselines/" + c.experiment + ".csv"))(t)
			pt := exptest.PointOf(t, c.experiment, c.point)
			m := require.Must(kinds.Measure(pt))(t)
			got := require.Must(reports.Records(pt, m))(t)
			for _, r := range got {
				w, ok := want.Get(r.Point, r.Metric)
				require.That(t, ok && w.Value == r.Value && w.Unit == r.Unit && w.Role == r.Role, "%s, the baseline has %s", r, w)
			}
			for _, metric := range c.metrics {
				require.That(t, slices.ContainsFunc(got, func(r results.Record) bool { return r.Metric == metric && !r.Value.IsZero() }), "%s is not measured, or zero", metric)
			}
		})
	}
}

// plans are the plans of all experiments, which several tests look at.
var plans = sync.OnceValues(func() (all []*schema.Plan, err error) {
	loader := planning.NewLoader()
	for _, name := range experiments.Names() {
		p, err := loader.Plan(name, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
})

// everyPlan returns them.
func everyPlan(t *testing.T) []*schema.Plan {
	t.Helper()
	all := require.Must(plans())(t)
	return all
}

// TestInputsOfBaselines plans every experiment and measures none: the inputs recorded beside a baseline equal those that the
// experiment is made from now, so that a check names what changed and nothing older.
func TestInputsOfBaselines(t *testing.T) {
	const refresh = "kprobesim check --inputs (go run ./cmd/kprobesim check --inputs) writes them anew; commit them with what changed them"
	have := map[string]bool{}
	for _, p := range everyPlan(t) {
		name := p.Name
		if schema.Packaged(p.Kind) {
			continue // its figures need a kernel that is not part of this program
		}
		have[name] = true
		recorded, err := os.ReadFile("../results/baselines/" + name + ".inputs")
		if err != nil {
			t.Errorf("%v: %s", err, refresh)
			continue
		}
		if now := p.Keys.Text(); !bytes.Equal(now, recorded) {
			t.Errorf("%s.inputs is stale, from %q on: %s", name, firstOther(string(recorded), string(now)), refresh)
		}
	}
	for _, name := range baselineFiles(t) {
		require.That(t, have[name], "results/baselines has %s, and no experiment has that name: remove the files", name)
	}
}

// firstOther is the first line of now that was has not in its place.
func firstOther(was, now string) string {
	old := strings.Split(was, "\n")
	for i, line := range strings.Split(now, "\n") {
		if i >= len(old) || old[i] != line {
			return line
		}
	}
	return "its end"
}

// baselineFiles are the names of the files of baselines.
func baselineFiles(t *testing.T) (names []string) {
	t.Helper()
	files := require.Must(os.ReadDir("../results/baselines"))(t)
	for _, f := range files {
		if ext := filepath.Ext(f.Name()); ext == ".csv" || ext == ".inputs" {
			names = append(names, strings.TrimSuffix(f.Name(), ext))
		}
	}
	return names
}

// TestEveryExperimentIsPinned wants every experiment with points of its own, and so every kind, in the list.
func TestEveryExperimentIsPinned(t *testing.T) {
	var have, seen []string
	for _, c := range pinned {
		have = append(have, c.experiment)
	}
	for _, p := range everyPlan(t) {
		if schema.Packaged(p.Kind) {
			seen = append(seen, p.Kind) // measured where there is a kernel: TestLinux of kinds
			continue
		}
		require.That(t, len(p.Collected) != 0 || slices.Contains(have, p.Name), "no point of %s is measured by go test", p.Name)
		seen = append(seen, p.Kind)
	}
	for _, kind := range planning.Kinds() {
		require.That(t, slices.Contains(seen, kind), "no experiment is of kind %s", kind)
	}
}

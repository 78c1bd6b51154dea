package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/reports"
	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/compare"
)

// TestDocumentsAnswer holds the paragraphs that answer what people ask, and their figures, against the baselines, which
// other tests hold against the simulator.
func TestDocumentsAnswer(t *testing.T) {
	for _, a := range []struct {
		experiment, figure string
		text               func(*testing.T, *results.Set) string
	}{
		{"missed-returns", "missed-least", missedAnswer},
		{"event-rate", "event-rate", rateAnswer},
	} {
		s, err := compare.LoadBaseline(filepath.Join("..", "..", "results", "baselines", a.experiment+".csv"))
		require.NoError(t, err)
		files := map[string][]byte{}
		require.NoError(t, reports.Draw(files, s, []string{a.figure}, reports.Look{}))
		holdFile(t, filepath.Join("docs", a.experiment+".svg"), string(files[a.figure+".svg"]))
		holdBlock(t, "docs/experiments.md", a.experiment, a.text(t, s))
	}
}

// baselineValue is a metric of the point of a set whose name has the name of a probe and all of some settings.
func baselineValue(t *testing.T, s *results.Set, metric, name string, settings ...string) results.Value {
	t.Helper()
	for _, p := range s.Points() {
		all := p.Name() == name
		for _, x := range settings {
			all = all && strings.Contains(p.Probe+"/", "/"+x+"/")
		}
		if r, ok := s.Get(p, metric); all && ok {
			return r.Value
		}
	}
	t.Fatalf("no point %s with %q has %s", name, settings, metric)
	return results.Value{}
}

// missedAnswer says how many instances so many callers need.
func missedAnswer(t *testing.T, s *results.Set) string {
	const callers = 16
	cpus := []int{1, 4, 8}
	at := func(metric, target, preempt string, cpu, tasks, instances int) results.Value {
		return baselineValue(t, s, metric, "r", "workload.target="+target, "kernel.preempt="+preempt, fmt.Sprintf("kernel.cpus=%d", cpu),
			fmt.Sprintf("workload.tasks=%d", tasks), fmt.Sprintf("points.r.maxactive=%d", instances))
	}
	needed := func(target, preempt string) string {
		var out []string
		for _, cpu := range cpus {
			n := 1
			for n < callers && !at(kinds.MetricMissed, target, preempt, cpu, callers, n).IsZero() {
				n *= 2
			}
			out = append(out, fmt.Sprint(n))
		}
		return listed(out)
	}
	byDefault := func(tasks int) string {
		var out []string
		for _, cpu := range cpus {
			out = append(out, at(kinds.MetricMissShare, "sleep_work", "none", cpu, tasks, 0).String()+" %")
		}
		return listed(out)
	}
	half := at(kinds.MetricMissShare, "sleep_work", "none", 8, callers, callers/2)
	return fmt.Sprintf(`As many as callers can be in the function at once. For %d callers that sleep there, the smallest maxactive that loses no
call is %s on 1, 4 and 8 CPUs. Callers that only compute need %s, one for each CPU. Where kernel code is
preempted they need %s, because another task enters the function meanwhile. Half of what is needed loses %s %%
of the calls. The kernel's default, which is 10 or twice the number of CPUs, loses %s of the calls of 8 sleeping callers,
and %s of those of 16.
`, callers, needed("sleep_work", "none"), needed("divide_work", "none"), needed("divide_work", "full"), half, byDefault(8), byDefault(callers))
}

// rateAnswer says what events cost at some rates, and how far from that the simple product is.
func rateAnswer(t *testing.T, s *results.Set) string {
	probes := []string{"o", "f", "rf", "b", "k"}
	at := func(metric, probe string, rate int) float64 {
		return baselineValue(t, s, metric, probe, fmt.Sprintf("workload.rate=%d", rate)).Float()
	}
	factor := func(probe string, rate int) float64 {
		return at(kinds.MetricOverhead, probe, rate) / at(kinds.MetricProduct, probe, rate)
	}
	out := "| events a second | " + strings.Join(probes, " | ") + " |\n|---|---|---|---|---|---|\n"
	for rate := 1000; rate <= 10_000_000; rate *= 10 {
		row := fmt.Sprintf("| %d ", rate)
		for _, p := range probes {
			row += fmt.Sprintf("| %s %% (%.1f) ", twoDigits(at(kinds.MetricOverhead, p, rate)), factor(p, rate))
		}
		out += row + "|\n"
	}
	var rare, cycles []string
	most := 0.0
	for _, p := range probes {
		rare = append(rare, fmt.Sprintf("%.1f", factor(p, 10_000)))
		cycles = append(cycles, fmt.Sprintf("%.0f", at(kinds.MetricEvent, p, 10_000)))
		for _, rate := range []int{1_000_000, 3_000_000, 10_000_000} {
			most = max(most, 100*(factor(p, rate)-1), 100*(1-factor(p, rate)))
		}
	}
	return out + fmt.Sprintf(`
From a million events a second on, the overhead is the rate times the cycles of a hit without a gap, within %.0f %%. Rarer
events cost more than this product says: at 10,000 a second %s times as much,
for %s. Such an event takes %s cycles, because the work between has
taken the probe's code out of the first-level caches.
`, math.Ceil(most), listed(rare), listed(probes), listed(cycles))
}

// twoDigits writes a number with about two digits that count.
func twoDigits(v float64) string {
	return strconv.FormatFloat(v, 'f', max(0, 1-int(math.Floor(math.Log10(v)))), 64)
}

// listed joins words as a sentence does, and says a word once that stands for all.
func listed(words []string) string {
	if len(slices.Compact(slices.Clone(words))) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

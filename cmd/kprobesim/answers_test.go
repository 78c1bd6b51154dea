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
		{"attach-time", "attach", attachAnswer},
	} {
		s := baseline(t, a.experiment)
		files := map[string][]byte{}
		require.NoError(t, reports.Draw(files, s, []string{a.figure}, reports.Look{}))
		holdFile(t, filepath.Join("docs", a.experiment+".svg"), string(files[a.figure+".svg"]))
		holdBlock(t, "docs/experiments.md", a.experiment, a.text(t, s))
	}
}

func baseline(t *testing.T, experiment string) *results.Set {
	t.Helper()
	return require.Must(compare.LoadBaseline(filepath.Join("..", "..", "results", "baselines", experiment+".csv")))(t)
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

// attachAnswer says how long attaching takes and who waits for what.
func attachAnswer(t *testing.T, s *results.Set) string {
	at := func(metric, probe string, batch int) float64 {
		return baselineValue(t, s, metric, probe, fmt.Sprintf("workload.batch=%d", batch)).Float()
	}
	ms := func(step, probe string, batch int) string {
		return twoDigits(at(kinds.MetricStep(step), probe, batch)/1000) + " ms"
	}
	rows := []struct{ step, text string }{
		{kinds.StepRegister, "register, disarmed"},
		{kinds.StepArm, "arm"},
		{kinds.StepOptimize, "until all are optimized"},
		{kinds.StepRemove, "remove by one call"},
		{kinds.StepClean, "until all jumps are gone"},
		{kinds.StepSingly, "remove one by a call of its own"},
	}
	out := "| step of 1000 probes | b | o | f |\n|---|---|---|---|\n"
	for _, r := range rows {
		out += "| " + r.text
		for _, p := range []string{"b", "o", "f"} {
			cell := ""
			if p == "o" || r.step != kinds.StepOptimize && r.step != kinds.StepClean {
				cell = ms(r.step, p, 1000) + waits(at, r.step, p)
			}
			out += " | " + cell
		}
		out += " |\n"
	}
	old, returns := baseline(t, "attach-time-2010"), baseline(t, "attach-time-returns")
	of2010 := func(metric, probe, load string, batch int) float64 {
		return baselineValue(t, old, metric, probe, "workload.load="+load, fmt.Sprintf("workload.batch=%d", batch)).Float()
	}
	return out + fmt.Sprintf(`
Arming 10,000 probes takes %s by breakpoints: the caller waits until each CPU has synchronized behind each of them, and a
CPU that uses no probe loses %s us a probe. Kernels before 5.5 wait for nobody there. By ftrace it takes %s, with three
synchronizations for each probe, and %s us. Jumps come later. The optimizer waits for its delay of 5 jiffies and for a
grace period, and then writes 256 at most, one after the other with three synchronizations each. So one probe is optimized
after %s, and 10,000 are after %s. Removing by one call waits for one grace period, here %s for one probe, because the other CPUs
compute. A loop of calls waits as long for each probe. Jumps go later, as they came. The kernel of 2010 stops the
machine to write them, %.0f times for 1000 probes, in which each of the other CPUs loses %s us. Where these are idle, it
removes a kprobe in %s us. Return probes wait for the same: 100 by ftrace are armed in %s, and 100 kprobes in %s.
`, ms(kinds.StepArm, "b", 10_000), twoDigits(at(kinds.MetricLosses(kinds.StepArm), "b", 10_000)/10_000),
		ms(kinds.StepArm, "f", 10_000), twoDigits(at(kinds.MetricLosses(kinds.StepArm), "f", 10_000)/10_000),
		ms(kinds.StepOptimize, "o", 1), ms(kinds.StepOptimize, "o", 10_000), ms(kinds.StepRemove, "b", 1),
		of2010(kinds.MetricStops(kinds.StepOptimize), "o", "busy", 1000), twoDigits(of2010(kinds.MetricLosses(kinds.StepOptimize), "o", "busy", 1000)),
		twoDigits(of2010(kinds.MetricStep(kinds.StepRemove), "k", "idle", 1)),
		twoDigits(baselineValue(t, returns, kinds.MetricStep(kinds.StepArm), "rf", "workload.batch=100").Float()/1000)+" ms", ms(kinds.StepArm, "f", 100))
}

// waits tells what 1000 probes wait for in a step.
func waits(at func(metric, probe string, batch int) float64, step, probe string) (text string) {
	for _, w := range []struct{ metric, one, many string }{
		{kinds.MetricPeriods(step), "grace period", "grace periods"}, {kinds.MetricSyncs(step), "synchronization", "synchronizations"},
	} {
		switch n := at(w.metric, probe, 1000); n {
		case 0:
		case 1:
			text += ", 1 " + w.one
		default:
			text += fmt.Sprintf(", %s %s", strconv.FormatFloat(n, 'f', -1, 64), w.many)
		}
	}
	return text
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

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/internal/require"
	"kprobesim/machines"
	"kprobesim/results"
)

// defaultModel is the cost model of the machine descriptions, which all name the same.
func defaultModel(t *testing.T) string {
	t.Helper()
	model := ""
	for _, r := range publishedRows() {
		m := require.Must(planning.NewLoader().Machine(r.machine, "", nil))(t)
		require.Need(t, model == "" || m.CPU.Model == model, "%s has model %s, others %s: the headline names one", r.machine, m.CPU.Model, model)
		model = m.CPU.Model
	}
	return model
}

// otherModel is the one that a null model takes.
func otherModel(model string) string {
	if model == cpus.Window {
		return cpus.Throughput
	}
	return cpus.Window
}

// modelErrors are the errors of all predictions under a model by row, with the fitted numbers as they are
// or fitted anew. The debug exception of the E5410's 32-bit mode takes what it takes more from the other
// mode, as its description says.
func modelErrors(t *testing.T, model string, refit bool) (rows [][]float64) {
	t.Helper()
	var more []string
	for _, r := range publishedRows() {
		sets := []string{"machine.core.model=" + model}
		if refit {
			if r.machine == "xeon-e5410-i386" {
				sets = append(sets, more...)
			}
			var values []int64
			if sets, values = refitted(t, r.machine, sets); len(values) == 2 {
				more = []string{fmt.Sprintf("machine.event.exception_debug.more=%d", values[1]-values[0])}
			}
		}
		set := runSet(t, r.experiment, sets)
		var errs []float64
		for _, f := range figuresOf(t, r.experiment) {
			if !f.fitted {
				errs = append(errs, f.errorOf(set))
			}
		}
		rows = append(rows, errs)
	}
	return rows
}

// sisterRows are the errors of the null model that simulates nothing, by row.
func sisterRows(t *testing.T) (rows [][]float64) {
	t.Helper()
	p := require.Must(planning.NewLoader().Plan(collection, nil))(t)
	errs := reports.SisterErrors(p)
	for _, r := range publishedRows() {
		var row []float64
		for _, e := range errs {
			if e.Point.Experiment == r.experiment {
				row = append(row, e.Percent)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// magnitude returns the mean and the largest error without signs.
func magnitude(errs []float64) (mean, largest float64) {
	for _, e := range errs {
		mean += math.Abs(e) / float64(len(errs))
		largest = max(largest, math.Abs(e))
	}
	return mean, largest
}

// contender is the simulator, or a null model beside it.
type contender struct {
	name string
	rows [][]float64
}

// contenders are the simulator and the two null models.
func contenders(t *testing.T) []contender {
	t.Helper()
	model := defaultModel(t)
	return []contender{
		{"the simulator, cost model `" + model + "`", modelErrors(t, model, false)},
		{"null model: ratios of a sister machine, nothing simulated", sisterRows(t)},
		{"null model: the other cost model, `" + otherModel(model) + "`, fitted anew", modelErrors(t, otherModel(model), true)},
	}
}

// trust writes the errors of the README: of the predictions, and of null models beside them, and how much of the
// predictions was fitted.
func trust(all []contender, shares []share) string {
	mean, largest := magnitude(slices.Concat(all[0].rows...))
	sister, _ := magnitude(slices.Concat(all[1].rows...))
	other, _ := magnitude(slices.Concat(all[2].rows...))
	var free, fitted []string
	most := 0.0
	for _, s := range shares {
		if s.percent < 0.05 {
			free = append(free, s.probe)
			continue
		}
		fitted = append(fitted, s.probe)
		most = max(most, s.percent)
	}
	return fmt.Sprintf("Linux published figures for %d machines and modes. %d of them are predicted, and miss by %.1f %% on average and %.1f %% at\n", len(all[0].rows), len(fitted)+len(free), mean, largest) +
		fmt.Sprintf("most. That is no better than two null models: ratios taken from a similar machine (%.1f %%), and a simpler cost model\n", sister) +
		fmt.Sprintf("(%.1f %%), which most published loops without probes refute. %d predictions contain the time in which a processor enters an\n", other, len(fitted)) +
		fmt.Sprintf("exception, which is fitted: up to %.0f %% of their cycles. The other %d (%s) are too cheap, and the cause is unknown.\n", most, len(free), each(free)) +
		"So trust the split of a hit and the differences between runs more than the absolute figures.\n"
}

// each lists names once, in the order of the tables.
func each(names []string) string {
	var out []string
	for _, n := range probeNames() {
		if slices.Contains(names, n) {
			out = append(out, "`"+n+"`")
		}
	}
	return strings.Join(out, ", ")
}

// nullsTable has the mean errors of the rows.
func nullsTable(all []contender) string {
	out := "| mean error of the predictions, % |"
	for _, r := range publishedRows() {
		out += " " + r.machine + " |"
	}
	out += " all |\n|---|" + strings.Repeat("---|", len(publishedRows())+1) + "\n"
	for _, c := range all {
		out += "| " + c.name + " |"
		for _, errs := range append(slices.Clone(c.rows), slices.Concat(c.rows...)) {
			mean, _ := magnitude(errs)
			out += fmt.Sprintf(" %.1f |", mean)
		}
		out += "\n"
	}
	return out
}

// share returns the fitted part of a prediction, in percent of its cycles.
type share struct {
	machine, probe string
	percent        float64
}

// fittedShares moves each fitted number and takes what a prediction moves with it, times the number.
func fittedShares(t *testing.T) []share {
	t.Helper()
	const step = 60
	var out []share
	for _, r := range publishedRows() {
		m := require.Must(planning.NewLoader().Machine(r.machine, "", nil))(t)
		base := cyclesOf(t, r.experiment)
		fitted := map[string]float64{}
		for _, p := range m.FittedParams() {
			value := wholeCycles(t, p)
			moved := cyclesOf(t, r.experiment, fmt.Sprintf("machine.%s=%d", p.Path, value+step))
			for probe := range base {
				fitted[probe] += (moved[probe] - base[probe]) / step * float64(value)
			}
		}
		for _, f := range figuresOf(t, r.experiment) {
			if !f.fitted {
				out = append(out, share{r.machine, f.probe, 100 * fitted[f.probe] / base[f.probe]})
			}
		}
	}
	return out
}

// wholeCycles is a fitted number.
func wholeCycles(t *testing.T, p machines.Param) (n int64) {
	t.Helper()
	if _, err := fmt.Sscan(p.Value, &n); err != nil {
		t.Fatalf("%s = %s: %v", p.Path, p.Value, err)
	}
	return n
}

// cyclesOf are the cycles of a hit of each probe.
func cyclesOf(t *testing.T, experiment string, sets ...string) map[string]float64 {
	t.Helper()
	set := runSet(t, experiment, sets)
	out := map[string]float64{}
	for _, p := range set.Points() {
		r, _ := set.Get(p, results.MetricCycles)
		out[p.Probe] = r.Value.Float()
	}
	return out
}

// inheritedTable shows how much of each prediction was fitted.
func inheritedTable(shares []share) string {
	out := "| fitted cycles in a prediction, % | " + strings.Join(probeNames(), " | ") + " |\n|" + strings.Repeat("---|", len(probeNames())+1) + "\n"
	for _, r := range publishedRows() {
		out += "| " + r.machine + " |"
		for _, probe := range probeNames() {
			cell := ""
			for _, s := range shares {
				if s.machine == r.machine && s.probe == probe {
					cell = fmt.Sprintf(" %.0f", s.percent)
				}
			}
			out += cell + " |"
		}
		out += "\n"
	}
	return out
}

// priorsTable lists what ties one exception to another without a number of its own, where a published
// row can feel it.
func priorsTable(t *testing.T) string {
	t.Helper()
	out := "| machine | tied | to | dearer by | uncertainty | source |\n|---|---|---|---|---|---|\n"
	for _, r := range publishedRows() {
		m := require.Must(planning.NewLoader().Machine(r.machine, "", nil))(t)
		for _, p := range m.Params {
			event, tied := strings.CutSuffix(p.Path, ".same_as")
			if !tied || !strings.Contains(event, "exception_") || strings.Contains(p.Source, "no measured path") {
				continue
			}
			out += fmt.Sprintf("| %s | `%s` | `%s` | %s | %s | %s |\n", r.machine, strings.TrimPrefix(event, "event."), p.Value,
				valueOf(m, event+".more"), p.Uncertainty, p.Source)
		}
	}
	return out
}

// valueOf is a number as it is written.
func valueOf(m *machines.Machine, path string) string {
	i := slices.IndexFunc(m.Params, func(p machines.Param) bool { return p.Path == path })
	if i < 0 {
		return "0"
	}
	return m.Params[i].Value
}

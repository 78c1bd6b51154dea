package calibration_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/calibration"
	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/machines"
	"kprobesim/results"
	"kprobesim/results/formats"
	"kprobesim/results/measured"
	"kprobesim/results/outdir"
	"kprobesim/targets"
)

// Rows of the tests, and what their machines say of the numbers that are fitted on them.
const (
	emulated = "e/probes=1/handler=empty"
	stepped  = "k/probes=1/handler=empty"

	onEmulated = `exception_breakpoint = { cycles = 100, fitted = ["` + emulated + `"], source = "fitted: measured e" }`
	onStepped  = `exception_debug = { cycles = "100 ns", fitted = ["` + stepped + `"], source = "fitted: measured k" }`
)

// measuredFolder writes a results directory with figures of the machine "mine" for the rows e and k.
func measuredFolder(t *testing.T, dir string, role results.Role, e, k string) {
	t.Helper()
	set := rows(t, "mine", role, e, k)
	m := outdir.Manifest{Program: outdir.This(), Sources: set.Sources()}
	require.NoError(t, outdir.WriteDir(filepath.Join(dir, "measured"), map[string][]byte{
		outdir.ManifestName: require.Must(m.JSON())(t), reports.ResultsName: formats.CSV(set),
	}))
}

// rows has figures as the module's table has them.
func rows(t *testing.T, machine string, role results.Role, e, k string) *results.Set {
	t.Helper()
	s := &results.Set{}
	for _, row := range [][2]string{{emulated, e}, {stepped, k}} {
		name, v := row[0], require.Must(results.ParseValue(row[1]))(t)
		p := results.Point{Experiment: measured.Experiment, Machine: machine, ISA: "x86_64", Era: "6.1.0", CPUs: 1, Probe: name}
		source := map[bool]string{true: "measure"}[role == results.Measured]
		require.NoError(t, s.Add(results.Record{Point: p, Metric: results.MetricCycles, Unit: "cycles", Value: v, Role: role, Source: source}))
	}
	return s
}

// mine writes a description of a machine of one's own.
func mine(t *testing.T, dir, calibrated, events string) string {
	t.Helper()
	return exptest.Write(t, dir, "mine.toml", "base = \"xeon-e5410\"\nname = \"mine\"\n[calibration]\n"+calibrated+"\n[event]\n"+events+"\n")
}

// hits has the kernel of a test time its probes: an emulated hit has one exception, a stepped one two, and what surrounds them.
func hits(t *testing.T) func(*machines.Machine) (*results.Set, error) {
	return func(m *machines.Machine) (*results.Set, error) {
		first, second := m.CPU.Events["exception_breakpoint"].Cycles(), m.CPU.Events["exception_debug"].Cycles()
		return rows(t, m.Name, results.Simulated, fmt.Sprint(300+first), fmt.Sprint(500+first+second)), nil
	}
}

// TestFitOnMeasured finds the deliveries at which simulated hits are as long as measured ones.
func TestFitOnMeasured(t *testing.T) {
	dir := t.TempDir()
	measuredFolder(t, dir, results.Measured, "1000", "2000.4")
	c := require.Must(calibration.New(planning.NewLoader(), mine(t, dir, `measured = "./measured"`, onEmulated+"\n"+onStepped)))(t)
	require.That(t, c.Kernel() == "6.1.0", "the kernel that has measured is %q", c.Kernel())
	c.Simulate = hits(t)
	fit := require.Must(c.Fit(&running.Runner{}))(t)
	require.That(t, fmt.Sprint(fit.Cycles) == "[700 800]", "fitted %v, want 700 and 800", fit.Cycles)
	for _, want := range []string{"# " + emulated + ": 1000.0 cycles a hit, measured 1000.0", "[event.exception_debug]\ncycles = 800 # was 13998/60", `fitted = ["` + stepped + `"]`} {
		require.That(t, strings.Contains(fit.Proposal(), want), "the proposal lacks %q:\n%s", want, fit.Proposal())
	}
	// The return from an exception has a key of another table.
	all := planning.NewLoader().Targets
	keys := all[slices.IndexFunc(all, func(t targets.Target) bool { return len(t.ISA.Deliveries) > 0 })].ISA.Deliveries
	class := strings.Split(keys[len(keys)-1], ".")[1]
	other := mine(t, dir, `measured = "./measured"`, "exception_breakpoint = { cycles = 100, source = \"prior: a guess\" }\n"+onStepped+
		"\n[cost."+class+"]\nissue = 50\nserialize = true\nfitted = [\""+emulated+"\"]\nsource = \"fitted: measured e\"")
	c = require.Must(calibration.New(planning.NewLoader(), other))(t)
	c.Simulate = func(m *machines.Machine) (*results.Set, error) {
		n := int64(m.CPU.Classes[class].Issue / clock.PerCycle)
		return rows(t, m.Name, results.Simulated, fmt.Sprint(300+n), fmt.Sprint(m.CPU.Events["exception_debug"].Cycles()+2*n)), nil
	}
	fit = require.Must(c.Fit(&running.Runner{}))(t)
	require.That(t, strings.Contains(fit.Proposal(), "[cost."+class+"]\nissue = 700 # was 50"), "the proposal:\n%s", fit.Proposal())
	// Numbers that move the same figures by the same cycles cannot be told apart.
	c.Simulate = func(m *machines.Machine) (*results.Set, error) {
		n := (m.CPU.Classes[class].Issue + m.CPU.Events["exception_debug"]) / clock.PerCycle
		return rows(t, m.Name, results.Simulated, fmt.Sprint(int64(n)), fmt.Sprint(2*int64(n))), nil
	}
	require.Error(t, require.Err(c.Fit(&running.Runner{})), "do not determine the parameters", "two numbers of one effect")
	// A kernel that steps without a debug exception says nothing of its delivery.
	c.Simulate = func(m *machines.Machine) (*results.Set, error) {
		n := int64(m.CPU.Classes[class].Issue / clock.PerCycle)
		return rows(t, m.Name, results.Simulated, fmt.Sprint(n), fmt.Sprint(2*n)), nil
	}
	require.Error(t, require.Err(c.Fit(&running.Runner{})), "event.exception_debug.cycles moves none of the figures", "a delivery that does not come")
	fails := errors.New("no luck")
	c.Simulate = func(*machines.Machine) (*results.Set, error) { return nil, fails }
	require.That(t, errors.Is(require.Err(c.Fit(&running.Runner{})), fails), "a kernel that fails does not end the fit")
}

// TestFitOnMeasuredRefuses wants the reason for which nothing is fitted.
func TestFitOnMeasuredRefuses(t *testing.T) {
	own := `measured = "./measured"`
	for want, x := range map[string]struct {
		role             results.Role
		calibrated, with string
		sets             []string
	}{
		"figures are published or measured":                        {results.Measured, own + "\nexperiment = \"overhead-xeon-e5410-x86_64\"", onEmulated, nil},
		"there is no such row: e/probes=1/handler=":                {results.Measured, own, onEmulated, nil}, // the other delivery stays the base's, fitted on "k"
		"and only these can be: event.exception_breakpoint.cycles": {results.Measured, own, onEmulated + "\n" + strings.Replace(onStepped, "exception_debug", "mispredict", 1), nil},
		"is simulated, and not measured":                           {results.Simulated, own, onEmulated + "\n" + onStepped, nil},
		"nothing is no results directory":                          {results.Measured, `measured = "./nothing"`, onEmulated + "\n" + onStepped, nil},
		"--set workload.hits=5: no experiment is run":              {results.Measured, own, onEmulated + "\n" + onStepped, []string{"workload.hits=5"}},
		"never more parameters than figures":                       {results.Measured, own, onEmulated + "\n" + strings.Replace(onStepped, stepped, emulated, 1), nil},
	} {
		dir := t.TempDir()
		measuredFolder(t, dir, x.role, "1000", "2000")
		_, err := calibration.New(planning.NewLoader(), mine(t, dir, x.calibrated, x.with), x.sets...)
		require.Error(t, err, want, "the call")
	}
	dir := t.TempDir()
	measuredFolder(t, dir, results.Measured, "1000", "2000")
	other := exptest.Write(t, dir, "other.toml", "base = \"./mine.toml\"\nname = \"other\"\n[calibration]\n"+own+"\n")
	mine(t, dir, own, onEmulated+"\n"+onStepped)
	require.Error(t, require.Err(calibration.New(planning.NewLoader(), other)), "has figures of machine mine, and nothing of other is fitted on them", "another machine")
}

package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprobesim/experiments/calibration"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/running"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// row is a machine with the experiment that its numbers are fitted on.
type row struct{ machine, experiment string }

// publishedRows are the rows of the published figures; the E5410 in 64-bit mode stands before its other
// mode, which takes a difference from it.
func publishedRows() []row {
	return []row{
		{"pentium-m-1495", "overhead-pentium-m"},
		{"opteron-246", "overhead-opteron-246"},
		{"power5-1656", "overhead-power5"},
		{"xeon-e5410", experiment},
		{"xeon-e5410-i386", "overhead-xeon-e5410-i386"},
	}
}

// probeNames are the probes of all rows, in the order of the table.
func probeNames() []string { return []string{"k", "b", "o", "j", "r", "kr", "jr", "rb", "ro"} }

// rowsTable has the errors of the model that is not the default, with its numbers fitted for it.
func rowsTable(t *testing.T) string {
	t.Helper()
	out := "| machine | fitted | " + strings.Join(probeNames(), " | ") + " | mean |\n|" + strings.Repeat("---|", len(probeNames())+3) + "\n"
	var more string // what the debug exception takes more in 64-bit mode
	for _, r := range publishedRows() {
		sets := []string{"machine.core.model=throughput"}
		if r.machine == "xeon-e5410-i386" {
			sets = append(sets, more)
		}
		sets, values := refitted(t, r.machine, sets)
		if len(values) == 2 {
			more = fmt.Sprintf("machine.event.exception_debug.more=%d", values[1]-values[0])
		}
		out += fmt.Sprintf("| %s | %s |%s\n", r.machine, numbers(values), errorCells(t, r.experiment, runSet(t, r.experiment, sets)))
	}
	return out
}

// refitted fits a machine's numbers under settings, and returns the settings with what was found.
func refitted(t *testing.T, machine string, sets []string) (all []string, values []int64) {
	t.Helper()
	return refittedWithout(t, machine, sets, 0)
}

// refittedWithout is the same with figures less some cycles.
func refittedWithout(t *testing.T, machine string, sets []string, cycles float64) (all []string, values []int64) {
	t.Helper()
	c := require.Must(calibration.New(planning.NewLoader(), machine, sets...))(t)
	c.Without(cycles)
	fit := require.Must(c.Fit(&running.Runner{Measure: kinds.Measure}))(t)
	for _, s := range fit.Stopped {
		t.Errorf("%s under %v: %s", machine, sets, s)
	}
	all = slices.Clone(sets)
	for i, p := range fit.Params {
		all = append(all, fmt.Sprintf("machine.%s=%d", p.Path, fit.Cycles[i]))
	}
	return all, fit.Cycles
}

func numbers(values []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(values), " ", ", "), "[]")
}

// errorCells are the errors of a row in percent, fitted figures in brackets, and the mean of the
// others without their signs.
func errorCells(t *testing.T, experiment string, s *results.Set) string {
	t.Helper()
	var sum, n float64
	cells := map[string]string{}
	for _, f := range figuresOf(t, experiment) {
		err := f.errorOf(s)
		cells[f.probe] = " " + percent(err)
		if f.fitted {
			cells[f.probe] = " (" + percent(err) + ")"
			continue
		}
		sum += math.Abs(err)
		n++
	}
	out := ""
	for _, probe := range probeNames() {
		out += cells[probe] + " |"
	}
	return out + fmt.Sprintf(" %.1f |", sum/n)
}

// figure is a published figure of a row. Sets that were observed under settings do not have it.
type figure struct {
	probe  string
	us     float64
	fitted bool
}

// figuresOf returns the published figures of an experiment as its file stands.
func figuresOf(t *testing.T, experiment string) []figure {
	t.Helper()
	p := require.Must(planning.NewLoader().Plan(experiment, nil))(t)
	var out []figure
	for i := range p.Points {
		pr := &p.Points[i].Probe
		out = append(out, figure{pr.Name, pr.Published.Micros.Float(), pr.Role == results.Fitted})
	}
	return out
}

// errorOf is how far a set is from the figure, in percent.
func (f figure) errorOf(s *results.Set) float64 {
	for _, p := range s.Points() {
		if r, ok := s.Get(p, results.MetricMicros); ok && p.Probe == f.probe {
			return 100 * (r.Value.Float() - f.us) / f.us
		}
	}
	return math.NaN()
}

// percent writes an error in whole percent, with a sign when it is one.
func percent(v float64) string {
	if math.Abs(v) < 0.5 {
		return "0"
	}
	return fmt.Sprintf("%+.0f", v)
}

// exceptionsTable solves two equations for each row of 2005: k is two exceptions and the code around them,
// r - k one exception and code. Taking the code's shape from the simulation, they say what an exception with its
// return and that code would have to take to meet both figures.
func exceptionsTable(t *testing.T) string {
	t.Helper()
	out := "| machine | `r - k`, published | its code, simulated | an exception and iret | solved | the code's share of its simulated time |\n|---|---|---|---|---|---|\n"
	for _, r := range publishedRows()[:2] {
		p := parameters(t, r.machine)
		s := runSet(t, r.experiment, nil)
		k, kWant := quantity(s, "k", "")
		rest, restWant := quantity(s, "r", "k")
		each := float64(p[breakpointKey] + p[iretKey])
		codeK, codeR := k-2*each, rest-each
		// 2x + codeK y = kWant and x + codeR y = restWant
		y := (2*restWant - kWant) / (2*codeR - codeK)
		out += fmt.Sprintf("| %s | %.0f | %.0f | %.0f | %.0f | %.2f |\n", r.machine, restWant, codeR, each, restWant-codeR*y, y)
	}
	return out
}

// secondTable compares what is published of a second probe at an address, which two differences of each row of 2005
// show, and of a jprobe beside a return probe.
func secondTable(t *testing.T) string {
	t.Helper()
	out := "| machine | `kr - r`, published | simulated | `(jr - j) - (r - k)`, published | simulated | `j - r`, published | simulated |\n" +
		"|---|---|---|---|---|---|---|\n"
	for _, r := range publishedRows()[:3] {
		s := runSet(t, r.experiment, nil)
		second, secondWant := quantity(s, "kr", "r")
		atJprobe, atJprobeWant := quantity(s, "jr", "j")
		atKprobe, atKprobeWant := quantity(s, "r", "k")
		jprobe, jprobeWant := quantity(s, "j", "r")
		out += fmt.Sprintf("| %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f |\n", r.machine, secondWant, second,
			atJprobeWant-atKprobeWant, atJprobe-atKprobe, jprobeWant, jprobe)
	}
	return out
}

const (
	iretKey       = "cost.iret.issue"
	narrow        = "overhead-xeon-e5410-i386"
	breakpointKey = "event.exception_breakpoint.cycles"
	debugKey      = "event.exception_debug.cycles"
	moreKey       = "event.exception_debug.more"
)

// deliveryTable shows what becomes of the E5410's row of 32-bit mode by three ways to get the delivery of
// its exceptions: the numbers of 64-bit mode, one number of its own, two of its own.
func deliveryTable(t *testing.T) string {
	t.Helper()
	wide, own := parameters(t, "xeon-e5410"), parameters(t, "xeon-e5410-i386")
	fitted := runSet(t, narrow, nil)
	k, published := quantity(fitted, "k", "")
	both := own[moreKey] + int64(math.Round(published-k))
	out := "| #BP | #DB | | k | b | o | r | rb | ro |\n|---|---|---|---|---|---|---|---|---|\n"
	for _, c := range []struct {
		from              string
		breakpoint, debug int64
		set               *results.Set
	}{
		{"64-bit mode", wide[breakpointKey], wide[debugKey], runSet(t, narrow, []string{
			fmt.Sprintf("machine.%s=%d", breakpointKey, wide[breakpointKey]),
		})},
		{"fitted on `b`", own[breakpointKey], own[breakpointKey] + own[moreKey], fitted},
		{"fitted on `b` and `k`", own[breakpointKey], own[breakpointKey] + both, runSet(t, narrow, []string{
			fmt.Sprintf("machine.%s=%d", moreKey, both),
		})},
	} {
		out += fmt.Sprintf("| %d | %d | %s |", c.breakpoint, c.debug, c.from)
		for _, f := range figuresOf(t, narrow) {
			out += " " + percent(f.errorOf(c.set)) + " |"
		}
		out += "\n"
	}
	return out
}

// parameters returns what a machine's exceptions take, in whole cycles.
func parameters(t *testing.T, machine string) map[string]int64 {
	t.Helper()
	m, err := planning.NewLoader().Machine(machine, "", nil)
	require.NoError(t, err)
	all := map[string]int64{}
	for _, p := range m.Params {
		if slices.Contains([]string{breakpointKey, debugKey, moreKey, iretKey}, p.Path) {
			if all[p.Path], err = strconv.ParseInt(p.Value, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

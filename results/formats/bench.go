package formats

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"kprobesim/internal/distinct"
	"kprobesim/results"
)

// BenchMetric maps a metric to a unit of the benchmark format.
type BenchMetric struct {
	Metric string
	Unit   string
	Better string // "lower", "higher", or "" for a number that is neither good nor bad
}

// BenchOptions names the benchmark (an upper-case word) and chooses what its lines hold.
type BenchOptions struct {
	Name    string
	Metrics []BenchMetric
}

// OverheadBench is the usual choice for an experiment that measures the overhead of probe hits.
func OverheadBench() BenchOptions {
	return BenchOptions{Name: "Overhead", Metrics: []BenchMetric{
		{results.MetricCycles, "cycles/hit", lower},
		{results.MetricMicros, "us/hit", lower},
		{results.MetricInstructions, "instructions/hit", lower},
		{results.MetricFirst, "cycles/first-hit", lower},
		{results.MetricCalls, "calls", ""},
		{results.MetricHitsMissed, "missed-hits", ""},
		{results.MetricReturns, "missed-returns", ""},
	}}
}

// Which of two values is the better one, as benchstat reads it.
const (
	lower  = "lower"
	higher = "higher"
)

// KindBench takes every metric of a set, each under its own name, for experiments that measure something else.
// Published values are left out: nobody compares them between runs. The name of the kind becomes that of the
// benchmark, "irq-off" for instance IrqOff.
func KindBench(kind string, s *results.Set) BenchOptions {
	opt := BenchOptions{}
	for word := range strings.SplitSeq(kind, "-") {
		first, size := utf8.DecodeRuneInString(word)
		opt.Name += string(unicode.ToUpper(first)) + word[size:]
	}
	seen := map[string]bool{}
	for r := range s.All() {
		if !seen[r.Metric] && r.Role != results.Measured {
			seen[r.Metric] = true
			opt.Metrics = append(opt.Metrics, BenchMetric{r.Metric, benchWord(r.Metric), betterOf(r.Unit)})
		}
	}
	return opt
}

// betterOf judges by the unit: time is a cost, a rate is not, and of counts nobody can say.
func betterOf(unit string) string {
	switch unit {
	case "us", "cycles", "instructions":
		return lower
	case "million hits": // a second
		return higher
	}
	return ""
}

// BenchText writes a set in the Go benchmark format (golang.org/x/perf/benchfmt), one line a point,
// named Benchmark<Name>/probe=<probe>, with the rest of the point as file configuration. The
// iteration count is the metric "hits" where there is one. Units are declared exact: a simulation
// has no noise, so benchstat must not look for it. Replicates are lines of one name, and units are not
// exact then: benchstat compares the replicates of two files and computes p-values. Points with none of
// the metrics are left out.
func BenchText(s *results.Set, opt BenchOptions) []byte {
	var b bytes.Buffer
	_ = WriteBench(&b, s, opt) // a buffer takes everything
	return b.Bytes()
}

// WriteBench writes what BenchText returns.
func WriteBench(w io.Writer, s *results.Set, opt BenchOptions) error {
	b := bufio.NewWriter(w) // Flush has the error
	assume := " assume=exact"
	if s.Replicated() {
		assume = ""
	}
	units := unitsOf(s, opt.Metrics)
	for _, m := range opt.Metrics {
		better := ""
		if m.Better != "" {
			better = " better=" + m.Better
		}
		for _, unit := range units[m.Metric] {
			if better+assume != "" {
				fmt.Fprintf(b, "Unit %s%s%s\n", unit, better, assume)
			}
		}
	}
	var config string
	for _, p := range s.Points() {
		values := benchValues(s, p, opt.Metrics)
		if values == "" {
			continue
		}
		if c := configOf(s, p); c != config {
			config = c
			b.WriteString(c)
		}
		fmt.Fprintf(b, "Benchmark%s/probe=%s %d%s\n", opt.Name, benchWord(p.Probe), hits(s, p), values)
	}
	return b.Flush()
}

// configOf are the configuration lines of a point: what its name does not say, the swept keys, and the settings under a key
// of their own. Keys of the format have no capitals.
func configOf(s *results.Set, p results.Point) string {
	text := fmt.Sprintf("\nexperiment: %s\nmachine: %s\nisa: %s\nera: %s\ncpus: %d\nseed: %d\n", p.Experiment, p.Machine, p.ISA, p.Era, p.CPUs, p.Seed)
	for _, a := range s.Axes {
		text += strings.TrimSpace(fmt.Sprintf("%s: %s %s", strings.ToLower(a.Key), a.Cell(p), a.Unit)) + "\n"
	}
	if len(s.Overrides) > 0 {
		text += fmt.Sprintf("set: %s\n", packOverrides(s.Overrides))
	}
	return text + "\n"
}

func benchValues(s *results.Set, p results.Point, metrics []BenchMetric) string {
	var text strings.Builder
	for _, m := range metrics {
		if r, ok := s.Get(p, m.Metric); ok {
			fmt.Fprintf(&text, " %s %s", r.Value, unitAt(s, p, m))
		}
	}
	return text.String()
}

// unitAt is the unit of a metric at a point. Figures of hits of which some were missed have another one: benchstat compares
// what has the same.
func unitAt(s *results.Set, p results.Point, m BenchMetric) string {
	if s.Mark(p, m.Metric) == "" {
		return m.Unit
	}
	return m.Unit + "-some-missed"
}

// unitsOf are the units that each metric has in a set.
func unitsOf(s *results.Set, metrics []BenchMetric) map[string][]string {
	units := map[string][]string{}
	for r := range s.All() {
		i := slices.IndexFunc(metrics, func(m BenchMetric) bool { return m.Metric == r.Metric })
		if i < 0 {
			continue
		}
		units[r.Metric] = distinct.Append(units[r.Metric], unitAt(s, r.Point, metrics[i]))
	}
	return units
}

func hits(s *results.Set, p results.Point) int64 {
	r, _ := s.Get(p, results.MetricHits)
	return max(1, int64(r.Value.Float())) // zero where there is none
}

// benchWord makes one word: the format parts its fields by white space.
func benchWord(s string) string {
	return strings.Join(strings.FieldsFunc(s, unicode.IsSpace), "_")
}

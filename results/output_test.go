package results

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestBenchText(t *testing.T) {
	set := sample(t)
	p := set.Points()[0]
	check(t, set.Add(Record{p, MetricHits, "hits", value(t, "1000"), Predicted, "", Interval{}}))
	p.CPUs, p.Probe = 2, "k/work=100 loops"
	check(t, set.Add(Record{p, MetricCycles, "cycles", value(t, "2500"), Predicted, "", Interval{}}))
	p.Machine = "other"
	check(t, set.Add(Record{p, MetricPublished, "us", value(t, "1"), Measured, "", Interval{}}))
	data, err := BenchText(set, OverheadBench())
	check(t, err)
	golden(t, "bench.txt", data)
	grammar := regexp.MustCompile(`^(|[a-z]+: \S.*|Unit \S+( \S+=\S+)+|` +
		`Benchmark[A-Z]\S* [1-9][0-9]*( [0-9.]+ \S+)+)$`)
	for _, text := range strings.Split(string(data), "\n") {
		if !grammar.MatchString(text) {
			t.Errorf("line %q is not of the benchmark format", text)
		}
	}
}

// TestKindBench has every metric of a kind that is not the overhead of a hit, and says which way each is better.
func TestKindBench(t *testing.T) {
	set := &Set{}
	p := Point{Experiment: "scaling", Machine: "m", ISA: "i", Era: "2010", CPUs: 4, Probe: "k"}
	check(t, set.Add(
		Record{Point: p, Metric: "hits_per_second", Unit: "million hits", Value: value(t, "1.5"), Role: Simulated},
		Record{Point: p, Metric: "us_delay", Unit: "us", Value: value(t, "5"), Role: Simulated},
		Record{Point: p, Metric: "calls_missed", Unit: "calls", Value: value(t, "7"), Role: Simulated},
		Record{Point: p, Metric: MetricPublished, Unit: "us", Value: value(t, "7"), Role: Measured},
	))
	data, err := BenchText(set, KindBench("optimize-latency", set))
	check(t, err)
	for _, want := range []string{
		"Unit hits_per_second better=higher assume=exact\n", "Unit us_delay better=lower assume=exact\n",
		"Unit calls_missed assume=exact\n", "\nBenchmarkOptimizeLatency/probe=k 1 1.5 hits_per_second 5 us_delay 7 calls_missed\n",
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %q in\n%s", want, data)
		}
	}
	if strings.Contains(string(data), "published") {
		t.Errorf("a published value is among the benchmarks:\n%s", data)
	}
}

func TestBenchTextRefuses(t *testing.T) {
	for _, opt := range []BenchOptions{
		{Name: "overhead"},
		{Name: ""},
		{Name: "Over head"},
		{Name: "O", Metrics: []BenchMetric{{MetricCycles, "cycles a hit", lower}}},
		{Name: "O", Metrics: []BenchMetric{{MetricCycles, "", lower}}},
	} {
		if _, err := BenchText(sample(t), opt); err == nil {
			t.Errorf("%+v was taken", opt)
		}
	}
}

func overheadTable(t *testing.T) *Table {
	set := sample(t)
	p := set.Points()[0]
	p.Probe = "j" // published alone
	check(t, set.Add(Record{p, MetricPublished, "us", value(t, "1.10"), Measured, "", Interval{}}))
	table := Tabulate(set, OverheadColumns(samplePhases()))
	table.Title = "Overhead of a probe hit: xeon-e5410, x86_64, era 2010, 1 CPU"
	table.Notes = []string{"published: Documentation/kprobes.txt, 2010", "fitted on k and b"}
	return table
}

func TestTable(t *testing.T) {
	golden(t, "table.txt", []byte(overheadTable(t).Text()))
}

func TestBlankRepeats(t *testing.T) {
	table := &Table{Rows: [][]string{{"a", "1", "x"}, {"a", "1", "y"}, {"a", "2", "z"}, {"a", "1", "y"}}}
	table.BlankRepeats(2)
	want := [][]string{{"a", "1", "x"}, {"", "", "y"}, {"a", "2", "z"}, {"a", "1", "y"}}
	if !slices.EqualFunc(table.Rows, want, slices.Equal) {
		t.Errorf("rows %q, want %q", table.Rows, want)
	}
}

func TestTableWidths(t *testing.T) {
	table := &Table{
		Columns: []Column{{"näme", Left}, {"µs\nje|hit", Right}, {Title: "x"}},
		Rows:    [][]string{{"日本", "1.0"}, {"e\u0301", "10.0", "y"}, {"plain", "", "z"}, {}},
	}
	want := strings.Join([]string{
		"           µs",
		"näme   je|hit  x",
		"----------------",
		"日本      1.0",
		"e\u0301        10.0  y",
		"plain          z",
		"", "",
	}, "\n")
	if got := table.Text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := (&Table{}).Text(); got != "\n" {
		t.Errorf("an empty table is %q", got)
	}
}

package measured

import (
	"fmt"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
)

// system are lines that each table has.
var system = []string{
	"kernel 6.1.0-56-amd64", "isa x86_64", "processor Some(R) Processor, \"fast\"   2.00GHz", "cpus online=2 hypervisor=0",
	"tsc khz=2000000 constant=1", "mitigations pti", "clock adds=1000 ticks=500,500,500,500,500",
}

// rows are two kinds of hit, each tick of which is two cycles and half a nanosecond.
var rows = []string{
	"row k probes=1 handler=empty post=0 calls=10 hits=10 base=100,100,110,120,200 with=1100,1110,1210,1310,2000",
	"row o probes=4 handler=count post=0 calls=10 hits=40 base=100,100,100,100,100 with=500,500,500,500,500",
	"absent b hit as k",
	"clock adds=1000 ticks=600,600,600,600,600",
}

// logOf is a kernel's log with a table of the given lines.
func logOf(lines ...string) string {
	var b strings.Builder
	sum := uint32(0)
	b.WriteString("[    1.5] something else\r\n[    2.0] kprobesim-measure 1 begin\r\n")
	for _, l := range lines {
		for _, c := range []byte(l + "\n") {
			sum = sum*31 + uint32(c)
		}
		fmt.Fprintf(&b, "[    2.5] kprobesim-measure 1 %s\r\n", l)
	}
	fmt.Fprintf(&b, "[    3.0] kprobesim-measure 1 end lines=%d sum=%08x\r\n[    3.5] reboot\r\n", len(lines), sum)
	return b.String()
}

// good is a log with a table.
func good() string { return logOf(append(append([]string{}, system...), rows...)...) }

// TestSet holds the records of a table against what its lines come to.
func TestSet(t *testing.T) {
	table := require.Must(Read(good()))(t)
	s := require.Must(table.Set("", results.Measured))(t)
	n := len(s.Points())
	require.Need(t, n == 2, "%d points, want 2", n)
	p := s.Points()[0]
	if want := (results.Point{Experiment: "measure", Machine: "Some(R) Processor fast 2.00GHz", ISA: "x86_64", Era: "6.1.0-56-amd64", CPUs: 1, Probe: "k/probes=1/handler=empty"}); p != want {
		t.Errorf("point %+v, want %+v", p, want)
	}
	for metric, want := range map[string]string{
		results.MetricCycles: "220", results.MetricMicros: "0.055", MetricLeast: "200", MetricSpread: "40", MetricCall: "22", MetricCalled: "242",
	} {
		r, ok := s.Get(p, metric)
		require.That(t, ok && r.Value.String() == want && r.Role == results.Measured && strings.Contains(r.Source, "Linux 6.1.0-56-amd64"), "%s is %s, want %s: %+v", metric, r.Value, want, r)
	}
	r, _ := s.Get(s.Points()[1], results.MetricCycles)
	require.That(t, r.Value.String() == "20", "a hit of four probes takes %s cycles, want 20", r.Value)
	fitted := require.Must(table.Set("mine", results.Simulated, p.Probe))(t)
	for i, want := range []results.Role{results.Fitted, results.Simulated} {
		r, _ := fitted.Get(fitted.Points()[i], results.MetricCycles)
		require.That(t, r.Role == want, "%s is %s, want %s", r.Probe, r.Role, want)
	}
	simulated := require.Must(table.Set("mine", results.Simulated))(t)
	if r, _ := simulated.Get(simulated.Points()[0], results.MetricCycles); r.Machine != "mine" || r.Role != results.Simulated || r.Source != "" {
		t.Errorf("simulated: %+v", r)
	}
}

// TestNotes wants the reader told of what his figures depend on.
func TestNotes(t *testing.T) {
	lines := append(append([]string{}, system...), rows...)
	lines[3], lines[4] = "cpus online=2 hypervisor=1", "tsc khz=2000000 constant=0"
	said := strings.Join(require.Must(Read(logOf(lines...)))(t).Notes(), "\n")
	for _, want := range []string{"mitigations: pti", "not there: b hit as k", "virtual machine", "follows the core's clock", "took 500 ticks before the rows and 600 behind"} {
		require.That(t, strings.Contains(said, want), "the notes say nothing of %q:\n%s", want, said)
	}
	lines = append(append([]string{}, system...), rows[0], "clock adds=1000 ticks=509,509,509,509,509")
	if said := strings.Join(require.Must(Read(logOf(lines...)))(t).Notes(), "\n"); strings.Contains(said, "moved") || strings.Contains(said, "virtual") {
		t.Errorf("notes of a steady machine:\n%s", said)
	}
}

// TestLast reads the last of several tables, whatever a log puts in front of its lines.
func TestLast(t *testing.T) {
	second := logOf(append(append([]string{}, system...), rows[1], rows[3])...)
	for _, log := range []string{good() + second, strings.ReplaceAll(second, "[    2.5] ", "Nov 25 19:00:00 host kernel: "), Lines(good() + second)} {
		table := require.Must(Read(log))(t)
		require.That(t, len(table.Rows) == 1 && table.Rows[0].Kind == "o", "rows %+v of\n%s", table.Rows, log)
	}
}

// TestRefused wants a message that says what is wrong with a log, and what to do.
func TestRefused(t *testing.T) {
	line := func(old, now string) string {
		lines := append(append([]string{}, system...), rows...)
		return logOf(strings.Split(strings.ReplaceAll(strings.Join(lines, "\n"), old, now), "\n")...)
	}
	for want, log := range map[string]string{
		"no line of the module":                  "[    1.0] Linux version\nkprobesim-measure: a sentence\n",
		"is of version 2":                        strings.ReplaceAll(good(), "measure 1 ", "measure 2 "),
		"the table has no beginning":             good()[strings.Index(good(), "isa")-30:],
		"without its last one":                   good()[:strings.Index(good(), "absent")],
		"has 9 lines, and the module printed 11": strings.ReplaceAll(strings.ReplaceAll(good(), "kprobesim-measure 1 row", ""), "x", ""),
		"a line was changed":                     strings.Replace(good(), "with=1100", "with=1101", 1),
		"times of with are not in order":         line("with=1100", "with=1111"),
		"with has 2 times in place of five":      line("with=500,500,500,500,500", "with=500,500"),
		"calls= is no number":                    line("calls=10 hits=40 ", "hits=40 "),
		"hits=-40 is no number":                  line("hits=40", "hits=-40"),
		"without calls, hits or a name":          line("hits=40", "hits=0"),
		"a clock that stands still":              line("ticks=500,500,500,500,500", "ticks=0,0,0,0,0"),
		`the table has no line "isa"`:            line("isa x86_64\n", ""),
		"no frequency":                           line("khz=2000000", "khz=0"),
		"b hit as k; nothing":                    logOf(append(append([]string{}, system...), rows[2])...),
		"the last line of the table is":          strings.Replace(good(), "end lines=11", "end rows=11", 1),
	} {
		require.Error(t, require.Err(Read(log)), want, "")
	}
	require.NoError(t, require.Err(Read(line("khz=2000000", "khz=1"))))
	for _, change := range [][2]string{
		{"row o", "row "}, {"handler=count", "handler="}, {"calls=10 hits=40", "calls=0 hits=40"}, {"hits=40", "hits=0"}, {"probes=4", "probes=0"},
	} {
		require.Error(t, require.Err(Read(line(change[0], change[1]))), "a row without calls, hits or a name", "%s", change[1])
	}
}

// FuzzRead reads what is no log. It must not fail otherwise than by an error, and what it reads has records.
func FuzzRead(f *testing.F) {
	f.Add(good())
	f.Add(logOf("row k probes=1"))
	f.Fuzz(func(t *testing.T, log string) {
		table, err := Read(log)
		if err != nil {
			return
		}
		if s, err := table.Set("m", results.Measured); err == nil && len(s.Points()) == 0 {
			t.Errorf("no points of %q", log)
		}
		table.Notes()
	})
}

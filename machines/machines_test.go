package machines

import (
	_ "embed"
	"fmt"
	"maps"
	"math/bits"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/doc"
	"kprobesim/internal/require"
)

// made is a description for an instruction set of one class and two events. Its lines have 128 bytes.
//
//go:embed testdata/made.toml
var made string

// read reads a description for the made-up instruction set.
func read(t *testing.T, text string) (*Machine, error) {
	t.Helper()
	root := require.Must(doc.Parse("folder/made.toml", []byte(text)))(t)
	isa := &cpus.ISA{
		Name: "made", Bits: 64, Classes: []string{"alu"}, Events: []string{"mispredict", "trap"}, Ports: []string{"alu"},
		Answers: []cpus.AnswerTable{{Name: "asked", Columns: []cpus.Number{{Name: "a", Most: 16}, {Name: "b", Most: 16}}}},
	}
	var errs doc.Errors
	m := Read(root, []*cpus.ISA{isa}, &errs)
	return m, errs.Err()
}

func TestRead(t *testing.T) {
	m := require.Must(read(t, made))(t)
	c := m.CPU
	require.That(t, m.Title == "Made up" && m.TimerHz == 200e6 && c.Hz == 2e9 && c.Model == cpus.Throughput && c.L1D.Line == 128, "read %+v", m)
	if c.Classes["alu"].Issue != clock.PerCycle/4 || c.Ports["alu"] != clock.PerCycle/3 {
		t.Errorf("a uop of a core that issues four a cycle takes %d ticks, its port is busy for %d", c.Classes["alu"].Issue, c.Ports["alu"])
	}
	if got := c.Events["mispredict"]; got != clock.FromCycles(102) {
		t.Errorf("an event that costs two cycles more than one of 100 costs %d ticks", got)
	}
	if params := m.FittedParams(); len(params) != 1 || params[0].Path != "event.trap.cycles" || params[0].Pos.Line == 0 {
		t.Errorf("fitted are %+v", params)
	}
	if on := m.FittedOn(); !slices.Equal(on, []string{"k"}) {
		t.Errorf("fitted on %v", on)
	}
	require.That(t, m.Experiment == "folder/figures.toml" && m.CalibratedBy("other", "./folder/figures.toml") && !m.CalibratedBy("other", "figures.toml"), "fitted on the figures of %s", m.Experiment)
	require.That(t, m.CalibratedBy("other", require.Must(filepath.Abs("folder/figures.toml"))(t)), "a path from the root is another")
}

// The description states an uncertainty, or it follows from the source.
func TestUncertainty(t *testing.T) {
	for _, c := range []struct{ with, source, want string }{
		{"", "book: 6", "10 %"},
		{"", "book: no figure, a prior", "30 %"},
		{`uncertainty = "20 %", `, "book: 6", "20 %"},
		{`uncertainty = "1.5 cycles", `, "book: 6", "1.5 cycles"},
	} {
		text := strings.Replace(made, `alu = { cycles = "1/3", source = "book: 6" }`,
			"alu = { "+c.with+`cycles = "1/3", source = "`+c.source+`" }`, 1)
		m := require.Must(read(t, text))(t)
		for _, p := range m.Params {
			if p.Path == "port.alu.cycles" && (p.Uncertainty.String() != c.want || p.Uncertainty.Stated != (c.with != "")) {
				t.Errorf("%s %s: uncertainty %+v, want %s", c.with, c.source, p.Uncertainty, c.want)
			}
		}
	}
}

// TestSpared reads a description that leaves events out, and one that prices one of them.
func TestSpared(t *testing.T) {
	for own, want := range map[string]clock.Ticks{"": 100, "\nheir = { cycles = 7, source = \"book: 8\" }": 7} {
		text := strings.Replace(made, "\n[cost]", own+"\n[cost]", 1)
		root := require.Must(doc.Parse("folder/made.toml", []byte(text)))(t)
		var errs doc.Errors
		m := Read(root, []*cpus.ISA{{
			Name: "made", Bits: 64, Classes: []string{"alu"}, Events: []string{"mispredict", "trap", "heir", "free"},
			Ports: []string{"alu"}, Spared: map[string]string{"heir": "trap", "free": ""},
		}}, &errs)
		require.NoError(t, errs.Err())
		c := m.CPU
		require.That(t, c.Events["heir"] == want*clock.PerCycle && c.Events["free"] == 0, "%q: %v", own, c.Events)
	}
}

// TestCosts reads the keys of a class that only one cost model looks at.
func TestCosts(t *testing.T) {
	const slot = clock.PerCycle / 4
	for _, c := range []struct {
		text string
		want cpus.Cost
	}{
		{`uops = 2, latency = 1, port = "alu"`, cpus.Cost{Issue: 2 * slot, Slots: 2 * slot, Latency: clock.PerCycle, Port: "alu"}},
		{`issue = 18, slots = 4, latency = 18, occupancy = 17, port = "alu", unit = "divider"`, cpus.Cost{
			Issue: 18 * clock.PerCycle, Slots: 4 * slot, Latency: 18 * clock.PerCycle, Occupancy: 17 * clock.PerCycle, Port: "alu", Unit: "divider",
		}},
		{`issue = 20, serialize = true`, cpus.Cost{Issue: 20 * clock.PerCycle, Serialize: true}},
	} {
		text := strings.Replace(made, `alu = { uops = 1, latency = 1, port = "alu"`, "alu = { "+c.text, 1)
		text = strings.Replace(text, "[event]", "divider = { cycles = 1, source = \"book: 6\" }\n[event]", 1)
		m, err := read(t, text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if got := m.CPU.Classes["alu"]; got != c.want {
			t.Errorf("%s: read %+v, want %+v", c.text, got, c.want)
		}
	}
}

// TestTimes reads costs that are times: as many ticks as the clock of 2 GHz makes of them, the nearest number. A parameter has cycles.
func TestTimes(t *testing.T) {
	root := require.Must(doc.Parse("folder/made.toml", []byte(made)))(t)
	for written, want := range map[string]struct {
		ticks clock.Ticks
		text  string
	}{
		`"80 ns"`: {160 * clock.PerCycle, "160"}, `"0.1 us"`: {200 * clock.PerCycle, "200"}, `"0.25 ns"`: {30, "30/60"}, `"0.01 ns"`: {1, "1/60"}, `"0.0125 ns"`: {2, "2/60"}, `"0.0124 ns"`: {1, "1/60"}, "7": {420, "7"}, "100000": {MaxCost, "100000"}, `"50 us"`: {MaxCost, "100000"}, `"3/2 cycles"`: {90, "3/2 cycles"},
	} {
		changed := root.Clone()
		s := require.Must(doc.ParseSetting("memory.latency=" + written))(t)
		require.NoError(t, s.Apply(changed))
		var errs doc.Errors
		m := Read(changed, []*cpus.ISA{{Name: "made", Bits: 64, Classes: []string{"alu"}, Events: []string{"mispredict", "trap"}, Ports: []string{"alu"}}}, &errs)
		i := slices.IndexFunc(m.Params, func(p Param) bool { return p.Path == "memory.latency" })
		require.That(t, errs.Err() == nil && m.CPU.Memory == want.ticks && m.Params[i].Value == want.text, "%s: %d ticks, %q, %v; want %d, %q", written, m.CPU.Memory, m.Params[i].Value, errs.Err(), want.ticks, want.text)
	}
}

// An overridden number has no source that vouches for it; those beside it keep theirs.
func TestMark(t *testing.T) {
	m := require.Must(read(t, made))(t)
	s := require.Must(doc.ParseSetting("memory.latency=300"))(t)
	m.Mark(s)
	for _, p := range m.Params {
		require.That(t, strings.HasPrefix(p.Source, "overridden by ") == (p.Path == "memory.latency"), "%s has the source %q", p.Path, p.Source)
	}
}

// A description is refused with the place of every mistake.
func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`isa = "made"`, `isa = "other"`, `unknown value "other": known are made`},
		{`line = "128 B", latency = 3, source = "book: 3" }`, `line = "96 B", latency = 3, source = "book: 3" }`, "line of 96 bytes"},
		{`source = "book: 4"`, `source = "tale: 4"`, `folder/made.toml:30:10: memory.source: "tale" is not in [sources]`},
		{`isa = "made"`, "isa = \"made\"\nunknown = 1", `unknown key "unknown"`},
		{`source = "book: 4"`, "fitted = [\"k\"]\nsource = \"fitted: k\"", "folder/made.toml:39:19: 2 parameters are fitted on 1 figures (k): never more parameters than figures"},
		{`source = "book: 4"`, `source = "book"`, `say behind the colon where in "book"`},
		{`source = "book: 4"`, `source = "book: "`, `say behind the colon where in "book"`},
		{`model = "throughput"`, `model = "fast"`, `unknown value "fast"`},
		{"width = 4", "width = 9", "9 is outside 1 to 8"},
		{"window = 96", "window = 0", "0 is outside 1 to 1024"},
		{"store_buffer = 20", "store_buffer = 1025", "1025 is outside 1 to 1024"},
		{"[predictor]", "[groups]\nbranch_slots = 6\nsource = \"book: 2\"\n[predictor]", "6 is outside 0 to 5"},
		{"history_bits = 8", "history_bits = 33", "33 is outside 0 to 32"},
		{"table_bits = 12", "table_bits = 0", "0 is outside 1 to 24"},
		{"target_entries = 2048", "target_entries = 0", "0 is outside 1 to 65536"},
		{"return_stack = 16", "return_stack = 0", "0 is outside 1 to 1024"},
		{"ways = 8, line", "ways = 33, line", "33 is outside 1 to 32"},
		{"{ entries = 128", "{ entries = 0", "0 is outside 1 to 65536"},
		{"uops = 1, latency", "uops = 1001, latency", "1001 is outside 1 to 1000"},
		{`cycles = 100, fitted = ["k"], source = "fitted: published k of figures"`, `cycles = 100, fitted = [], source = "fitted: k"`, "not marked fitted"},
		{"[calibration]\nexperiment = \"./figures.toml\"\n", "", "need [calibration] experiment"},
		{`uops = 1, latency = 1, port = "alu"`, `uops = 1, latency = 1, unit = "alus"`, `cost.alu.unit: unknown value "alus"`},
		{`uops = 1, latency = 1, port`, `issue = 1, port`, "cost.alu.latency is missing"},
		{`alu = { cycles = "1/3"`, `alu = { cycles = "100001"`, "is the unit right?"},
		{"latency = 280", `latency = "50.001 us"`, "50.001 us is more than 100000 cycles: is the unit right?"},
		{`alu = { cycles = "1/3"`, `alu = { uncertainty = 20, cycles = "1/3"`, "port.alu.uncertainty: want a share or cycles"},
		{`alu = { cycles = "1/3"`, `alu = { uncertainty = "120 %", cycles = "1/3"`, "more than the number itself"},
	} {
		text := strings.Replace(made, c.old, c.new, 1)
		require.Need(t, text != made, "%s is not in the description", c.old)
		require.Error(t, require.Err(read(t, text)), c.want, "%s", c.new)
	}
}

// TestStride takes any power of two as the number of loads that are followed.
func TestStride(t *testing.T) {
	for n := range 66 {
		text := strings.Replace(made, "[predictor]", fmt.Sprintf("[prefetch]\nin_flight = 8\nsource = \"book: 2\"\n[prefetch.stride]\nentries = %d\nmost = 2048\nsource = \"book: 2\"\n[predictor]", n), 1)
		_, err := read(t, text)
		require.That(t, (err == nil) == (bits.OnesCount(uint(n)) == 1), "%d: %v", n, err)
	}
}

// TestAnswers reads the rows of a processor's tables. They are no parameters, as they cost nothing.
func TestAnswers(t *testing.T) {
	rows := "[asked.0x4-1]\na = 0x10\nsource = \"book: 9\"\n[asked.7]\nb = 3\nsource = \"book: 9\"\n"
	m := require.Must(read(t, made+rows))(t)
	want := map[uint64][]uint64{4 | 1<<32: {0x10, 0}, 7: {0, 3}}
	if got := m.CPU.Answers["asked"]; !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("read %v, want %v", got, want)
	}
	require.That(t, !slices.ContainsFunc(m.Params, func(p Param) bool { return strings.HasPrefix(p.Path, "asked") }), "an answer is a parameter")
	for bad, want := range map[string]string{
		"[asked.0x100000000]\na = 1\nsource = \"book: 9\"\n":                   "is no number of 32 bits, or two with a dash between",
		"[asked.0-0x100000000]\na = 1\nsource = \"book: 9\"\n":                 "is no number of 32 bits, or two with a dash between",
		"[asked.x]\na = 1\nsource = \"book: 9\"\n":                             `"x" is no number of 32 bits`,
		"[asked.1]\na = 1\n":                                                   "source",
		"[asked.1]\nsource = \"book: 9\"\n[asked.0x1]\nsource = \"book: 9\"\n": "is the same number",
		"[asked.1]\nc = 1\nsource = \"book: 9\"\n":                             `unknown key "asked.1.c"`,
		"[asked.1]\na = 99\nsource = \"book: 9\"\n":                            "99 is outside 0 to 16",
	} {
		require.Error(t, require.Err(read(t, made+bad)), want, "%q", bad)
	}
}

package formats

import (
	"bytes"
	"flag"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestCSV(t *testing.T) {
	data := CSV(resultstest.Sample(t))
	require.Golden(t, *update, "results.csv", data)
	set := require.Must(ReadCSV("results.csv", strings.NewReader(string(data))))(t)
	again := CSV(set)
	require.That(t, bytes.Equal(again, data), "read back, it is\n%s", again)
}

func TestReadCSVRefuses(t *testing.T) {
	header := strings.Join(results.Columns(), ",") + "\n"
	row := "e,m,i,2010,1,1,k,c,cycles,1.5,fitted\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "f:1: header is"},
		{"other header", "a,b\n", "f:1: header is"},
		{"cut", header + strings.TrimSuffix(row, "\n"), "f:2: the last line does not end"},
		{"few fields", header + row + "e,m\n", "f:3: 2 fields, want 11"},
		{"empty line", header + row + "\n", "f:3: 1 fields"},
		{"carriage return", header + strings.Replace(row, "\n", "\r\n", 1), "f:2: "},
		{"cpus", header + strings.Replace(row, ",1,1,", ",01,1,", 1), "f:2: "},
		{"seed", header + strings.Replace(row, ",1,1,", ",1,-1,", 1), `f:2: seed "-1"`},
		{"no number of cpus", header + strings.Replace(row, ",1,1,", ",x,1,", 1), `f:2: cpus "x" is not a plain number`},
		{"value", header + strings.Replace(row, "1.5", "1e5", 1), `f:2: value "1e5"`},
		{"role", header + strings.Replace(row, "fitted", "Fitted", 1), `f:2: record e k c: role "Fitted"`},
		{"quoted", header + strings.Replace(row, "e,", `"e",`, 1), "f:2: "},
		{"twice", header + row + row, "f:3: record e k c is there twice"},
	} {
		_, err := ReadCSV("f", strings.NewReader(c.text))
		require.That(t, err != nil && strings.HasPrefix(err.Error(), c.want), "%s: error %v, want %q", c.name, err, c.want)
	}
}

// FuzzReadCSV holds the reader to its word: no panic, and what it accepts comes back byte for byte.
func FuzzReadCSV(f *testing.F) {
	header := strings.Join(results.Columns(), ",") + "\n"
	f.Add(string(CSV(resultstest.Sample(f))))
	f.Add(header)
	f.Add(header + "e,m,i,2010,1,18446744073709551615,k/µ=1,c,%,-0.000001,measured\n")
	f.Add("\ufeff" + header)
	f.Fuzz(func(t *testing.T, text string) {
		set, err := ReadCSV("fuzz", strings.NewReader(text))
		if err != nil {
			return
		}
		got := string(CSV(set))
		require.That(t, got == text, "read %q, wrote %q", text, got)
	})
}

// The file of a set with replicates has a column more and reads back to the same bytes; a column that says
// nothing is refused.
func TestReplicateColumn(t *testing.T) {
	data := CSV(resultstest.Replicated(t))
	require.That(t, bytes.HasPrefix(data, []byte("experiment,machine,isa,era,cpus,seed,replicate,probe,")), "header of %s", data)
	back := require.Must(ReadCSV("x.csv", bytes.NewReader(data)))(t)
	if !bytes.Equal(CSV(back), data) || back.Points()[2].Replicate != 2 {
		t.Errorf("read back:\n%s", CSV(back))
	}
	require.That(t, !bytes.Contains(CSV(resultstest.Sample(t)), []byte("replicate")), "a set without replicates has the column")
	for text, want := range map[string]string{
		strings.ReplaceAll(string(data), ",0,1,k", ",0,01,k"):        "x.csv:4: ",
		strings.ReplaceAll(string(data), ",0,1,k", ",0,-1,k"):        "x.csv:4: record e k cycles_per_hit: replicate -1 is below zero",
		strings.ReplaceAll(string(data), ",0,1,k", ",0,x,k"):         `x.csv:4: replicate "x" is not a plain number`,
		strings.Join(strings.SplitAfter(string(data), "\n")[:3], ""): "x.csv:1: ",
		strings.ReplaceAll(string(data), ",0,1,k", ",0,2,k"):         "x.csv:6: record e k cycles_per_hit is there twice",
		strings.Replace(string(data), "\n", "\n1,2\n", 1):            "x.csv:2: 2 fields, want 12",
	} {
		require.Error(t, require.Err(ReadCSV("x.csv", strings.NewReader(text))), want, "%s", text)
	}
}

// TestLargeNumbers writes numbers of many digits in each form and reads them back.
func TestLargeNumbers(t *testing.T) {
	s := &results.Set{}
	at := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 2147483647, Seed: 1<<64 - 1, Probe: "k", Replicate: 1234567890}
	require.NoError(t, s.Add(results.Record{Point: at, Metric: results.MetricCycles, Unit: "cycles", Value: resultstest.Value(t, "3999999999999.999999"), Role: results.Simulated}))
	csv := CSV(s)
	again := require.Must(ReadCSV("x", bytes.NewReader(csv)))(t)
	_, parsed, err := ReadJSON("x", require.Must(JSON(s, About{Name: "e"}))(t))
	require.NoError(t, err)
	require.That(t, strings.Contains(string(csv), "e,m,i,2010,2147483647,18446744073709551615,1234567890,k,") && bytes.Equal(CSV(again), csv) && bytes.Equal(CSV(parsed), csv), "of\n%s\ncame\n%s\nand\n%s", csv, CSV(again), CSV(parsed))
}

// TestOverridesDiffer refuses lines of different settings, and settings that are written otherwise.
func TestOverridesDiffer(t *testing.T) {
	head := strings.Join(results.Columns(), ",") + ",set\n"
	row := func(probe, set string) string {
		return "e,m,i,2010,1,1," + probe + ",c,cycles,5,simulated," + set + "\n"
	}
	for rows, want := range map[string]string{
		row("k", "a=1") + row("b", "a=2"): "x:3: ", row("k", "a=%zz"): `x:2: settings "a=%zz"`, row("k", "a=%61"): "x:2: ",
	} {
		_, err := ReadCSV("x", strings.NewReader(head+rows))
		require.That(t, err != nil && strings.HasPrefix(err.Error(), want), "%v, want %s:\n%s", err, want, rows)
	}
}

// TestOverrides wants settings in the long form, where they can be read back, in the benchmark format, and
// in the title and the caption of a figure.
func TestOverrides(t *testing.T) {
	sets := []string{"machine.core.model=window", "workload.args=[1, 2]", `title="50 %; a"`, "points.k.title= x "}
	s := &results.Set{Overrides: sets}
	require.NoError(t, s.Add(results.Record{Point: results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Seed: 1, Probe: "k"}, Metric: results.MetricCycles, Unit: "cycles", Value: resultstest.Value(t, "5"), Role: results.Simulated}))
	csv := CSV(s)
	again, err := ReadCSV("x", bytes.NewReader(csv))
	require.Need(t, err == nil, "%v in\n%s", err, csv)
	require.That(t, slices.Equal(again.Overrides, sets) && bytes.Equal(CSV(again), csv), "read back %q from\n%s", again.Overrides, csv)
	bench := BenchText(s, OverheadBench())
	require.That(t, strings.Contains(string(bench), "\nset: machine.core.model=window; workload.args=[1%2C 2]; "), "no settings in\n%s", bench)
}

// TestSweptColumns wants swept keys as typed columns of CSV, JSON and the benchmark format, and back again.
func TestSweptColumns(t *testing.T) {
	s := &results.Set{Overrides: []string{"a=1"}}
	s.AddAxis(results.Axis{Key: "kernel.memory", Unit: "B", Cells: map[string]string{"16 MiB": "16777216", "1 GiB": "1073741824"}})
	s.AddAxis(results.Axis{Key: "workload.target"})
	s.AddAxis(results.Axis{Key: "kernel.cpus"}) // has a column
	for i, name := range []string{"k/kernel.memory=16 MiB/workload.target=work", "k/kernel.memory=1 GiB/workload.target=bench", "k-b"} {
		at := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Replicate: i, Probe: name}
		require.NoError(t, s.Add(results.Record{Point: at, Metric: results.MetricCycles, Unit: "cycles", Value: resultstest.Value(t, "5"), Role: results.Simulated}))
	}
	csv := CSV(s)
	for _, want := range []string{",role,kernel.memory (B),workload.target,set\n", ",simulated,1073741824,bench,a=1\n", ",simulated,,,a=1\n"} {
		require.That(t, strings.Contains(string(csv), want), "no %q in\n%s", want, csv)
	}
	again := require.Must(ReadCSV("x", bytes.NewReader(csv)))(t)
	if !bytes.Equal(CSV(again), csv) {
		t.Errorf("read back\n%s", CSV(again))
	}
	if _, err := ReadCSV("x", strings.NewReader(strings.Replace(string(csv), ",,,a=1", ",7,,a=1", 1))); err != nil {
		t.Errorf("a cell of its own: %v", err)
	}
	json := require.Must(JSON(s, About{Name: "e"}))(t)
	_, back, err := ReadJSON("x", json)
	require.NoError(t, err)
	if !bytes.Equal(CSV(back), csv) || !strings.Contains(string(json), `"kernel.memory": 16777216`) {
		t.Errorf("from\n%s\ncame\n%s", json, CSV(back))
	}
	bench := string(BenchText(s, OverheadBench()))
	require.That(t, strings.Contains(bench, "\nkernel.memory: 1073741824 B\nworkload.target: bench\n"), "no columns in\n%s", bench)
}

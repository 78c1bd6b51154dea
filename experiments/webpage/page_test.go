package webpage_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kprobesim/experiments/reports"
	"kprobesim/experiments/webpage"
	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/formats"
	"kprobesim/results/outdir"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// hostile is text that would leave its place on a page if nothing held it there.
const hostile = `</title></style></script><script>alert(1)</script><img src=x onerror="alert(2)">`

// picture is an SVG that would run a script and load a file, were it part of the page.
const picture = `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 10"><title>A "drawn" &lt;b&gt;</title>` +
	`<desc>Bars of it.</desc><script>alert(3)</script><image href="https://example.org/x.png"/><path d="M0,0L40,10"/></svg>`

// small are the files of a results directory with two probes, of which k costs so many cycles.
func small(t *testing.T, cycles string) map[string][]byte {
	t.Helper()
	set := &results.Set{Overrides: []string{"workload.hits=" + cycles}}
	add := func(probe, metric, unit, value string, role results.Role, source string) {
		v := require.Must(results.ParseValue(value))(t)
		p := results.Point{Experiment: "toy", Machine: "toy-1", ISA: "toy", Era: "2010", CPUs: 1, Probe: probe}
		require.NoError(t, set.Add(results.Record{Point: p, Metric: metric, Unit: unit, Value: v, Role: role, Source: source}))
	}
	add("k", results.MetricCycles, "cycles", cycles, results.Fitted, "")
	add("k", results.MetricMicros, "us", "0.99", results.Fitted, "")
	add("k", results.MetricPublished, "us", "1.24", results.Measured, "A paper <b>& more</b>")
	add("b", results.MetricCycles, "cycles", "9", results.Predicted, "")
	add("b", results.MetricMicros, "us", "0.43", results.Predicted, "")
	text := require.Must(formats.JSON(set, formats.About{Name: "toy", Title: "Toy " + hostile, Kind: "overhead"}))(t)
	manifest, err := (&outdir.Manifest{
		Inputs: []outdir.Input{{Kind: "machine", Name: "toy-1.toml", Hash: outdir.Hash([]byte(cycles))}},
		Points: []outdir.PointStatus{{Name: "k", Status: outdir.StatusOK}, {Name: "o", Status: outdir.StatusFailed, Error: hostile}},
	}).JSON()
	require.NoError(t, err)
	keys := formats.Keys{"machine toy-1 event.trap.fitted": "[k]", "experiment toy workload.hits": cycles}
	return map[string][]byte{
		reports.ResultsName: formats.CSV(set), reports.JSONName: text, outdir.ManifestName: manifest, reports.InputsName: keys.Text(),
		reports.AccountsName: []byte("point,cpu,workload,total\nk,0,4,17\n"),
	}
}

// write writes a results directory below the working directory of the test.
func write(t *testing.T, name string, files map[string][]byte) {
	t.Helper()
	require.NoError(t, outdir.WriteDir(name, files))
}

// twoRuns writes two directories of one experiment and returns their names.
func twoRuns(t *testing.T) []string {
	t.Helper()
	t.Chdir(t.TempDir())
	one := small(t, "2310")
	one["overhead.svg"] = []byte(picture)
	write(t, "one", one)
	write(t, "two", small(t, "2320"))
	return []string{"one", "two"}
}

// TestPage holds what the page says of two runs, and that nothing on it is code or an address of somebody else.
func TestPage(t *testing.T) {
	dirs := twoRuns(t)
	b := require.Must(webpage.Write(dirs))(t)
	text := string(b)
	for _, want := range []string{
		`<td class="n">2310.0</td>`,                      // the table of the run
		`<td class="n">&#43;10</td>`,                     // what moved
		`experiment toy workload.hits: 2310 -&gt; 2320`,  // why
		`<span class="origin fitted">fitted</span>`,      // origins
		`<span class="origin measured">measured</span>`,  //
		`<td>A paper &lt;b&gt;&amp; more&lt;/b&gt;</td>`, // a source
		`event.trap of toy-1 was fitted on k.`,
		`1 of 2 ended well`,
		outdir.Hash([]byte("2310")),
		`alt="A &#34;drawn&#34; &lt;b&gt;. Bars of it."`,
		`alt="Overhead of a probe hit: toy-1, toy, 2010`, // of the figure that two had to have drawn
		`What every CPU did`,
		`<thead><tr><th scope="col">point</th><th scope="col" class="n">cpu</th>`,
		`prefers-color-scheme: dark`,
		`@media print`,
		`<a href="#run-2">two</a>`,
	} {
		require.That(t, strings.Contains(text, want), "no %s on the page", want)
	}
	for _, alien := range []string{"<script>alert", "<img src=x", "https://", "http://", "<link", "@import", "url(", "ZgotmplZ"} {
		require.That(t, !strings.Contains(text, alien), "%s is on the page", alien)
	}
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]{0,12})`).FindAllStringSubmatch(text, -1) {
		require.That(t, strings.HasPrefix(m[1], "data:image/") || strings.HasPrefix(m[1], "#"), "the page leads to %q", m[1])
	}
	n := strings.Count(text, "<script>")
	require.That(t, n == 1, "%d scripts, want that of the page", n)
	again, err := webpage.Write(dirs)
	require.That(t, err == nil && string(again) == text, "the same directories give another page: %v", err)
}

// TestSameRunsHaveNoDifferences compares a directory with a copy.
// odd are the files of a results directory with replicates of a point that small has with other units and origins, one point more, and
// no inputs, title or picture of their own.
func odd(t *testing.T) map[string][]byte {
	set := &results.Set{}
	for i, row := range []string{"k cycles_per_hit us 2310", "k cycles_per_hit us 2312", "k cycles_per_hit us 2317", "b us_per_hit us 0.43", "b us_per_hit us 0.43", "b us_per_hit us 0.43", "fresh hits hits 3", "fresh hits hits 3", "fresh hits hits 3"} {
		f := strings.Fields(row)
		p := results.Point{Experiment: "toy", Machine: "toy-1", ISA: "toy", Era: "2010", CPUs: 1, Probe: f[0], Replicate: i % 3}
		require.NoError(t, set.Add(results.Record{Point: p, Metric: f[1], Unit: f[2], Value: require.Must(results.ParseValue(f[3]))(t), Role: results.Simulated}))
	}
	manifest, err := (&outdir.Manifest{Program: outdir.Program{Version: "v1"}, Seed: 7, Points: []outdir.PointStatus{{Name: "k", Status: outdir.StatusOK}}}).JSON()
	require.NoError(t, err)
	return map[string][]byte{
		reports.ResultsName: formats.CSV(set), outdir.ManifestName: manifest, "overhead.svg": []byte(`<svg xmlns="http://www.w3.org/2000/svg"></svg>`), "overhead.txt": []byte("a caption\nmore"),
		reports.JSONName: require.Must(formats.JSON(set, formats.About{Name: "toy", Kind: "overhead"}))(t),
	}
}

// TestWholePage holds the page of five runs of four experiments, less its style, script and pictures.
func TestWholePage(t *testing.T) {
	golden := require.Must(filepath.Abs(filepath.Join("testdata", "page.txt")))(t)
	t.Chdir(t.TempDir())
	dirs := []string{"one", "two", "odd", "four", "five"}
	for i, name := range dirs {
		files := small(t, fmt.Sprint(2310+i))
		if name == "odd" {
			files = odd(t)
		} else {
			set := require.Must(formats.ReadCSV("x", strings.NewReader(string(files[reports.ResultsName]))))(t)
			files[reports.JSONName] = require.Must(formats.JSON(set, formats.About{Name: "toy", Title: fmt.Sprint("Toy ", i), Kind: "overhead"}))(t)
			files["overhead.svg"] = []byte(picture)
		}
		write(t, name, files)
	}
	text := string(require.Must(webpage.Write(dirs))(t))
	text = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>|base64,[^"]*`).ReplaceAllString(text, "")
	require.Lines(t, golden, text, *update)
}

func TestSameRunsHaveNoDifferences(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "one", small(t, "2310"))
	write(t, "copy", small(t, "2310"))
	b, err := webpage.Write([]string{"one", "copy"})
	want := "All 5 records of <b>copy</b> are as in <b>one</b>."
	require.That(t, err == nil && strings.Contains(string(b), want), "no %q, %v", want, err)
}

// TestPageOfNothing wants an error.
func TestPageOfNothing(t *testing.T) {
	require.Error(t, require.Err(webpage.Write(nil)), "name a results directory", "the call")
}

// listAnew writes the list of hashes of what a directory has.
func listAnew(t *testing.T, dir string) {
	t.Helper()
	entries := require.Must(os.ReadDir(dir))(t)
	var list strings.Builder
	for _, e := range entries {
		b := require.Must(os.ReadFile(filepath.Join(dir, e.Name())))(t)
		if e.Name() != outdir.SumsName {
			fmt.Fprintf(&list, "%s  %s\n", strings.TrimPrefix(outdir.Hash(b), "sha256:"), e.Name())
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, outdir.SumsName), []byte(list.String()), 0o600))
}

// TestDamagedDirectories wants each damaged file named.
func TestDamagedDirectories(t *testing.T) {
	t.Chdir(t.TempDir())
	change := func(text string) func(string) error {
		return func(file string) error { return os.WriteFile(file, []byte(text), 0o600) }
	}
	for i, c := range []struct {
		file   string
		damage func(file string) error
		listed bool // as it was in the list of hashes; else the list has what is damaged
		says   string
	}{
		{reports.ResultsName, change("experiment"), true, "is not as it was written"},
		{reports.ResultsName, change("experiment"), false, "header"},
		{reports.JSONName, os.Remove, true, "is not there"},
		{reports.JSONName, change("{"), false, "unexpected EOF"},
		{reports.JSONName, change(string(small(t, "2311")[reports.JSONName])), false, "has other records"},
		{"overhead.svg", change("<svg>"), true, "is not as it was written"},
		{"overhead.svg", change("<svg>"), false, "is no whole SVG"},
		{"overhead.svg", change("<html></html>"), false, "is no SVG"},
		{outdir.ManifestName, change("[]"), false, "cannot unmarshal"},
		{outdir.ManifestName, os.Remove, false, "is no results directory"},
		{reports.InputsName, change("nothing"), false, "want KEY = VALUE"},
		{reports.AccountsName, change("point,cpu,total\nk\n"), false, "wrong number of fields"},
		{reports.AccountsName, change("point,cpu\nk,0\n"), false, "2 lines are no accounts"},
		{reports.AccountsName, change(""), false, "0 lines are no accounts"},
		{outdir.SumsName, change("???"), true, "is no hash and name"},
	} {
		dir := fmt.Sprint("run", i)
		files := small(t, "2310")
		files["overhead.svg"] = []byte(picture)
		write(t, dir, files)
		require.NoError(t, c.damage(filepath.Join(dir, c.file)))
		if !c.listed {
			listAnew(t, dir)
		}
		_, err := webpage.Write([]string{dir})
		require.That(t, err != nil && strings.Contains(err.Error(), c.file) && strings.Contains(err.Error(), c.says), "%s damaged: %v, want its name and %q", c.file, err, c.says)
	}
}

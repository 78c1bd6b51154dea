package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/results"
)

var update = flag.Bool("update", false, "write the generated parts of the documents again")

// fidelity is the document with the tables that judge the simulator.
const fidelity = "docs/fidelity.md"

// TestDocuments holds the generated parts of the documents, and the figures, against what the experiments
// give.
func TestDocuments(t *testing.T) {
	dir := t.TempDir()
	printed(t, experiment, dir)
	holdBlock(t, fidelity, "published", printed(t, collection, dir))
	holdBlock(t, "docs/guest.md", "facts", factsTable(t))
	holdBlock(t, "docs/races.md", "coverage", coverageTable(t))
	for name, from := range map[string]string{"overhead.svg": experiment, "published.svg": collection} {
		svg := require.Must(os.ReadFile(filepath.Join(dir, from, "overhead.svg")))(t)
		holdFile(t, filepath.Join("docs", name), string(svg))
	}
	if !*update && !hosttools.Whole(t, "most tables of docs/fidelity.md, which take many runs", "baselines pin the figures that they are made of") {
		return
	}
	holdBlock(t, "docs/experiments.md", "isas", isasTable(t, dir))
	holdBlock(t, fidelity, "sensitivity", sensitivityTable(t, dir))
	all, shares := contenders(t), fittedShares(t)
	holdBlock(t, "README.md", "trust", trust(all, shares))
	holdBlock(t, fidelity, "nulls", nullsTable(all))
	holdBlock(t, fidelity, "benchmark", benchmarkTable(t))
	holdBlock(t, fidelity, "inherited", inheritedTable(shares))
	holdBlock(t, fidelity, "priors", priorsTable(t))
	holdBlock(t, fidelity, "spread", spreadTable(t))
	holdFile(t, "cmd/kprobesim/testdata/stages.csv", stagesTable(t))
	holdBlock(t, fidelity, "candidates", candidatesTable(t))
	holdFile(t, "cmd/kprobesim/testdata/bounds.md", boundsText(t))
	holdBlock(t, fidelity, "december", decemberTable(t))
	holdBlock(t, fidelity, "rows", rowsTable(t))
	holdBlock(t, fidelity, "statements", statementsTable(t))
	holdBlock(t, fidelity, "exceptions", exceptionsTable(t))
	holdBlock(t, fidelity, "second", secondTable(t))
	holdBlock(t, fidelity, "delivery", deliveryTable(t))
	holdBlock(t, fidelity, "tc2", tc2Table(t))
}

// printed runs an experiment and returns the table that it prints, fenced.
func printed(t *testing.T, name, out string) string {
	t.Helper()
	code, stdout, stderr := command(nil, "run", name, "--out", out)
	require.Need(t, code == exitOK, "run %s: exit code %d\n%s", name, code, stderr)
	table, _, _ := strings.Cut(stdout, "\nresults are in")
	return "```\n" + strings.TrimSpace(table) + "\n```\n"
}

// isasTable has the cycles of all probes by kernel and machine. It holds the figure of them, too.
func isasTable(t *testing.T, dir string) string {
	t.Helper()
	const name = "overhead-isas"
	printed(t, name, dir)
	svg := require.Must(os.ReadFile(filepath.Join(dir, name, "phases.svg")))(t)
	holdFile(t, filepath.Join("docs", "isas.svg"), string(svg))
	out, last := "| machine | kernel | cycles of a hit |\n|---|---|---|\n", ""
	set := runSet(t, name, nil)
	for _, p := range set.Points() {
		cycles, _ := set.Get(p, results.MetricCycles)
		hit, row := p.Probe+" "+cycles.Value.Round(0).String(), "| "+p.Machine+" | "+p.ISA+", "+p.Era+" | "
		if row == last {
			out = strings.TrimSuffix(out, " |\n") + ", " + hit + " |\n"
		} else {
			out, last = out+row+hit+" |\n", row
		}
	}
	return out
}

// sensitivityTable varies the numbers of the main experiment, and holds the figure of it.
func sensitivityTable(t *testing.T, dir string) string {
	t.Helper()
	code, stdout, stderr := command(nil, "sensitivity", experiment, "--refit", "--top", "1", "--out", dir)
	require.Need(t, code == exitOK, "sensitivity: exit code %d\n%s", code, stderr)
	svg := require.Must(os.ReadFile(filepath.Join(dir, experiment+"-sensitivity", "tornado.svg")))(t)
	holdFile(t, filepath.Join("docs", "sensitivity.svg"), string(svg))
	table, _, _ := strings.Cut(stdout, "\nresults are in")
	return "```\n" + strings.TrimSpace(table) + "\n```\n"
}

// TestImageOfYourOwn tries the guest image of docs/experiments.md: its function, in a copy of the kernel's
// sources, built and probed.
func TestImageOfYourOwn(t *testing.T) {
	alone(t)
	for _, tool := range []string{"gcc", "ld", "sh"} {
		hosttools.Need(t, tool, "gcc, binutils, dash", "building the image of docs/experiments.md")
	}
	text := require.Must(os.ReadFile(filepath.Join("..", "..", "docs", "experiments.md")))(t)
	_, rest, found := strings.Cut(string(text), "```c\n/* my-kernel/")
	name, rest, named := strings.Cut(rest, " */\n")
	body, _, _ := strings.Cut(rest, "```")
	require.Need(t, found && named, "docs/experiments.md has no C block that starts with a comment of a file in my-kernel")
	dir := t.TempDir()
	kernel := filepath.Join(dir, "my-kernel")
	require.NoError(t, os.CopyFS(kernel, os.DirFS(filepath.Join("..", "..", "workloads", "kernel"))))
	require.NoError(t, os.WriteFile(filepath.Join(kernel, filepath.FromSlash(name)), []byte(body), 0o644))
	image := filepath.Join(dir, "my.elf")
	if msg, err := exec.Command("sh", filepath.Join(kernel, "build.sh"), image).CombinedOutput(); err != nil {
		t.Fatalf("build.sh: %v\n%s", err, msg)
	}
	code, stdout, stderr := command(nil, "run", experiment, "--out", filepath.Join(dir, "out"),
		"--set", "kernel.image="+image, "--set", "workload.target=my_function", "--set", "workload.hits=20")
	require.That(t, code == exitOK && strings.Contains(stdout, "\nro "), "exit code %d\n%s%s", code, stdout, stderr)
}

// runSet runs an experiment with settings.
func runSet(t *testing.T, name string, sets []string) *results.Set {
	t.Helper()
	p := require.Must(planning.NewLoader().Plan(name, sets))(t)
	r := reports.Collect(p).Report((&running.Runner{Measure: kinds.Measure}).Run(p))
	require.NoError(t, r.Err())
	return r.Set
}

// quantity returns the cycles of a probe's hit, or of the difference of two, as simulated and as published.
func quantity(s *results.Set, of, less string) (cycles, published float64) {
	at := map[string]float64{}
	for _, p := range s.Points() {
		c, _ := s.Get(p, results.MetricCycles)
		us, _ := s.Get(p, results.MetricMicros)
		pub, _ := s.Get(p, results.MetricPublished)
		at[p.Probe] = c.Value.Float()
		at["published "+p.Probe] = pub.Value.Float() * c.Value.Float() / us.Value.Float()
	}
	return at[of] - at[less], at["published "+of] - at["published "+less]
}

// holdBlock compares what stands between the marks of a generated part, or writes it.
func holdBlock(t *testing.T, file, name, want string) {
	t.Helper()
	text := require.Must(os.ReadFile(filepath.Join("..", "..", file)))(t)
	begin, end := "<!-- generated: "+name+" -->\n", "<!-- end -->"
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Errorf("%s has no part %q", file, name)
		return
	}
	holdFile(t, file, before+begin+want+end+after)
}

// holdFile compares a file of the repository, or writes it.
func holdFile(t *testing.T, file, want string) {
	t.Helper()
	path := filepath.Join("..", "..", file)
	got, err := os.ReadFile(path)
	if err == nil && string(got) == want {
		return
	}
	if !*update {
		t.Errorf("%s is not what the simulator gives now: go test ./cmd/kprobesim -run TestDocuments -update (%v)", file, err)
		return
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Error(err)
	}
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/host"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/paper"
	"kprobesim/races"
	"kprobesim/results"
)

// paperInput reads the committed results that a paper is made of. Searches for races are made up: they take long. change
// may change the results of an experiment.
func paperInput(t *testing.T, change func(name string, s *results.Set) *results.Set) paper.Input {
	t.Helper()
	a := &app{loader: planning.NewLoader()}
	name := filepath.Join("..", "..", "paper", "artifact.json")
	b := require.Must(os.ReadFile(name))(t)
	measured := require.Must(paper.ReadArtifact(name, b))(t)
	return paper.Input{
		Set: func(name string) (*results.Set, error) {
			s, err := a.paperSet(filepath.Join("..", "..", "results", "baselines"), name)
			if err == nil && change != nil {
				s = change(name, s)
			}
			return s, err
		},
		Plan: func(name string) (*schema.Plan, error) { return a.loader.Plan(name, nil) },
		Searches: found(
			paper.Search{Scenario: "optimize", Variant: "one", Schedules: 20, Cells: 90, Stores: 8, Orders: 4},
			paper.Search{Scenario: "optimize", Variant: "two", Schedules: 20, Cells: 80, Stores: 7, Orders: 3},
			paper.Search{Scenario: "optimize", Variant: "one", Mutant: "bp-skip-sync-1", Schedules: 7, Violations: 1},
		),
		Artifact: measured, From: "results/baselines",
	}
}

// found are searches that were made up.
func found(all ...paper.Search) func() ([]paper.Search, error) {
	return func() ([]paper.Search, error) { return all, nil }
}

// changed returns results in which one number is another.
func changed(t *testing.T, s *results.Set, probe, metric, to string) *results.Set {
	t.Helper()
	out := &results.Set{}
	for r := range s.All() {
		if r.Probe == probe && r.Metric == metric {
			v := require.Must(results.ParseValue(to))(t)
			r.Value = v
		}
		require.NoError(t, out.Add(r))
	}
	return out
}

// TestPaperFollowsTheResults makes the paper of the committed results. A number that changes changes the text, and
// one that makes a sentence untrue fails the paper, with the sentence, its line and both numbers.
func TestPaperFollowsTheResults(t *testing.T) {
	alone(t)
	files, err := paper.Make(paperInput(t, nil))
	require.Need(t, err == nil, "the paper of the committed results: %v", err)
	tex := string(files[paper.TexName])
	require.That(t, !strings.Contains(tex, "<<") && !strings.Contains(tex, "%!") && strings.Contains(tex, `\includegraphics{scaling-scaling.pdf}`) && len(files["scaling-scaling.pdf"]) != 0, "the paper begins with %.300s", tex)
	set := func(to string) paper.Input {
		return paperInput(t, func(name string, s *results.Set) *results.Set {
			if name == experiment {
				return changed(t, s, "o", results.MetricCycles, to)
			}
			return s
		})
	}
	files, err = paper.Make(set("99"))
	require.That(t, err == nil && strings.Contains(string(files[paper.TexName]), "and 99 with an optimized one."), "99 cycles of an optimized hit are not in the text: %v", err)
	_, err = paper.Make(set("1200"))
	const want = `no longer true: "On a Xeon E5410 a hit takes 2310 cycles with a single step, 1003 with a boosted probe and 1200 with an optimized one.": 1200 (o of ` +
		experiment + `, cycles_per_hit) is not below 10`
	require.That(t, err != nil && strings.Contains(err.Error(), want) && regexp.MustCompile(`paper\.tex:[1-9][0-9]*: `).MatchString(err.Error()), "an optimized hit that is dearer than a boosted one: %v\nwant %s", err, want)
	races := paperInput(t, nil)
	races.Searches = found(paper.Search{Scenario: "optimize", Variant: "one", Schedules: 20, Violations: 3})
	require.Error(t, require.Err(paper.Make(races)), "no change of running code went wrong", "a paper with violations")
}

// TestPaperTables holds the tables of the paper, and numbers that tables have not.
func TestPaperTables(t *testing.T) {
	in := paperInput(t, nil)
	in.Template = `<<$all := "overhead-published">><<$isas := "overhead-isas">>
<<published $all>><<sources $all>><<setups $isas>><<machines $isas>><<races>><<artifact>>
<<users "user-probes-pentium-m" "user-probes">><<watches "watchpoints-pentium-m" "watchpoints" "watchpoints-power5">>
<<num (most "scaling" "kernel.cpus")>> <<num (distinct $isas "isa")>> <<num (distinct $all "machine")>>
<<today>> <<num (todayCount "published")>> <<num (todayCount "predicted")>> <<num (todayCount "cheaper")>> <<sums $isas "scaling">>
`
	in.Name = "tables.tex"
	files := require.Must(paper.Make(in))(t)
	require.Lines(t, filepath.Join("testdata", "paper_tables.txt"), string(files[paper.TexName]), *update)
}

// TestPaperSearches has each variant searched without a mistake, and each mistake once, until it is noticed.
func TestPaperSearches(t *testing.T) {
	variants, mutants := map[string]int{}, map[string]int{}
	a := &app{err: &locked{w: io.Discard}}
	all, err := a.searches(7, func(s *races.Scenario, v *races.Variant, o races.Options) (races.Tally, error) {
		if o.Mutant == "" {
			variants[s.Name+"/"+v.Name]++
		} else {
			mutants[o.Mutant]++
		}
		if once := o.Mutant != ""; once != (o.Enough == 1) || once == o.Cells || once != (o.Schedules == mostForMutant) || !once && o.Schedules != 7 || once && !slices.Contains(v.Catches, o.Mutant) {
			t.Errorf("%s/%s with mistake %q: %d schedules, enough are %d", s.Name, v.Name, o.Mutant, o.Schedules, o.Enough)
		}
		return races.Tally{Schedules: 5, Violations: uint64(len(mutants))}, nil
	})
	for _, of := range []map[string]int{variants, mutants} {
		for name, n := range of {
			require.That(t, n == 1, "%s is searched %d times", name, n)
		}
	}
	require.That(t, err == nil && len(all) == len(variants)+len(mutants) && len(mutants) >= 5 && len(variants) >= 5 && all[len(all)-1].Schedules == 5, "%d searches of %d variants and %d mistakes, %v", len(all), len(variants), len(mutants), err)
	bad := errors.New("no machine")
	if _, err := a.searches(7, func(*races.Scenario, *races.Variant, races.Options) (races.Tally, error) { return races.Tally{}, bad }); !errors.Is(err, bad) {
		t.Errorf("%v, want %v", err, bad)
	}
}

// TestArtifactIsMeasured runs the commands of the artifact, in the place of which stand scripts, and stops at one that fails.
func TestArtifactIsMeasured(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PATH", dir)
	script := func(name, text string) { require.NoError(t, os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755)) }
	script("go", "exit 0")
	script("kprobesim", "exit 0")
	var out, said bytes.Buffer
	require.NoError(t, newApp(&out, &said).measureArtifact("file"))
	a := require.Must(paper.ReadArtifact("file", require.Must(os.ReadFile("file"))(t)))(t)
	require.Need(t, len(a.Commands) == len(paper.Steps()) && strings.Count(out.String(), " MiB  ") == len(a.Commands), "%+v\n%s", a, &out)
	for i, c := range a.Commands {
		require.That(t, c.Command == paper.Steps()[i].Command && c.Seconds >= 0 && c.Seconds < 60 && c.MiB >= 0 && c.MiB < 4096, "%+v", c)
	}
	require.That(t, strings.Contains(a.Host, fmt.Sprintf(", %d cores, go", runtime.NumCPU())) && !strings.Contains(a.Host, "\n"), "the host is %q", a.Host)
	script("kprobesim", `[ "$1" != check ] || { echo why >&2; exit 1; }`)
	require.Error(t, newApp(&out, &said).measureArtifact("other"), "./kprobesim check: exit status 1", "a command that fails")
	require.That(t, !exists("other") && said.String() == "why\n", "a file was written, or it was said %q", &said)
}

// TestPaperHasNoTypedNumbers wants no digit in the prose of the template: each is asked of the results. Names have
// digits: of machines, instruction sets, experiments and files of LaTeX.
func TestPaperHasNoTypedNumbers(t *testing.T) {
	b := require.Must(os.ReadFile(filepath.Join("..", "..", "paper", paper.TexName)))(t)
	_, body, _ := strings.Cut(string(b), `\begin{document}`)
	if left := typedNumbers(body); left != nil {
		t.Errorf("typed numbers in paper/%s: %q", paper.TexName, left)
	}
	for _, text := range []string{"takes 12 cycles", `<<claim $v "takes %s of 40 cycles">>`, "as in v2.5", "on four CPUs"} {
		require.That(t, typedNumbers(text) != nil, "%q has no typed number", text)
	}
}

// typedNumbers finds numbers in prose, and in the sentences of actions: texts with a space in them.
func typedNumbers(body string) []string {
	prose := regexp.MustCompile(`(?s)<<.*?>>`).ReplaceAllStringFunc(body, func(action string) string {
		var sentences []string
		for _, s := range regexp.MustCompile(`"(?:[^"\\]|\\.)*"`).FindAllString(action, -1) {
			if strings.Contains(s, " ") {
				sentences = append(sentences, s)
			}
		}
		return strings.Join(sentences, " ")
	})
	prose = regexp.MustCompile(`\\(ref|label|cite)\{[^}]*\}|gem5|E5410|POWER5|Cortex-A15|\b(19|20)[0-9][0-9]\b`).ReplaceAllString(prose, "")
	words := `(?i)\b(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand) `
	return append(regexp.MustCompile(`[^\n ]*[0-9][^\n ]*`).FindAllString(prose, -1), regexp.MustCompile(words).FindAllString(prose, -1)...)
}

// TestPaperIsTypeset has LaTeX make the paper: no line sticks out, and no reference is open.
func TestPaperIsTypeset(t *testing.T) {
	alone(t)
	latex := hosttools.Need(t, "pdflatex", "texlive-latex-extra, texlive-fonts-recommended, lmodern", "typesetting the paper")
	files, err := paper.Make(paperInput(t, nil))
	require.NoError(t, err)
	dir := t.TempDir()
	for name, b := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o644))
	}
	var log []byte
	typeset := []string{latex, "-interaction=nonstopmode", "-halt-on-error", paper.TexName}
	for _, args := range [][]string{typeset, {hosttools.Need(t, "bibtex", "texlive-latex-extra", "references of the paper"), "paper"}, typeset, typeset} {
		c := exec.Command(args[0], args[1:]...)
		c.Dir = dir
		if log, err = c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args[0], err, log)
		}
	}
	for _, bad := range regexp.MustCompile(`(?m)^(Overfull \\hbox \([0-9.]+pt|LaTeX Warning: (Reference|Citation|There were).*)`).FindAllString(string(log), -1) {
		var points float64
		if _, err := fmt.Sscanf(bad, `Overfull \hbox (%fpt`, &points); err != nil || points > 3 {
			t.Error(bad)
		}
	}
	pdf, err := os.ReadFile(filepath.Join(dir, "paper.pdf"))
	if err != nil || len(pdf) > 2<<20 { // each of its figures has a whole font
		t.Errorf("the paper has %d bytes: %v", len(pdf), err)
	}
}

// TestMostMemory asks the host for the memory of a process, which this one starts: a few MiB, in whatever unit the host counts.
// Linux counts a process from before its program begins, when it still has the memory of the one that starts it.
func TestMostMemory(t *testing.T) {
	c := exec.Command(os.Args[0], "-test.run=^$")
	require.NoError(t, c.Run())
	bound := int64(2048)
	if b, err := os.ReadFile("/proc/self/status"); err == nil {
		if _, peak, ok := strings.Cut(string(b), "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(peak)[0], 10, 64)
			bound = max(bound, kib>>10+1)
		}
	}
	if n := host.PeakOf(c.ProcessState) >> 20; runtime.GOOS != "windows" && (n < 1 || n > bound) {
		t.Errorf("%d MiB, want at most %d", n, bound)
	}
}

// TestTableFormats prints a table in the forms of documents, and refuses a form that there is not before it measures.
func TestTableFormats(t *testing.T) {
	for format, want := range map[string]string{
		"latex": "\\begin{tabular}", "markdown": "| probe | cycles per hit |", "csv": "probe,cycles per hit,",
	} {
		code, out, said := command(fake(1000), "table", experiment, "--format", format)
		require.That(t, code == exitOK && strings.Contains(out, want), "%s: exit code %d\n%s%s", format, code, out, said)
	}
	if code, _, said := command(nil, "table", experiment, "--format", "html"); code != exitUsage || !strings.Contains(said, "known are text, latex") {
		t.Errorf("a form that there is not: exit code %d\n%s", code, said)
	}
	if code, _, said := command(nil, "plot", t.TempDir(), "--width", "3.3"); code != exitUsage || !strings.Contains(said, "as in 3.3in") {
		t.Errorf("a width without a unit: exit code %d\n%s", code, said)
	}
}

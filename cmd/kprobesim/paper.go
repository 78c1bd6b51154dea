package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kprobesim/experiments"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/schema"
	"kprobesim/internal/host"
	"kprobesim/paper"
	"kprobesim/races"
	"kprobesim/results"
	"kprobesim/results/compare"
	"kprobesim/results/outdir"
)

// paperFlags are the options of the command paper.
type paperFlags struct {
	from, out, artifact string
	template            string
	schedules           uint64
	measure             bool
}

func (a *app) paperCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "paper",
		Short: "Write the paper on what probes cost, with every number from the results",
		Long: `Write the paper of paper/paper.tex to --out, for pdflatex: its text, tables and figures. Every number is
asked of the results below --results: the committed baselines, or the directories that run has written.
Searches for races are run for it. A sentence that claims something carries the comparison that makes it
true; one that the results make untrue is an error with its line and both numbers.

--measure runs the commands of the artifact appendix instead, and writes what they took to --artifact.`,
		Args: cobra.NoArgs,
	}
	f := &paperFlags{}
	fs := c.Flags()
	fs.StringVar(&f.from, "results", filepath.Join("results", "baselines"), "directory of the results: NAME.csv, or NAME/results.csv")
	fs.StringVarP(&f.out, "out", "o", filepath.Join("out", "paper"), "directory for the paper")
	fs.StringVar(&f.template, "template", "", "file with another template than paper/paper.tex, for a paper of your own")
	fs.StringVar(&f.artifact, "artifact", filepath.Join("paper", "artifact.json"), "file with what the artifact's commands took")
	fs.Uint64Var(&f.schedules, "schedules", 20, "schedules of each variant of a search for races")
	fs.BoolVar(&f.measure, "measure", false, "run the commands of the artifact appendix and write --artifact")
	c.RunE = func(*cobra.Command, []string) error {
		if f.measure {
			return fail(exitFailed, a.measureArtifact(f.artifact))
		}
		return a.paper(f)
	}
	return c
}

// paper makes the paper and writes its files.
func (a *app) paper(f *paperFlags) error {
	b, err := os.ReadFile(f.artifact)
	if err != nil {
		return fail(exitUsage, fmt.Errorf("artifact: %w", err))
	}
	measured, err := paper.ReadArtifact(f.artifact, b)
	if err != nil {
		return fail(exitUsage, err)
	}
	var template []byte
	if f.template != "" {
		if template, err = experiments.ReadLimited(f.template); err != nil {
			return fail(exitUsage, fmt.Errorf("template: %w", err))
		}
	}
	files, err := paper.Make(paper.Input{
		Set:  func(name string) (*results.Set, error) { return a.paperSet(f.from, name) },
		Plan: func(name string) (*schema.Plan, error) { return a.loader.Plan(name, nil) }, Searches: func() ([]paper.Search, error) {
			all, err := a.searches(f.schedules, races.Search)
			return all, fail(exitFailed, err)
		}, Artifact: measured, From: f.from,
		Template: string(template), Name: f.template,
	})
	var broken *failure
	if errors.As(err, &broken) {
		return fail(broken.code, err)
	}
	if err != nil {
		return fail(exitRegression, err)
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return fail(exitFailed, err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := outdir.WriteFile(filepath.Join(f.out, name), files[name]); err != nil {
			return fail(exitFailed, err)
		}
	}
	fmt.Fprintf(a.out, "%s and %d figures are in %s; pdflatex makes the paper of them\n", paper.TexName, len(files)-2, f.out)
	return nil
}

// paperSet reads the results of an experiment and gives published figures their sources, which the experiment has.
func (a *app) paperSet(dir, name string) (*results.Set, error) {
	file := filepath.Join(dir, name+".csv")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		file = filepath.Join(dir, name, reports.ResultsName)
	}
	s, err := compare.LoadBaseline(file)
	if err != nil {
		return nil, fmt.Errorf("results of %s: %w", name, err)
	}
	plan, err := a.loader.Plan(name, nil)
	if err != nil {
		return nil, err
	}
	source := map[results.Point]string{}
	for i := range plan.Points {
		if p := &plan.Points[i]; p.Published() != nil {
			source[p.At()] = p.Published().Source
		}
	}
	out := &results.Set{Overrides: s.Overrides}
	for r := range s.All() {
		if r.Metric == results.MetricPublished {
			r.Source = source[r.Point]
		}
		if err := out.Add(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// mostForMutant is how many schedules a mistake has to show itself.
const mostForMutant = 4000

// searches searches every scenario without mistakes, and each mistake in the first variant that is to notice it.
func (a *app) searches(schedules uint64, search func(*races.Scenario, *races.Variant, races.Options) (races.Tally, error)) (all []paper.Search, err error) {
	tried := map[string]bool{}
	for _, name := range races.Names() {
		s, err := races.Load(name)
		if err != nil {
			return nil, err
		}
		for i := range s.Variants {
			v := &s.Variants[i]
			opt := races.Default()
			opt.Schedules, opt.Cells = schedules, true
			wants := append([]string{""}, v.Catches...)
			for _, mutant := range wants {
				if mutant != "" {
					if tried[mutant] {
						continue
					}
					tried[mutant] = true
					opt.Mutant, opt.Enough, opt.Schedules, opt.Cells = mutant, 1, mostForMutant, false
				}
				t, err := search(s, v, opt)
				if err != nil {
					return nil, fmt.Errorf("%s/%s: %w", s.Name, v.Name, err)
				}
				x := paper.Search{Scenario: s.Name, Variant: v.Name, Mutant: mutant, Schedules: t.Schedules, Violations: t.Violations, Cells: t.Coverage.Cells()}
				x.Stores, x.Orders = t.Coverage.Orders()
				all = append(all, x)
			}
		}
		fmt.Fprintf(a.err, "races %s\n", name)
	}
	return all, nil
}

// measureArtifact runs the commands of the appendix, one after the other, and writes what they took.
func (a *app) measureArtifact(file string) error {
	out := &paper.Artifact{Host: hostText()}
	for _, c := range paper.Steps() {
		words := strings.Fields(c.Command)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Stderr = a.err
		start := time.Now()
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", c.Command, err)
		}
		c.Seconds = float64(time.Since(start).Milliseconds()) / 1000
		c.MiB = host.PeakOf(cmd.ProcessState) >> 20
		fmt.Fprintf(a.out, "%8.1f s %6d MiB  %s\n", c.Seconds, c.MiB, c.Command)
		out.Commands = append(out.Commands, c)
	}
	b, err := out.Bytes()
	if err != nil {
		return err
	}
	return outdir.WriteFile(file, b)
}

// hostText names the processor of this machine, its cores, the Go that the program is built with and what else runs.
func hostText() string {
	name := runtime.GOARCH
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(b), "model name"); ok {
			line, _, _ := strings.Cut(rest, "\n")
			name = strings.TrimSpace(strings.TrimLeft(line, "\t :"))
		}
	}
	load := ""
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		minute, _, _ := strings.Cut(string(b), " ")
		load = ", at a load of " + minute // of other work, which takes time from the commands
	}
	return fmt.Sprintf("%s, %d cores, %s%s", name, runtime.NumCPU(), runtime.Version(), load)
}

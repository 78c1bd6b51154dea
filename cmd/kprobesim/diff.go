package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kprobesim/experiments/reports"
	"kprobesim/results"
	"kprobesim/results/compare"
	"kprobesim/results/formats"
	"kprobesim/results/outdir"
)

func (a *app) diffCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two results directories or baselines",
		Long: `Compare the records of A with those of B. Each is a results directory (out/NAME) or a file of records
(results.csv, a baseline). What moved is grouped and explained as by check. A directory whose records are not as
its run wrote them (SHA256SUMS) is refused.

Exit codes: 0 nothing moved but what a rule of --rules allows, 3 something moved.`,
		Args: cobra.ExactArgs(2),
	}
	judge := judgeFlags(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		if err := judge.prepare(a, ""); err != nil {
			return fail(exitUsage, err)
		}
		s, err := sides(args[0], args[1])
		if err != nil {
			return fail(exitUsage, err)
		}
		var differ error
		if judge.add(a, compare.Compare(s, judge.rules)) {
			differ = fail(exitRegression, fmt.Errorf("%s and %s differ", args[0], args[1]))
		}
		return worst([]error{differ, judge.finish(a)})
	}
	return c
}

// sides reads what diff compares.
func sides(old, now string) (s compare.Sides, err error) {
	s.OldName, s.NewName = old, now
	if s.Old, s.OldKeys, err = side(old); err != nil {
		return s, err
	}
	if s.New, s.NewKeys, err = side(now); err != nil {
		return s, err
	}
	s.Name = strings.TrimSuffix(filepath.Base(now), ".csv")
	if points := s.New.Points(); len(points) > 0 {
		s.Name = points[0].Experiment
	}
	return s, nil
}

// side reads a results directory or a file of records, and what it was made from.
func side(path string) (*results.Set, formats.Keys, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, fmt.Errorf("%s is not there: name a results directory, such as out/NAME, or a file of records", path)
	case err != nil:
		return nil, nil, err
	case info.IsDir():
		return directorySide(path)
	case filepath.Base(path) == reports.ResultsName && exists(filepath.Join(filepath.Dir(path), outdir.SumsName)):
		return directorySide(filepath.Dir(path))
	case filepath.Base(path) == reports.ResultsName:
		return loadSide(path, filepath.Join(filepath.Dir(path), reports.InputsName))
	default:
		return loadSide(path, keysFile(path))
	}
}

// directorySide reads a results directory, which must be as its run wrote it.
func directorySide(dir string) (*results.Set, formats.Keys, error) {
	if !exists(filepath.Join(dir, reports.ResultsName)) {
		return nil, nil, fmt.Errorf("%s has no %s: name a results directory, such as out/NAME", dir, reports.ResultsName)
	}
	k, err := reports.Unchanged(dir)
	if err != nil {
		return nil, nil, err
	}
	if p := k.Manifest.Program; k.Keys != nil && p != (outdir.Program{}) {
		k.Keys["program"] = p.String()
	}
	return k.Set, k.Keys, nil
}

// judge holds comparisons against rules and writes them in one form.
type judge struct {
	format, file, output string
	rules                *compare.Rules
	write                func([]*compare.Comparison) ([]byte, error)
	all                  []*compare.Comparison
}

// judgeFlags adds the options of commands that compare.
func judgeFlags(c *cobra.Command) *judge {
	j := &judge{}
	var names []string
	for _, f := range compare.Formats() {
		names = append(names, f.Name)
	}
	c.Flags().StringVar(&j.format, "format", names[0], "form of the report: "+strings.Join(names, ", "))
	c.Flags().StringVar(&j.file, "rules", "", "file with thresholds and waivers (check: "+compare.RulesName+" beside the baselines, if it is there)")
	c.Flags().StringVar(&j.output, "report", "", "write the report to this file, and text to the terminal")
	return j
}

// prepare reads the rules and finds the form. dir may hold rules that nobody named.
func (j *judge) prepare(a *app, dir string) error {
	i := slices.IndexFunc(compare.Formats(), func(f compare.Format) bool { return f.Name == j.format })
	if i < 0 {
		return fmt.Errorf("--format %s: want text, markdown, json, junit or github", j.format)
	}
	j.write = compare.Formats()[i].Write
	file, must := j.file, j.file != ""
	if !must && dir != "" {
		file = filepath.Join(dir, compare.RulesName)
	}
	if file == "" {
		return nil
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--rules: %w", err)
	}
	j.rules, err = compare.ReadRules(file, b, a.now())
	return err
}

// onTerminal says whether comparisons are printed as they come.
func (j *judge) onTerminal() bool { return j.format == "text" || j.output != "" }

// add takes a comparison and reports whether it failed.
func (j *judge) add(a *app, c *compare.Comparison) bool {
	j.all = append(j.all, c)
	if j.onTerminal() {
		fmt.Fprint(a.out, c.Text())
	}
	return c.Failed()
}

// finish writes the report, if it is not on the terminal yet.
func (j *judge) finish(a *app) error {
	if j.format == "text" && j.output == "" {
		return nil
	}
	b, err := j.write(j.all)
	if err != nil {
		return fail(exitFailed, err)
	}
	if j.output != "" {
		return fail(exitFailed, outdir.WriteFile(j.output, b))
	}
	fmt.Fprintf(a.out, "%s", b)
	return nil
}

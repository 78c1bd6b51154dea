package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kprobesim/experiments/reports"
	"kprobesim/results"
	"kprobesim/results/figures"
	"kprobesim/results/history"
	"kprobesim/results/outdir"
)

func (a *app) historyCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "history DIR|FILE...",
		Short: "Follow figures over results of many revisions, and say which revision moved them",
		Long: `Follow figures of merit over results of many revisions. A DIR is a results directory, or holds some at any depth;
its manifest names the revision. A FILE is a baseline (NAME.csv) in a git repository: each commit that changed it
is a revision. Revisions that git knows stand in the order of their commits, others in that of the arguments.

Prints a table of steps for each figure of merit, and writes history.csv and the figures to --out. Each change of
a figure is a step, because simulations have no noise. Means over replicates do: there the levels are the best
partition by Schwarz's criterion.`,
		Args: atLeastOne("results directories, or a baseline that git has"),
	}
	metrics := c.Flags().StringSlice("metric", nil, "metrics to follow (default: the first of each point)")
	out := c.Flags().StringP("out", "o", "", "directory for history.csv and the figures (default: print the tables alone)")
	c.RunE = func(_ *cobra.Command, args []string) error {
		revisions, err := revisionsOf(args)
		if err != nil {
			return fail(exitUsage, err)
		}
		series := history.Gather(revisions, *metrics)
		if len(series) == 0 {
			return fail(exitUsage, fmt.Errorf("no result has the metric %s: see the column metric of results.csv", strings.Join(*metrics, ", ")))
		}
		merits := history.Merits(revisions, series)
		for _, m := range merits {
			fmt.Fprintln(a.out, m.Table().Text())
		}
		if *out == "" {
			return nil
		}
		return fail(exitFailed, writeHistory(*out, merits))
	}
	return c
}

// writeHistory writes all values and a figure for each merit.
func writeHistory(dir string, merits []*history.Merit) error {
	manifest, err := (&outdir.Manifest{Program: outdir.This()}).JSON()
	if err != nil {
		return err
	}
	values, err := history.CSV(merits)
	if err != nil {
		return err
	}
	files := map[string][]byte{outdir.ManifestName: manifest, "history.csv": values}
	for _, m := range merits {
		figure := m.Figure()
		if len(figure.Series) == 0 {
			continue
		}
		drawn, err := figures.Render(figure, m.Experiment+"-"+m.Metric)
		if err != nil {
			return fmt.Errorf("figure of %s, %s: %w", m.Experiment, m.Metric, err)
		}
		maps.Copy(files, drawn)
	}
	return outdir.WriteDir(dir, files)
}

// dated is a revision and the commit that it is of, if git knows it.
type dated struct {
	history.Revision
	hash string
}

// revisionsOf reads what the arguments name.
func revisionsOf(args []string) ([]history.Revision, error) {
	var all []*dated
	for _, arg := range args {
		var more []*dated
		var err error
		if filepath.Ext(arg) == ".csv" {
			more, err = fileRevisions(arg)
		} else {
			more, err = dirRevisions(arg)
		}
		if err != nil {
			return nil, err
		}
		for _, d := range more {
			if all, err = join(all, d); err != nil {
				return nil, fmt.Errorf("%s: %w", arg, err)
			}
		}
	}
	var revisions []history.Revision
	for _, d := range byCommit(all) {
		revisions = append(revisions, d.Revision)
	}
	return revisions, nil
}

// join adds the results of a revision to those that are there of the same one.
func join(all []*dated, d *dated) ([]*dated, error) {
	i := slices.IndexFunc(all, func(o *dated) bool { return o.Name == d.Name })
	if i < 0 {
		return append(all, d), nil
	}
	set := &results.Set{}
	if err := errors.Join(set.Add(slices.Collect(all[i].Set.All())...), set.Add(slices.Collect(d.Set.All())...)); err != nil {
		return nil, fmt.Errorf("another result of revision %s has the same point: name one of them: %w", d.Name, err)
	}
	all[i].Set = set
	return all, nil
}

// fileRevisions reads a baseline as each commit left it that changed it.
func fileRevisions(file string) (all []*dated, err error) {
	list, err := commits(filepath.Dir(file), "--diff-filter=AM", "--", filepath.Base(file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: git has no commit of this file: name a baseline that is committed, or results directories", file)
	}
	for _, c := range list {
		set, err := revisionSet(c.Hash, file)
		if err != nil {
			return nil, err
		}
		all = append(all, &dated{history.Revision{Name: c.short(), Date: c.Date, Subject: c.Subject, Set: set}, c.Hash})
	}
	return all, nil
}

// dirRevisions reads the results directories at and below a directory.
func dirRevisions(dir string) (all []*dated, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != reports.ResultsName {
			return err
		}
		kept, err := reports.Unchanged(filepath.Dir(path))
		if err != nil {
			return err
		}
		if over := kept.Manifest.Overrides; len(over) > 0 {
			return fmt.Errorf("%s was made with --set %s: its figures do not tell of a revision", filepath.Dir(path), over[0])
		}
		all = append(all, ofProgram(kept, filepath.Base(dir)))
		return nil
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s holds no results directory", dir)
	}
	return all, err
}

// ofProgram names results by the program that made them, or by the directory that was given if the program notes no revision.
func ofProgram(kept *reports.Kept, name string) *dated {
	p := kept.Manifest.Program
	d := &dated{history.Revision{Name: name, Set: kept.Set}, p.Revision}
	switch {
	case p.Revision != "":
		d.Name = commit{Hash: p.Revision}.short()
	case p.Version != "":
		d.Name = p.Version
	}
	if p.Modified {
		d.Name += " with changes"
	}
	return d
}

// commitHash is a commit as a build notes it.
var commitHash = regexp.MustCompile(`^[0-9a-f]{40,64}$`)

// byCommit sorts revisions that git knows, parents first, and adds their dates. If it does not know all, the order stays.
func byCommit(all []*dated) []*dated {
	args := []string{"--topo-order"}
	for _, d := range all {
		if !commitHash.MatchString(d.hash) { // a manifest may hold anything, an option of git too
			return all
		}
		args = append(args, d.hash)
	}
	list, err := commits(".", args...)
	if err != nil {
		return all
	}
	place := map[string]int{}
	for i, c := range list {
		place[c.Hash] = i
	}
	for _, d := range all {
		c := list[place[d.hash]]
		d.Date, d.Subject = c.Date, c.Subject
	}
	slices.SortStableFunc(all, func(a, b *dated) int { return place[a.hash] - place[b.hash] })
	return all
}

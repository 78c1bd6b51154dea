package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"kprobesim/experiments/keeping"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/experiments/sensitivity"
	"kprobesim/results/outdir"
)

func (a *app) sensitivityCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "sensitivity FILE",
		Short: "Vary each sourced number of the machine and print which move which row",
		Long: `Run an experiment of the overhead of a hit with each sourced number of its machine at the low and at the
high end of its uncertainty, one at a time. The uncertainty is stated in the machine description, or it is
10 % of a number and 30 % of a prior. Counts, sizes and frequencies that were read in a source are exact.
The table has the numbers that move each row most; results.csv below --out has all of them, and tornado.*
draws them. With --refit the fitted numbers make up for each change as far as the fitted figures show it.`,
		Args: exactlyOne("experiment file"),
	}
	sets, workers := setFlag(c), workersFlag(c)
	limit := limitFlag(c, pointLimit)
	out := c.Flags().StringP("out", "o", "out", "directory for the results")
	sharing := a.shardFlag(c, out)
	refit := c.Flags().Bool("refit", false, "fit the fitted numbers again behind each change")
	top := c.Flags().IntP("top", "n", 5, "numbers that the table has for each row")
	c.RunE = func(_ *cobra.Command, args []string) error {
		if *top < 1 {
			return fail(exitUsage, fmt.Errorf("--top %d: want 1 or more", *top))
		}
		s, err := sensitivity.New(a.loader, args[0], *sets, *refit)
		if err != nil {
			return fail(exitUsage, err)
		}
		var store *keeping.Store
		if sharing.kept() {
			if store, err = sharing.open(false, args, inputsOf(s.Plan)); err != nil {
				return err
			}
		}
		if !sharing.shard.Whole() {
			return sharing.run([]*schema.Plan{s.Everything()}, store, *workers, limit)
		}
		keep, _ := a.keep(store)
		return a.analyse(s, *out, *workers, *top, keep(limit.Measure(a.measure)))
	}
	return c
}

// analyse runs an analysis and reports it. Its results stand beside the experiment's.
func (a *app) analyse(s *sensitivity.Analysis, out string, workers, top int, measure running.Measure) error {
	dir := filepath.Join(out, s.Plan.Name+"-sensitivity")
	if err := outdir.CheckDir(dir); err != nil {
		return fail(exitUsage, err)
	}
	progress := newProgress(a.err, s.Plan.Name)
	progress.start(s.Most(), hostWorkers(workers))
	err := s.Run(&running.Runner{Measure: measure, Workers: workers, Begun: progress.begun, Progress: progress.sparse})
	progress.finish()
	if err != nil {
		return fail(exitFailed, err)
	}
	a.print(s.Table(top))
	files, err := s.Files()
	if err == nil {
		err = outdir.WriteDir(dir, files)
	}
	if err != nil {
		return fail(exitFailed, errors.Join(errors.New("results of the analysis were not written"), err))
	}
	fmt.Fprintf(a.out, "results are in %s\n", dir)
	return nil
}

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"kprobesim/experiments"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/results"
)

func (a *app) plotCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "plot DIR...",
		Short: "Draw the figures of results directories again",
		Args:  atLeastOne("a results directory, such as out/NAME"),
	}
	figures := c.Flags().StringSlice("figures", nil,
		"figures to draw (default: those the directory has): "+strings.Join(kinds.FigureNames(), ", "))
	c.RunE = func(_ *cobra.Command, args []string) error {
		var errs []error
		for _, dir := range args {
			err := reports.Redraw(dir, *figures)
			if err == nil {
				fmt.Fprintf(a.out, "figures are in %s\n", dir)
			}
			errs = append(errs, err)
		}
		return fail(exitUsage, errors.Join(errs...))
	}
	return c
}

func (a *app) checkCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "check [FILE...]",
		Short: "Run experiments and compare with the committed baselines, exactly",
		Long: `Run experiments (all of this program's, when none is named) and compare every record with the baseline
NAME.csv in the directory of baselines. Nothing may differ: simulations have no noise. What moved is
named with old and new value. A baseline changes only with --update.`,
	}
	sets, workers := setFlag(c), workersFlag(c)
	dir := c.Flags().String("baselines", filepath.Join("results", "baselines"),
		"directory of the baselines")
	update := c.Flags().Bool("update", false, "write the results as the new baselines")
	c.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			args = experiments.Names()
		}
		plans, err := a.plans(args, *sets)
		if err != nil {
			return err
		}
		var errs []error
		for _, p := range plans {
			errs = append(errs, a.checkPlan(p, filepath.Join(*dir, p.Name+".csv"), *workers, *update))
			if errors.Is(errs[len(errs)-1], running.ErrInterrupted) {
				break
			}
		}
		return worst(errs)
	}
	return c
}

// worst joins errors under the highest of their exit codes.
func worst(errs []error) error {
	code := exitOK
	for _, err := range errs {
		var f *failure
		if errors.As(err, &f) {
			code = max(code, f.code)
		}
	}
	return fail(code, errors.Join(errs...))
}

// checkPlan compares one experiment with its baseline, or replaces the baseline.
func (a *app) checkPlan(p *schema.Plan, file string, workers int, update bool) error {
	var base *results.Set
	var err error
	if !update {
		if base, err = results.LoadBaseline(file); errors.Is(err, fs.ErrNotExist) {
			return fail(exitUsage,
				fmt.Errorf("%s has no baseline %s: make it with check --update, or name the directory with --baselines", p.Name, file))
		} else if err != nil {
			return fail(exitUsage, err)
		}
	}
	r := a.measureAll(p, workers)
	if err := r.Err(); err != nil {
		return fail(exitFailed, err)
	}
	if update {
		if err := results.SaveBaseline(file, r.Set); err != nil {
			return fail(exitUsage, err)
		}
		fmt.Fprintf(a.out, "%s: wrote %s\n", p.Name, file)
		return nil
	}
	if d := results.Compare(base, r.Set); !d.Empty() {
		fmt.Fprint(a.out, d.Text())
		return fail(exitRegression,
			fmt.Errorf("%s differs from %s; if that is meant, check --update", p.Name, file))
	}
	fmt.Fprintf(a.out, "%s: %d records are as in %s\n", p.Name, r.Set.Len(), file)
	return nil
}

package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"kprobesim/experiments/keeping"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/results/outdir"
)

func (a *app) runCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "run FILE...",
		Short: "Run experiments, print their tables and write their results",
		Long: `Run the experiments of the given files (or names, see list), print a table for each and write one
directory for each below --out: manifest.json, results.csv, results.json, cpus.csv, bench.txt,
profile.pb.gz and the figures. A run with --set has the settings in the name of its directory.

A point that fails does not keep the others from being reported. Every measured point is kept below
--out at once. A run that is interrupted or killed is gone on with by the same command, which measures
only what is missing; --fresh measures everything again. An interrupt (Ctrl-C) or SIGTERM gives the points
that are being measured some seconds, and ends the run; what is measured by then goes to NAME-interrupted.
A second one ends the program at once. A guest that loops is ended by --point-limit.`,
		Args: atLeastOne("an experiment file"),
	}
	sets, workers := setFlag(c), workersFlag(c)
	settings := replicateFlag(c, sets)
	limit := limitFlag(c, pointLimit)
	out := c.Flags().StringP("out", "o", "out", "directory for the results")
	accounts := c.Flags().Bool("accounts", false, "print what every CPU spent its time on, too")
	fresh := c.Flags().Bool("fresh", false, "measure every point again, also those that an earlier run has kept")
	format := c.Flags().String("format", "csv", "form of the records: csv, or parquet for results.parquet beside results.csv")
	sharing := a.shardFlag(c, out)
	c.RunE = func(_ *cobra.Command, args []string) error {
		if *format != "csv" && *format != reports.FormatParquet {
			return fail(exitUsage, fmt.Errorf("--format %s: known are csv and %s", *format, reports.FormatParquet))
		}
		a.parquet = *format == reports.FormatParquet
		plans, err := sharing.plans(args, settings())
		if err != nil {
			return err
		}
		for _, p := range plans {
			if err := outdir.CheckDir(runDir(*out, p)); err != nil {
				return fail(exitUsage, err)
			}
		}
		store, err := sharing.open(*fresh, args, inputsOf(plans...))
		if err != nil {
			return err
		}
		costs, err := keeping.LoadCosts(*out)
		if err != nil {
			return fail(exitUsage, err)
		}
		a.ahead = forecastOf(costs, plans...)
		if !sharing.shard.Whole() {
			return sharing.run(plans, store, *workers, limit)
		}
		var errs []error
		for _, p := range plans {
			errs = append(errs, a.runPlan(p, store, *out, *workers, *accounts, limit))
			if errors.Is(errs[len(errs)-1], running.ErrInterrupted) {
				break
			}
		}
		return errors.Join(errs...)
	}
	return c
}

// plans reads every experiment before the first one runs, and reports every mistake in all of them.
func (a *app) plans(names, sets []string) ([]*schema.Plan, error) {
	var plans []*schema.Plan
	var errs []error
	seen := map[string]string{}
	for _, name := range names {
		p, err := a.loader.Plan(name, sets)
		errs = append(errs, err)
		if err == nil && seen[p.Name] != "" {
			errs = append(errs,
				fmt.Errorf("%s and %s are both experiment %q: their results would share a directory", seen[p.Name], name, p.Name))
		}
		if err == nil {
			seen[p.Name] = name
			plans = append(plans, p)
			errs = append(errs, lacking(p))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fail(exitUsage, err)
	}
	a.ahead = forecastOf(keeping.Shipped(), plans...)
	return plans, nil
}

// lacking names what this host lacks of what a plan needs, as an error.
func lacking(p *schema.Plan) error {
	if p.Lacking == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", p.Name, p.Lacking)
}

// runPlan runs one experiment and reports it.
func (a *app) runPlan(p *schema.Plan, store *keeping.Store, out string, workers int, accounts bool, limit *running.Limit) error {
	keep, kept := a.keep(store)
	meter := newMeter()
	r := a.measured(p, func(m running.Measure) running.Measure { return keep(meter.measure(m)) }, workers, limit)
	kept(p)
	if err := unfinished(r); err != nil {
		return fail(exitFailed, err)
	}
	for _, t := range r.Tables() {
		a.print(t)
	}
	if accounts {
		a.print(r.Accounts())
	}
	dir := runDir(out, p)
	if errors.Is(r.Err(), running.ErrInterrupted) {
		dir += "-interrupted" // results of a whole run stay
		if store != nil {
			fmt.Fprintln(a.err, "kprobesim: what is measured is kept: run the same command again to go on with the rest")
		}
	}
	err := r.Write(dir)
	if err != nil {
		return fail(exitFailed, errors.Join(r.Err(),
			fmt.Errorf("results of %s were not written: %w", p.Name, err)))
	}
	if store != nil {
		err = meter.save(out, dir, hostWorkers(workers))
	}
	fmt.Fprintf(a.out, "results are in %s\n", dir)
	if r.HasConsole() {
		fmt.Fprintf(a.out, "what the kernel printed is in %s\n", filepath.Join(dir, reports.ConsoleName))
	}
	return fail(exitFailed, errors.Join(r.Err(), err))
}

// measureAll runs the points of a plan, all of them anew.
func (a *app) measureAll(p *schema.Plan, workers int, limit *running.Limit) *reports.Report {
	return a.measured(p, func(m running.Measure) running.Measure { return m }, workers, limit)
}

// measured runs the points of a plan with progress on the error stream. An interrupt ends it early, and the limit a point.
func (a *app) measured(p *schema.Plan, keep func(running.Measure) running.Measure, workers int, limit *running.Limit) *reports.Report {
	progress := newProgress(a.err, p.Name)
	stop, done := a.untilInterrupt()
	defer done()
	within := *limit
	within.Stop = stop
	measure := keep(within.Measure(a.measure))
	if a.ahead != nil {
		progress.forecast = a.ahead
	}
	progress.start(len(p.Points), hostWorkers(workers))
	runner := &running.Runner{Measure: running.FewProfiles(p, measure), Workers: workers, Begun: progress.begun, Stop: stop}
	tell := progress.point
	if a.merged != nil {
		tell = progress.sparse
	}
	collector := reports.Collect(p)
	runner.Progress = func(done, total int, o *running.Outcome) {
		collector.Take(o)
		tell(done, total, o)
	}
	outcomes := runner.Run(p)
	progress.finish()
	r := collector.Report(outcomes)
	r.Parquet = a.parquet
	return r
}

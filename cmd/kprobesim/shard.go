package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kprobesim/experiments/keeping"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/distinct"
	"kprobesim/results/outdir"
)

// sharing holds which part of its work a command does, and where it keeps that.
type sharing struct {
	app   *app
	cmd   *cobra.Command
	shard keeping.Shard
	text  string // of --shard
	out   *string
}

// apart are the options on which no piece of work depends.
var apart = []string{"shard", "out", "workers", "fresh", "point-limit", "host-limit", "no-host-code"}

// shardFlag adds the option --shard to a command whose results stand below out.
func (a *app) shardFlag(c *cobra.Command, out *string) *sharing {
	s := &sharing{app: a, cmd: c, out: out}
	c.Flags().Var(s, "shard", "do part I of N alone, as I/N, and keep it below --out for `kprobesim merge`")
	return s
}

// String, Set and Type make the option's value.
func (s *sharing) String() string { return s.text }

// Type names the value in help.
func (s *sharing) Type() string { return "string" }

// Set reads the value.
func (s *sharing) Set(text string) (err error) {
	s.text = text
	s.shard, err = keeping.ParseShard(text)
	return err
}

// plans reads the experiments of a command, of a large sweep the part that belongs to the shard.
func (s *sharing) plans(names, sets []string) ([]*schema.Plan, error) {
	s.app.loader.Share = s.shard.Combinations
	defer func() { s.app.loader.Share = nil }()
	return s.app.plans(names, sets)
}

// open returns the store of a command that has read inputs, nil where nothing is kept. A command that runs for a merge has the
// store of the shards.
func (s *sharing) open(fresh bool, args []string, inputs []outdir.Input) (*keeping.Store, error) {
	store := s.app.merged
	var err error
	if store == nil {
		if store, err = s.app.store(*s.out, fresh, s.shard); store == nil || err != nil {
			return nil, fail(exitFailed, err)
		}
		s.app.ended = append(s.app.ended, func() { _ = store.Close() }) // what was written is written
	}
	return store, fail(exitUsage, store.Begin(keeping.Order{Program: outdir.This(), Args: s.order(args), Inputs: inputs, Shard: s.text}))
}

// kept reports whether the work of the command is kept: it is a shard, or runs for a merge.
func (s *sharing) kept() bool { return s.text != "" || s.app.merged != nil }

// order is the command line without the options on which no piece depends.
func (s *sharing) order(args []string) []string {
	out := append([]string{s.cmd.Name()}, args...)
	s.cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(apart, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			out = append(out, "--"+f.Name+"="+v)
		}
	})
	return out
}

// inputsOf lists what plans were read from.
func inputsOf(plans ...*schema.Plan) (all []outdir.Input) {
	for _, p := range plans {
		all = distinct.Append(all, p.Inputs...)
	}
	return all
}

// run measures the points of plans that belong to a shard, and writes no results. It fails where a point is not kept: one
// that failed by itself is.
func (s *sharing) run(plans []*schema.Plan, store *keeping.Store, workers int, limit *running.Limit) error {
	var errs []error
	for i := range plans {
		plans[i] = store.Part(s.shard, plans[i])
	}
	costs, err := keeping.LoadCosts(*s.out)
	if err != nil {
		return fail(exitUsage, err)
	}
	s.app.ahead = forecastOf(costs, plans...)
	meter := newMeter()
	for _, p := range plans {
		keep, tell := s.app.keep(store)
		r := s.app.measured(p, func(m running.Measure) running.Measure { return keep(meter.measure(m)) }, workers, limit)
		tell(p)
		for _, o := range r.Outcomes {
			switch {
			case running.Ended(o.Err):
				errs = append(errs, fmt.Errorf("point %s: %w", o.Point.Name, o.Err))
			case o.Err != nil:
				fmt.Fprintf(s.app.err, "point %s: %v\n", o.Point.Name, o.Err)
			}
		}
		fmt.Fprintf(s.app.out, "%s, shard %s: %s done\n", p.Name, s.shard, counted(len(p.Points), "point"))
	}
	_, err = store.Reused()
	return fail(exitFailed, errors.Join(append(errs, err, meter.save(*s.out, "", hostWorkers(workers)))...))
}

// unfinished names the points of a merge that no shard has finished.
func unfinished(r *reports.Report) error {
	var names []string
	for _, o := range r.Outcomes {
		if errors.Is(o.Err, keeping.ErrMissing) {
			names = append(names, o.Point.Name)
		}
	}
	n := len(names)
	if n == 0 {
		return nil
	}
	if n > mostMissing {
		names = append(names[:mostMissing], fmt.Sprintf("and %d more", n-mostMissing))
	}
	return fmt.Errorf("%s: %d of %d points are missing, %w: %s", r.Plan.Name, n, len(r.Outcomes), keeping.ErrMissing, strings.Join(names, ", "))
}

// mostMissing bounds the points that are named.
const mostMissing = 5

// mergeCmd joins what shards have kept.
func (a *app) mergeCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Make the results of a command from what its shards have kept",
		Long: `Make the results of a run, check, races, sensitivity or explain from what its shards have kept below
the given directories (their --out), in any number, order and overlap: the bytes are those of the command without
--shard. Nothing is measured. Read in the directory in which the shards ran, because they name files as they did.
What no shard has finished is named, and nothing is written then. Shards of another command, of other
files or of another build of the program are refused.

The exit code is that of the command.`,
		Args: atLeastOne("the directories of shards"),
	}
	out := c.Flags().StringP("out", "o", "", "directory for the results (default: the first DIR)")
	c.RunE = func(_ *cobra.Command, dirs []string) error {
		if *out == "" {
			*out = dirs[0]
		}
		return a.merge(dirs, *out)
	}
	return c
}

// merge runs the command of the shards once more, on what they have kept.
func (a *app) merge(dirs []string, out string) error {
	program, err := a.program()
	if err != nil {
		return fail(exitFailed, err)
	}
	store, order, err := keeping.Merge(dirs, program)
	if err != nil {
		return fail(exitUsage, fmt.Errorf("merge: %w", err))
	}
	a.merged = store
	defer func() { a.merged = nil }()
	root := a.root()
	root.SetArgs(append(order.Args, "--out="+out))
	err = root.Execute()
	if errors.Is(err, keeping.ErrMissing) {
		err = fail(exitFailed, fmt.Errorf("%w; run the shards that lack%s", err, store.Strangers()))
	}
	return errors.Join(err, store.Close())
}

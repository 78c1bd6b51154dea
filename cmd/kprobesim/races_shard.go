package main

import (
	"errors"
	"fmt"
	"sync"

	"kprobesim/experiments/keeping"
	"kprobesim/races"
	"kprobesim/results/outdir"
)

// scripts lists the files of scenarios.
func scripts(rows []races.Row) (all []outdir.Input) {
	for _, r := range rows {
		in := outdir.Input{Kind: "scenario", Name: r.Scenario.Name, Hash: outdir.Hash([]byte(r.Scenario.Text))}
		if n := len(all); n == 0 || all[n-1] != in {
			all = append(all, in)
		}
	}
	return all
}

// of returns the options of a row: with --per-scenario its share of the schedules.
func (f *racesFlags) of(r *races.Row) races.Options {
	opt := f.Options
	if n := uint64(len(r.Scenario.Variants)); f.share && f.variant == "" {
		opt.Schedules = (opt.Schedules + n - 1) / n
	}
	return opt
}

// searchKept searches a row by what a store keeps of it; nil keeps nothing. A batch of schedules is a piece of work, and so is a
// search of all plans, which has no batches. Where mine is given, other pieces are left out, and none are reported.
func searchKept(r *races.Row, opt races.Options, store *keeping.Store, mine func(keeping.Key) bool) (t races.Tally, err error) {
	if store == nil {
		return races.Search(r.Scenario, r.Variant, opt)
	}
	id := opt
	id.Workers = 0
	if opt.Policy == races.Exhaustive {
		key := store.Key("plans %q %s %+v", r.Scenario.Text, r.Variant.Name, id)
		if mine != nil && !mine(key) {
			return t, nil
		}
		return keeping.Piece(store, key, func() (races.Tally, error) { return races.Search(r.Scenario, r.Variant, opt) })
	}
	id.Schedules = 0
	opt.Keep = func(first, count uint64, run func() ([]races.Outcome, error)) (got []races.Outcome, err error) {
		key := store.Key("schedules %q %s %+v %d %d", r.Scenario.Text, r.Variant.Name, id, first, count)
		if mine == nil || mine(key) {
			got, err = keeping.Piece(store, key, run)
		}
		if err != nil {
			err = fmt.Errorf("schedules from %d to %d: %w", first, first+count-1, err)
		}
		if mine != nil {
			got = nil // a shard neither counts nor ends early
		}
		return got, err
	}
	return races.Search(r.Scenario, r.Variant, opt)
}

// searchShard runs the pieces of all rows that belong to a shard. What they find is told by a merge.
func (a *app) searchShard(rows []races.Row, f *racesFlags, store *keeping.Store) error {
	var mu sync.Mutex
	var all []keeping.Load
	mine := map[keeping.Key]bool{}
	each := func(do func(keeping.Key) bool) (errs []error) {
		for i := range rows {
			_, err := searchKept(&rows[i], f.of(&rows[i]), store, do)
			errs = append(errs, err)
		}
		return errs
	}
	errs := each(func(k keeping.Key) bool {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, keeping.Load{Key: k, Cost: 1})
		return false
	})
	for _, i := range f.sharing.shard.Part(all) {
		mine[all[i].Key] = true
	}
	errs = append(errs, each(func(k keeping.Key) bool { return mine[k] })...)
	_, err := store.Reused()
	fmt.Fprintf(a.out, "races, shard %s: %s done\n", f.sharing.shard, counted(len(mine), "piece"))
	return fail(exitFailed, errors.Join(append(errs, err)...))
}

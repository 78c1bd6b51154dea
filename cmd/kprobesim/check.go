package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"kprobesim/experiments"
	"kprobesim/experiments/keeping"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/results"
	"kprobesim/results/compare"
	"kprobesim/results/formats"
)

// keysExt is the ending of the file beside a baseline that holds what it was made from.
const keysExt = ".inputs"

func (a *app) checkCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "check [FILE...]",
		Short: "Run experiments and compare with the baselines",
		Long: `Run experiments (all of this program's, when none is named) and compare every record with the baseline
NAME.csv in the directory of baselines. Nothing may differ: simulations have no noise. A figure that
moved is named with the figures that follow from it, and with the inputs that differ. The file
checks.toml beside the baselines, or that of --rules, may allow a metric some room and excuse what
moved until a day. A baseline changes only with --update. Where a change of inputs moved no figure, --inputs
writes what the baselines are made from (NAME.inputs) and measures nothing.

Exit codes: 0 nothing moved but what a rule allows, 3 something moved.`,
	}
	k := &checker{app: a}
	sets, workers := setFlag(c), workersFlag(c)
	k.limit = limitFlag(c, pointLimit)
	f := c.Flags()
	f.StringVar(&k.dir, "baselines", filepath.Join("results", "baselines"), "directory of the baselines")
	f.StringVar(&k.against, "against", "", "take the baselines of another revision of git")
	since := f.String("since", "", "as --against, and name the commit that moved each figure, by bisection over the baselines of all commits since")
	update := f.Bool("update", false, "write the results as the new baselines")
	inputs := f.Bool("inputs", false, "measure nothing, and write what the baselines are made from")
	judge := judgeFlags(c)
	out := c.Flags().StringP("out", "o", "out", "with --shard: directory that keeps what was measured")
	sharing := a.shardFlag(c, out)
	c.MarkFlagsMutuallyExclusive("against", "since")
	c.RunE = func(_ *cobra.Command, args []string) error {
		if *since != "" {
			k.against, k.since = *since, true
		}
		if *update && *inputs || (*update || *inputs) && k.against != "" {
			return errors.New("--update and --inputs write baselines, --against reads those of another revision: use one of them")
		}
		if len(args) == 0 {
			args = k.withBaselines()
		}
		if !*update && !*inputs {
			if err := judge.prepare(a, k.dir); err != nil {
				return fail(exitUsage, err)
			}
		}
		plans, err := a.plans(args, *sets)
		if err != nil {
			return err
		}
		if *inputs {
			return k.record(plans)
		}
		k.workers = *workers
		if sharing.kept() {
			if k.store, err = sharing.open(false, args, inputsOf(plans...)); err != nil {
				return err
			}
		}
		if !sharing.shard.Whole() {
			return sharing.run(plans, k.store, *workers, k.limit)
		}
		var errs []error
		for _, p := range plans {
			if *update {
				errs = append(errs, k.update(p))
			} else {
				errs = append(errs, k.check(p, judge))
			}
			if errors.Is(errs[len(errs)-1], running.ErrInterrupted) {
				break
			}
		}
		if !*update {
			errs = append(errs, judge.finish(a))
		}
		return worst(errs)
	}
	return c
}

// record writes what baselines are made from and leaves their figures as they are. A check holds the figures against
// those inputs as before, so that nothing can pass that was not measured.
func (k *checker) record(plans []*schema.Plan) error {
	for _, p := range plans {
		file := k.file(p)
		if !exists(file) {
			return fail(exitUsage, fmt.Errorf("%s has no baseline %s: make it with check --update", p.Name, file))
		}
		if err := formats.SaveKeys(keysFile(file), p.Keys); err != nil {
			return fail(exitUsage, err)
		}
		fmt.Fprintf(k.out, "%s: wrote %s\n", p.Name, keysFile(file))
	}
	return nil
}

// withBaselines lists the experiments of this program that have baselines. Experiments of packaged kernels have none, as
// their figures depend on the kernel of the user.
func (k *checker) withBaselines() (names []string) {
	for _, name := range experiments.Names() {
		if kind, err := k.loader.ExperimentKind(name); err == nil && schema.Packaged(kind) {
			fmt.Fprintf(k.err, "kprobesim: left out: %s, whose figures are those of a kernel that is not part of this program\n", name)
			continue
		}
		names = append(names, name)
	}
	return names
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

// checker compares experiments with baselines.
type checker struct {
	*app
	dir, against string
	since        bool // name the commits behind against
	workers      int
	limit        *running.Limit
	store        *keeping.Store // of a shard or a merge
}

// measured runs the points of a plan, all of them anew unless it is for a merge.
func (k *checker) measured(p *schema.Plan) (*reports.Report, error) {
	keep, _ := k.keep(k.store)
	r := k.app.measured(p, keep, k.workers, k.limit)
	if err := unfinished(r); err != nil {
		return r, err
	}
	return r, r.Err()
}

// file returns the path of a baseline.
func (k *checker) file(p *schema.Plan) string { return filepath.Join(k.dir, p.Name+".csv") }

// keysFile returns the path of what a baseline was made from.
func keysFile(baseline string) string { return strings.TrimSuffix(baseline, ".csv") + keysExt }

// update replaces a baseline and what it was made from.
func (k *checker) update(p *schema.Plan) error {
	r, err := k.measured(p)
	if err != nil {
		return fail(exitFailed, err)
	}
	file := k.file(p)
	err = compare.SaveBaseline(file, r.Set)
	if err == nil {
		err = formats.SaveKeys(keysFile(file), p.Keys)
	}
	if err != nil {
		return fail(exitUsage, err)
	}
	fmt.Fprintf(k.out, "%s: wrote %s\n", p.Name, file)
	return nil
}

// check compares one experiment with its baseline.
func (k *checker) check(p *schema.Plan, j *judge) error {
	s := compare.Sides{Name: p.Name, OldName: k.file(p), NewName: "this run", NewKeys: p.Keys}
	var err error
	if k.against == "" {
		s.Old, s.OldKeys, err = loadSide(k.file(p), keysFile(k.file(p)))
	} else if err = checkRevision("--against", k.dir, k.against); err == nil {
		s.OldName = k.against + ":" + s.OldName
		s.Old, s.OldKeys, err = revisionSide(k.against, k.file(p))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s has no baseline %s: make it with check --update, or name the directory with --baselines", p.Name, s.OldName)
	}
	if err != nil {
		return fail(exitUsage, err)
	}
	r, err := k.measured(p)
	if err != nil {
		return fail(exitFailed, err)
	}
	s.New = r.Set
	failed := j.add(k.app, compare.Compare(s, j.rules))
	if k.since {
		if err := k.blame(p, compare.Exact(s.Old, s.New).Moved); err != nil {
			return fail(exitUsage, err)
		}
	}
	if failed {
		return fail(exitRegression, fmt.Errorf("%s differs from %s; if that is meant, check --update", p.Name, s.OldName))
	}
	if k.against == "" && len(p.Overrides) == 0 && s.OldKeys != nil && !maps.Equal(s.OldKeys, p.Keys) {
		fmt.Fprintf(k.err, "kprobesim: the inputs of %s are not those of its baseline, and no figure moved: check --inputs %s records them\n", p.Name, p.Name)
	}
	return nil
}

// loadSide reads a baseline and what it was made from.
func loadSide(file, keys string) (*results.Set, formats.Keys, error) {
	set, err := compare.LoadBaseline(file)
	if err != nil {
		return nil, nil, err
	}
	k, err := formats.LoadKeys(keys)
	return set, k, err
}

// blame names the commit that moved each figure since the revision. A bisection over the commits that changed the baseline
// finds the first that no longer has the old figure.
func (k *checker) blame(p *schema.Plan, moved []compare.Change) error {
	file := k.file(p)
	list, err := commits(k.dir, k.against+"..HEAD", "--", filepath.Base(file))
	if err != nil {
		return err
	}
	sets := make([]*results.Set, len(list))
	had := func(i int, old results.Record) bool {
		if sets[i] == nil && err == nil {
			sets[i], err = revisionSet(list[i].Hash, file)
		}
		if err != nil {
			return false
		}
		now, there := sets[i].Get(old.Point, old.Metric)
		return there && now.Value == old.Value
	}
	by := map[int][]string{}
	for _, c := range moved {
		i := sort.Search(len(list), func(i int) bool { return !had(i, c.Old) })
		by[i] = append(by[i], compare.PointName(c.Old.Point)+" "+c.Old.Metric)
	}
	for _, i := range slices.Sorted(maps.Keys(by)) {
		who := "no commit yet, but this tree"
		if i < len(list) {
			who = list[i].String()
		}
		fmt.Fprintf(k.out, "%s: moved by %s: %d figures, the first is that of %s\n", p.Name, who, len(by[i]), by[i][0])
	}
	return err
}

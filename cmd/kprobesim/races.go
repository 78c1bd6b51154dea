package main

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kprobesim/experiments/keeping"
	"kprobesim/gdb"
	"kprobesim/internal/clock"
	"kprobesim/races"
	"kprobesim/results/outdir"
	"kprobesim/workloads"
)

// racesFlags are the options of the command races.
type racesFlags struct {
	races.Options
	variant string
	share   bool
	replay  int64
	sharing *sharing
	lines   int
	gdb     string
	choices string
	story   int
	mutants bool
	format  string
	drawn   string
}

func (a *app) racesCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "races FILE...",
		Short: "Search for interleavings in which patching code that runs goes wrong",
		Long: `Run the scenarios of the given files (or names, see list) under many interleavings of the CPUs and
report what must never happen: torn or stale instructions, lost or doubled handler calls, wrong results,
CPUs that hang, kernels that panic. Every variant of a scenario runs --schedules of them. A violation is
printed with the command that shows it instruction by instruction (--replay). With --per-scenario the
variants of a scenario share them. --mutant makes a mistake in
the kernel on purpose: then there should be violations.

Exit code 1 says that there were violations, or that a scenario could not run.`,
		Args: atLeastOne("a scenario"),
	}
	f := racesFlags{Options: races.Default()}
	fs := c.Flags()
	fs.Uint64VarP(&f.Schedules, "schedules", "n", f.Schedules, "schedules of each variant")
	fs.Uint64Var(&f.Seed, "seed", f.Seed, "what all chance comes from")
	fs.StringVar(&f.Policy, "policy", f.Policy, "how schedules are made: random, pct, exhaustive")
	fs.IntVar(&f.Depth, "depth", f.Depth, "pct: orderings that an error needs, one more than there are change points")
	fs.IntVar(&f.Preemptions, "preemptions", f.Preemptions, "exhaustive: most preemptions of a schedule")
	fs.StringVar(&f.Mutant, "mutant", "", "a mistake for the kernel to make")
	fs.IntVar(&f.Enough, "violations", 0, "end a variant's search after so many violations (0: never)")
	fs.BoolVar(&f.Coverage, "coverage", false, "print where the other CPUs were at each step of the protocols, and in how many schedules")
	fs.Uint64Var(&f.NothingNew, "until-nothing-new", 0, "end a variant's search after so many schedules in a row that cover nothing new (0: never)")
	fs.IntVarP(&f.Workers, "workers", "j", 0, "machines that run at the same time (0: one a core)")
	fs.StringVar(&f.variant, "variant", "", "run this variant only")
	fs.BoolVar(&f.share, "per-scenario", false, "the variants of a scenario share its schedules, rounded up")
	fs.Int64Var(&f.replay, "replay", -1, "show schedule N of one variant, instruction by instruction")
	fs.StringVar(&f.choices, "choices", "", "show the schedule of these choices of one variant, from the boot, instruction by instruction")
	fs.IntVar(&f.story, "story", 1000, "schedules by which the first violation of a variant is minimized (0: none)")
	fs.BoolVar(&f.mutants, "mutants", false, "make every mistake that the scenarios say they catch, and print what caught it")
	fs.StringVar(&f.format, "format", "text", "mutants, coverage: text or json")
	fs.IntVar(&f.lines, "lines", 200, "replay: show the last N lines (0: all)")
	fs.StringVar(&f.drawn, "timeline", "", "replay: file to write with a timeline for the Perfetto viewer")
	out := fs.StringP("out", "o", "out", "with --shard: directory that keeps what was found")
	f.sharing = a.shardFlag(c, out)
	fs.StringVar(&f.gdb, "gdb", "", "replay: wait for gdb, on an address of this host, with the machine at the violation")
	fs.Lookup("gdb").NoOptDefVal = anyPort
	c.RunE = func(_ *cobra.Command, args []string) error { return a.races(args, &f) }
	return c
}

// races runs searches, or shows one schedule.
func (a *app) races(args []string, f *racesFlags) error {
	rows, err := f.rows(args)
	if err == nil {
		err = f.Check()
	}
	if err == nil && (f.replay >= 0 || f.choices != "") && len(rows) != 1 {
		err = fmt.Errorf("--replay and --choices show one variant, not %d: choose one by --variant", len(rows))
	}
	if err == nil && (f.replay < -1 || f.lines < 0 || f.story < 0) {
		err = errors.New("--replay, --lines and --story cannot be negative")
	}
	if err == nil && f.format != "text" && (f.format != "json" || !f.mutants && !f.Coverage) {
		err = fmt.Errorf("--format %q: it is text, or with --mutants or --coverage json", f.format)
	}
	if err == nil && f.drawn != "" && f.replay < 0 && f.choices == "" {
		err = errors.New("--timeline shows one schedule: choose it by --replay or --choices")
	}
	if err == nil && f.gdb != "" && f.replay < 0 {
		err = errors.New("--gdb shows one schedule: choose it by --replay")
	}
	if err != nil {
		return fail(exitUsage, err)
	}
	if f.mutants {
		return a.tryMutants(rows, f)
	}
	if f.gdb != "" {
		return a.debugSchedule(rows[0], f)
	}
	if f.replay >= 0 || f.choices != "" {
		return a.showSchedule(rows[0], f)
	}
	var store *keeping.Store
	if f.sharing.kept() {
		if store, err = f.sharing.open(false, args, scripts(rows)); err != nil {
			return err
		}
	}
	if !f.sharing.shard.Whole() {
		return a.searchShard(rows, f, store)
	}
	return a.search(rows, f, store)
}

// showSchedule prints one schedule, by its number or by its choices.
func (a *app) showSchedule(r races.Row, f *racesFlags) (err error) {
	var o *races.Outcome
	var drawn bytes.Buffer
	show := races.Shown{Lines: f.lines}
	if f.drawn != "" {
		show.Timeline = &drawn
	}
	if f.choices != "" {
		o, err = races.ReplayChoices(r.Scenario, r.Variant, f.Options, f.choices, show, a.out)
	} else {
		o, err = races.Replay(r.Scenario, r.Variant, f.Options, uint64(f.replay), show, a.out)
	}
	if err == nil && f.drawn != "" {
		if err := outdir.WriteFile(f.drawn, drawn.Bytes()); err != nil {
			return fail(exitUsage, fmt.Errorf("timeline: %w", err))
		}
	}
	if err == nil && o.Violation != nil {
		err = fmt.Errorf("schedule %d has a violation: %s", o.N, o.Violation.Kind)
	}
	return fail(exitFailed, err)
}

// debugSchedule lets gdb look at one schedule, first where it goes wrong.
func (a *app) debugSchedule(r races.Row, f *racesFlags) error {
	symbols, err := workloads.Open(r.Variant.Image())
	if err != nil {
		return fail(exitFailed, err)
	}
	return a.debug(f.gdb, symbols, true, func(_ clock.Ticks, attach gdb.Attach) error {
		return races.Debug(r.Scenario, r.Variant, f.Options, uint64(f.replay), attach)
	})
}

// rows reads the scenarios and lists the variants to run.
func (f *racesFlags) rows(args []string) (rows []races.Row, err error) {
	var errs []error
	for _, name := range args {
		s, err := races.Load(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if f.variant != "" {
			v, err := s.Variant(f.variant)
			errs = append(errs, err)
			rows = append(rows, races.Row{Scenario: s, Variant: v})
			continue
		}
		for i := range s.Variants {
			rows = append(rows, races.Row{Scenario: s, Variant: &s.Variants[i]})
		}
	}
	return rows, errors.Join(errs...)
}

// search runs every row and reports them. How fast it went is said on the error stream, as everything
// on the other one is the same whenever and wherever it runs.
func (a *app) search(rows []races.Row, f *racesFlags, store *keeping.Store) error {
	var errs []error
	violations := uint64(0)
	done := rows[:0]
	for _, r := range rows {
		start := time.Now()
		t, err := searchKept(&r, f.of(&r), store, nil)
		r.Tally = t
		if err != nil {
			errs = append(errs, fmt.Errorf("%s/%s: %w", r.Scenario.Name, r.Variant.Name, err))
			continue
		}
		fmt.Fprintf(a.err, "%s/%s: %s, %.0f a second\n", r.Scenario.Name, r.Variant.Name, counted(t.Schedules, "schedule"),
			float64(t.Schedules)/time.Since(start).Seconds())
		violations += t.Violations
		if len(t.Found) > 0 && f.story > 0 {
			r.Told, err = races.Tell(r.Scenario, r.Variant, f.Options, &t.Found[0], f.story, a.minimizing(&r))
			errs = append(errs, err)
		}
		done = append(done, r)
	}
	if f.format == "json" {
		errs = append(errs, races.ReportCoverageJSON(a.out, done))
	} else {
		errs = append(errs, races.Report(a.out, f.Options, done))
	}
	if violations > 0 {
		errs = append(errs, fmt.Errorf("%s with violations", counted(violations, "schedule")))
	}
	return fail(exitFailed, errors.Join(errs...))
}

// minimizing says now and then how far a violation is minimized.
func (a *app) minimizing(r *races.Row) func(left, choices int) {
	last := time.Now()
	return func(left, choices int) {
		if time.Since(last) > 5*time.Second {
			last = time.Now()
			fmt.Fprintf(a.err, "%s/%s: minimizing, %s left, %s\n", r.Scenario.Name, r.Variant.Name, counted(uint64(left), "schedule"), counted(uint64(choices), "choice"))
		}
	}
}

// tryMutants makes mistakes, and fails when one is not caught. Seconds are said on the error stream, as they differ between hosts.
func (a *app) tryMutants(rows []races.Row, f *racesFlags) error {
	var all []*races.Scenario
	for _, r := range rows {
		if len(all) == 0 || all[len(all)-1] != r.Scenario {
			all = append(all, r.Scenario)
		}
	}
	var caught []races.Caught
	missed, start := uint64(0), time.Now()
	err := races.TryMutants(all, f.Options, func(x races.Caught) {
		caught = append(caught, x)
		if x.By == "" {
			missed++
		}
		fmt.Fprintf(a.err, "%s: %s, %.1f s\n", x.Name, counted(x.Schedules, "schedule"), time.Since(start).Seconds())
		start = time.Now()
	})
	report := races.ReportMutants
	if f.format == "json" {
		report = races.ReportMutantsJSON
	}
	err = errors.Join(err, report(a.out, caught))
	if missed > 0 {
		err = errors.Join(err, fmt.Errorf("%s not caught", counted(missed, "mutant")))
	}
	return fail(exitFailed, err)
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"kprobesim/experiments/keeping"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/defect"
	"kprobesim/internal/host"
)

// Exit codes.
const (
	exitOK         = 0
	exitFailed     = 1 // a point failed, a race was found, the run was interrupted, or results could not be written
	exitUsage      = 2 // options, files or descriptions are wrong
	exitRegression = 3 // results differ from the baseline, or a probe takes more than its limit
	exitInternal   = 4 // a defect of this program
)

// failure is an error with the exit code it calls for.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// fail gives err an exit code; nil stays nil.
func fail(code int, err error) error {
	if err == nil {
		return nil
	}
	return &failure{code, err}
}

// app is one run of the command.
type app struct {
	out     *sticky
	err     *locked
	loader  *planning.Loader
	measure running.Measure  // what runs a point
	now     func() time.Time // by which waivers expire; no figure depends on it
	ended   []func()         // calls at the end of the command
	ahead   *forecast        // of the experiments of the command
	merged  *keeping.Store   // what shards have kept, while a command runs for a merge
	parquet bool             // records are written as Parquet, too
	long    bool             // lists say more
	// program names the build that measures; nil keeps no measurements
	program func() (string, error)
}

// run executes the command line args and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	return newApp(stdout, stderr).run(args)
}

func newApp(stdout, stderr io.Writer) *app {
	loader := planning.NewLoader()
	loader.Stdin = os.Stdin
	a := &app{
		out: &sticky{w: stdout}, err: &locked{w: stderr}, loader: loader,
		measure: kinds.Measure, now: time.Now, program: host.Executable,
	}
	loader.Tell = newPlanning(a.err, time.Now)
	return a
}

func (a *app) run(args []string) (code int) {
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(a.err, "kprobesim: internal error: %v\n%s", v, debug.Stack())
			code = exitInternal
		}
	}()
	defer func() {
		for _, f := range a.ended {
			f()
		}
	}()
	root := a.root()
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		err = fail(exitFailed, a.out.err)
	}
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(a.err, "kprobesim: %s\n", harmless([]byte(err.Error())))
	return a.code(err)
}

// code chooses the exit code. Errors without one come from cobra: the command line is wrong.
func (a *app) code(err error) int {
	var internal *defect.Error
	if errors.As(err, &internal) {
		fmt.Fprintf(a.err, "%s", internal.Stack)
		return exitInternal
	}
	var f *failure
	if errors.As(err, &f) {
		return f.code
	}
	return exitUsage
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "kprobesim",
		Short:         "Predict what a kernel probe costs by executing it on a simulated machine",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
		Long: `kprobesim runs a small kernel with Kprobes on a simulated machine and reports what a probe hit costs,
where the cycles go, and how that compares with published figures.

Exit codes: 0 ok, 1 a point failed, a race was found, a run was interrupted or results could not be written,
2 wrong usage or files, 3 results differ from the baseline or a probe takes more than its limit, 4 a defect of this program.`,
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetVersionTemplate("kprobesim {{.Version}}\n")
	root.AddCommand(a.runCmd(), a.listCmd(), a.validateCmd(), a.traceCmd(), a.inspectCmd(), a.gdbCmd(), a.timelineCmd(), a.plotCmd(), a.historyCmd(),
		a.checkCmd(), a.diffCmd(), a.calibrateCmd(), a.sensitivityCmd(), a.racesCmd(), a.moduleCmd(), a.headersCmd(), a.bootCmd(), a.explainCmd(),
		a.planCmd(), a.mergeCmd(), a.submitCmd(), a.initCmd(), a.manCmd(root), a.tableCmd(), a.reportCmd(), a.paperCmd(), a.schemaCmd(),
		a.characterizeCmd(), a.judgeCmd(), a.measureCmd(), a.whatIfCmd(), a.nativeCmd())
	a.complete(root)
	hostCodeFlag(root)
	return root
}

// hostCodeFlag adds the option --no-host-code to all commands.
func hostCodeFlag(root *cobra.Command) {
	off := root.PersistentFlags().Bool("no-host-code", false, "execute no code that is generated for this host's processor: the same results, more slowly")
	root.PersistentPreRun = func(*cobra.Command, []string) {
		if *off {
			host.Code.Off = true
		}
	}
}

// setFlag adds the option --set to a command.
func setFlag(c *cobra.Command) *[]string {
	return c.Flags().StringArray("set", nil,
		"override a key of the experiment, or of its machine by machine.KEY (key=value; may be repeated)")
}

// replicateFlag adds the option --replicate to a command, and returns what gives the settings with it: it
// stands for a key of the experiment.
func replicateFlag(c *cobra.Command, sets *[]string) func() []string {
	n := c.Flags().Int64("replicate", 0, "measure replicate N alone, counted from 0, whatever the experiment has of them (as --set replicate=N)")
	return func() []string {
		if !c.Flags().Changed("replicate") {
			return *sets
		}
		return append(slices.Clone(*sets), fmt.Sprintf("replicate=%d", *n))
	}
}

// onPoint has a command run with one point of an experiment, which its options choose. The verb says what the command does
// with the point.
func (a *app) onPoint(c *cobra.Command, verb string, run func(pt *schema.Point) error) {
	c.Args = exactlyOne("experiment file")
	settings := replicateFlag(c, setFlag(c))
	limit := limitFlag(c, pointLimit)
	name := c.Flags().StringP("point", "p", "", "point to "+verb+", by its name in the table (required)")
	c.RunE = func(_ *cobra.Command, args []string) error {
		p, err := a.loader.Plan(args[0], settings())
		if err == nil {
			err = lacking(p)
		}
		if err != nil {
			return fail(exitUsage, err)
		}
		pt, err := p.Point(*name)
		if err != nil {
			return fail(exitUsage, err)
		}
		pt.Halt = a.halt(limit)
		return run(pt)
	}
}

// Options for host time: of a point, and of a boot.
const (
	pointLimit = "point-limit"
	hostLimit  = "host-limit"
)

// defaultLimit is more than any guest takes that does something on a slow host.
const defaultLimit = time.Hour

// limitFlag adds the option that bounds the host time of a guest.
func limitFlag(c *cobra.Command, name string) *running.Limit {
	l := &running.Limit{Option: "--" + name, Grace: grace}
	c.Flags().DurationVar(&l.Time, name, defaultLimit, "host time behind which a guest is ended, as it may loop for ever; the error says where it was (0: none)")
	return l
}

// halt starts the clock of the only guest of a command, and returns what its machine asks.
func (a *app) halt(l *running.Limit) func() error {
	halt, done := l.Begin()
	a.ended = append(a.ended, done)
	return halt
}

// workersFlag adds the option --workers to a command.
func workersFlag(c *cobra.Command) *int {
	n := c.Flags().IntP("workers", "j", 0, "points that run at the same time (0: one a core)")
	c.PreRunE = func(*cobra.Command, []string) error {
		if *n < 0 || *n > mostWorkers {
			return fmt.Errorf("--workers %d: want 1 to %d, or 0 for one a core", *n, mostWorkers)
		}
		return nil
	}
	return n
}

// hostWorkers is how many points run at a time.
func hostWorkers(n int) int {
	if n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// mostWorkers is far more than any host has cores for: each of them has a machine in memory.
const mostWorkers = 1024

// atLeastOne is cobra.MinimumNArgs(1) with a message that helps.
func atLeastOne(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s: name %s (see `kprobesim list`)", c.Name(), what)
		}
		return nil
	}
}

// exactlyOne is cobra.ExactArgs(1) with a message that helps.
func exactlyOne(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s: name exactly one %s, not %d", c.Name(), what, len(args))
		}
		return nil
	}
}

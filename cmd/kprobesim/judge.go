package main

import (
	"context"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"kprobesim/cpus"
	"kprobesim/internal/doc"
	"kprobesim/internal/native"
	"kprobesim/judging"
	"kprobesim/results/outdir"
)

// judgeOptions holds the options of `judge`.
type judgeOptions struct {
	blocks, worst      int
	seed               uint64
	measured, csv, mca string
	only               string // blocks or loops, or "" for both
	sets               *[]string
}

func (a *app) judgeCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "judge MACHINE [EXECUTABLE...]",
		Short: "Hold prices of blocks of real code against the times that this host takes",
		Long: `Price blocks of 3 to 20 instructions under a machine description, and print how far that is from the times that
they take on this host's processor. Describe that one first: the errors of another processor's description say little.

Blocks are cut at random from executables: those named, or this program, /bin/bash and the C library. They have integer
instructions, accesses to memory and the stack, and a jump at the end. No division, string, vector or locked
instruction is among them. Host and simulator execute the same loops, from the same registers and memory. A block whose
times do not agree is left out, and so is one that faults or touches too many pages: the table counts both.

--measured takes blocks with their times from a file, and runs nothing on the host. A line has the bytes in hexadecimal, a
comma and the cycles of 100 copies, as BHive has them.

Where llvm-mca is installed it prices the blocks, too (--mca CPU, or - for none).

Behind the blocks come loops that miss caches and TLBs and that are mispredicted. The description's sizes and --seed make
them. --only loops leaves the blocks out, and --only blocks the loops.

	kprobesim judge ./my.toml
	kprobesim judge ./my.toml --only loops
	kprobesim judge ./my.toml --measured blocks.csv --csv rows.csv`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("judge: name a machine, or the file of a description")
			}
			return nil
		},
	}
	var o judgeOptions
	f := c.Flags()
	f.IntVarP(&o.blocks, "blocks", "n", 500, "blocks that count at most; of --measured all that there are, if left out")
	f.Uint64Var(&o.seed, "seed", 1, "what the blocks and loops are drawn by")
	f.IntVar(&o.worst, "worst", 10, "blocks with the greatest errors that are printed")
	f.StringVar(&o.measured, "measured", "", "file of measured blocks, in place of this host")
	f.StringVar(&o.csv, "csv", "", "file for a row of each block and loop")
	f.StringVar(&o.only, "only", "", "blocks or loops (default: both; of --measured the blocks)")
	f.StringVar(&o.mca, "mca", "", "processor by llvm-mca's name (default: the host's), or - for none")
	o.sets = setFlag(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		if o.measured != "" && !f.Changed("blocks") {
			o.blocks = math.MaxInt
		}
		return a.judgeMachine(&o, args[0], args[1:])
	}
	return c
}

// nativeName is the hidden command by which this program times code in a process of its own.
const nativeName = "time-code"

// nativeCmd times code for another process of this program.
func (a *app) nativeCmd() *cobra.Command {
	return &cobra.Command{
		Use: nativeName, Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return native.Serve(os.Stdin, os.Stdout) },
	}
}

// judgeMachine judges a description and prints the verdict.
func (a *app) judgeMachine(o *judgeOptions, machine string, files []string) error {
	if o.blocks < 1 || o.worst < 0 {
		return fail(exitUsage, fmt.Errorf("judge: --blocks %d --worst %d: want at least 1 block, and no negative number", o.blocks, o.worst))
	}
	if o.only != "" && o.only != "blocks" && o.only != "loops" {
		return fail(exitUsage, fmt.Errorf("judge: --only %s: use blocks or loops", o.only))
	}
	settings, err := machineSettings(*o.sets)
	if err != nil {
		return fail(exitUsage, err)
	}
	m, err := a.loader.Machine(machine, ".", settings)
	if err != nil {
		return fail(exitUsage, err)
	}
	if m.ISA != "x86_64" {
		return fail(exitUsage, fmt.Errorf("judge: machine %s is of %s: blocks of x86_64 are judged", machine, m.ISA))
	}
	j := &judging.Judging{Pricer: judging.NewPricer(&m.CPU), Progress: a.judged(o)}
	next, err := a.blocks(o, j, files)
	if err != nil {
		return fail(exitUsage, fmt.Errorf("judge: %w", err))
	}
	if j.Host != nil {
		defer j.Host.Close()
	}
	if o.mca != "-" {
		if j.MCA, err = judging.FindMCA(slices.DeleteFunc([]string{o.mca, "native"}, func(s string) bool { return s == "" })...); err != nil {
			fmt.Fprintf(a.err, "kprobesim: %v: its column is left out\n", err)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	v, title := &judging.Verdict{}, m.Title
	if o.only != "loops" {
		v, err = j.Run(ctx, o.blocks, next)
	}
	if err == nil && o.only != "blocks" && j.Host != nil {
		title += a.atHost(j, &m.CPU)
		v.Cases, err = j.RunCases(ctx, judging.Cases(&m.CPU, o.seed))
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return fail(exitFailed, fmt.Errorf("judge: %w", err))
	}
	if o.only != "loops" {
		a.printVerdict(o, j.Pricer, v, m.Title)
	}
	if o.only == "" && len(v.Cases) > 0 {
		fmt.Fprintln(a.out)
	}
	a.printCases(v.Cases, title)
	if o.csv != "" {
		err = errors.Join(err, outdir.WriteFile(o.csv, rowsOf(v)))
	}
	if err == nil && len(v.Blocks)+len(v.Cases) == 0 {
		err = errors.New("no block counts")
	}
	return fail(exitFailed, err)
}

// atHost has loops priced at the host's frequency, and says so.
func (a *app) atHost(j *judging.Judging, c *cpus.Config) string {
	_, hz, _, err := judging.Clock(j.Host)
	if err != nil {
		fmt.Fprintf(a.err, "kprobesim: the frequency of this host: %v: memory is priced at the description's\n", err)
		return ""
	}
	hz = math.Round(hz/1e7) * 1e7
	j.Pricer = j.Pricer.At(hz)
	return fmt.Sprintf(" at this host's %.2f GHz (%.2f in the description; memory takes %.0f cycles)", hz/1e9, float64(c.Hz)/1e9, j.Pricer.Memory())
}

// machineSettings reads the arguments of --set of a command that has a machine and no experiment.
func machineSettings(args []string) ([]doc.Setting, error) {
	var all []doc.Setting
	for _, arg := range args {
		s, err := doc.ParseSetting(arg)
		if err == nil && (s.Path[0] != "machine" || len(s.Path) < 2) {
			err = fmt.Errorf("--set %s: keys of the machine alone, such as machine.core.width=4", arg)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// judged returns what tells how far a judgement is.
func (a *app) judged(o *judgeOptions) func(int) {
	return func(done int) {
		if done%100 == 0 && o.measured == "" {
			fmt.Fprintf(a.err, "%d of %d blocks\n", done, o.blocks)
		}
	}
}

// blocks opens where the blocks come from, and the host that times them.
func (a *app) blocks(o *judgeOptions, j *judging.Judging, files []string) (next func() *judging.Block, err error) {
	if o.only == "loops" && (o.measured != "" || len(files) > 0) {
		return nil, errors.New("--only loops: they are timed on this host and cut from nothing: leave --measured and executables out")
	}
	if o.measured != "" {
		if len(files) > 0 {
			return nil, fmt.Errorf("--measured %s has the blocks: leave %s out", o.measured, files[0])
		}
		f, err := os.Open(o.measured)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		all, err := judging.ReadMeasured(f, o.measured)
		return func() (b *judging.Block) {
			if len(all) > 0 {
				b, all = all[0], all[1:]
			}
			return b
		}, err
	}
	if j.Host, err = judging.NewHost(nativeName); err != nil {
		return nil, err
	}
	if _, _, _, err := judging.Clock(j.Host); err != nil && !errors.Is(err, judging.ErrBusy) { // it learns what a quiet core does
		return nil, err
	}
	if len(files) == 0 {
		files = hostFiles()
	}
	c, err := judging.NewCutter(files, o.seed)
	if err != nil {
		return nil, err
	}
	return c.Next, nil
}

// hostFiles are the executables that blocks are cut from when none is named.
func hostFiles() []string {
	files := []string{"/proc/self/exe"}
	for _, p := range []string{"/bin/bash", "/lib/*/libc.so.6", "/lib64/libc.so.6"} {
		found, _ := filepath.Glob(p) // the patterns are sound
		files = append(files, found[:min(1, len(found))]...)
	}
	return files
}

// printVerdict prints the tables of a verdict.
func (a *app) printVerdict(o *judgeOptions, p *judging.Pricer, v *judging.Verdict, title string) {
	fmt.Fprintf(a.out, "%s, %d blocks\n\n%-30s %6s %8s %8s %6s\n", title, len(v.Blocks), "", "blocks", "mean", "median", "tau")
	row := func(name string, s judging.Summary) {
		if s.Blocks > 0 {
			fmt.Fprintf(a.out, "%-30s %6d %6.1f %% %6.1f %% %6.2f\n", name, s.Blocks, 100*s.Mean, 100*s.Median, s.Tau)
		}
	}
	row("all", v.Summary(""))
	for _, c := range judging.Classes {
		row("  "+c, v.Summary(c))
	}
	if v.MCAName != "" {
		theirs, ours := v.Beside()
		row(v.MCAName, theirs)
		row("  this description there", ours)
	}
	for _, why := range slices.Sorted(maps.Keys(v.Left)) {
		fmt.Fprintf(a.out, "left out: %d, %s\n", v.Left[why], why)
	}
	for _, b := range v.Worst(o.worst) {
		fmt.Fprintf(a.out, "\n%.2f cycles, priced %.2f (%+.0f %%), bound by %s, %s\n  %s\n", b.Native, b.Priced, 100*(b.Priced-b.Native)/b.Native,
			p.Bound(b), b.Class, hex.EncodeToString(b.Code))
		fmt.Fprintf(a.out, "    %s\n", strings.Join(b.Text(), "\n    "))
	}
}

// printCases prints the tables of loops.
func (a *app) printCases(cases []*judging.Case, title string) {
	if len(cases) == 0 {
		return
	}
	fmt.Fprintf(a.out, "%s, %d loops\n\n%-70s %9s %9s %8s\n", title, len(cases), "cycles of a round", "host", "priced", "error")
	kind := ""
	for _, c := range cases {
		if c.Kind != kind {
			kind = c.Kind
			fmt.Fprintln(a.out, kind)
		}
		if c.Left != nil {
			fmt.Fprintf(a.out, "  %-68s %9s %9.2f  left out: %v\n", c.Text, "-", c.Priced, c.Left)
			continue
		}
		fmt.Fprintf(a.out, "  %-68s %9.2f %9.2f %+6.1f %%\n", c.Text, c.Native, c.Priced, 100*c.Off())
	}
	fmt.Fprintf(a.out, "\n%-30s %6s %8s %14s\n", "", "loops", "mean", fmt.Sprintf("within %.0f %%", 100*judging.Goal))
	for _, k := range judging.KindsOf(cases) {
		fmt.Fprintf(a.out, "%-30s %6d %6.1f %% %14d\n", k.Name, k.Cases, 100*k.Mean, k.Near)
	}
}

// rowsOf writes a row for each block and loop.
func rowsOf(v *judging.Verdict) []byte {
	var b strings.Builder
	w := csv.NewWriter(&b)
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
	rows := [][]string{{"block", "native_cycles", "priced_cycles", "llvm_mca_cycles", "class", "instructions", "source"}}
	for _, x := range v.Blocks {
		rows = append(rows, []string{
			hex.EncodeToString(x.Code), number(x.Native), number(x.Priced), number(x.MCA), x.Class, strconv.Itoa(x.Length), x.Source,
		})
	}
	for _, x := range v.Cases {
		native := ""
		if x.Left == nil {
			native = number(x.Native)
		}
		rows = append(rows, []string{x.Text, native, number(x.Priced), "", x.Kind, "", "loop"})
	}
	_ = w.WriteAll(rows) // a builder takes it
	return []byte(b.String())
}

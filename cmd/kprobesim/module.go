package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/results"
)

func (a *app) moduleCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "module",
		Short: "Try a kernel module that uses probes",
	}
	c.AddCommand(a.moduleRunCmd())
	return c
}

// moduleOptions holds the options of `module run`.
type moduleOptions struct {
	image, machine, headers string
	console                 string
	params, calls           []string
	flags                   []string // further ones of the compiler
	args                    []int64
	hits                    int64
	limit                   *running.Limit
}

func (a *app) moduleRunCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "run FILE",
		Short: "Compile, load and unload a module, and print what a hit of its probes costs",
		Long: `Load a module (FILE.o, or FILE.c where a compiler is installed) into a kernel as insmod does, call each
function that it probes, and unload it as rmmod does. The command prints what the kernel printed, and the
cost of a hit of the probes at each function: the time of warm calls beyond that of calls without the module,
divided by the hits. Hits that were missed are counted apart.`,
		Args: exactlyOne("module"),
	}
	var o moduleOptions
	o.limit = limitFlag(c, pointLimit)
	f := c.Flags()
	f.StringVar(&o.image, "image", defaultImage, "kernel to load it into (see `kprobesim list`)")
	f.StringVar(&o.machine, "machine", "", "machine to run on (default: that of the kernel's instruction set in overhead-isas)")
	f.StringVar(&o.headers, "headers", "", "directory of headers for FILE.c (default: those of the kernel, in a temporary one)")
	f.StringArrayVar(&o.params, "param", nil, "parameter of the module, as name=value (may be repeated)")
	f.StringArrayVar(&o.calls, "call", nil, "further function to call, such as one that the module probes and no loop calls (may be repeated)")
	f.StringArrayVar(&o.flags, "cflag", nil, "further argument of the compiler for FILE.c, such as -DDEBUG (may be repeated)")
	f.Int64SliceVar(&o.args, "args", nil, "arguments of the functions that are called, such as 12,1 (default: those of overhead-isas)")
	f.StringVar(&o.console, "console", "", "file for all that the kernel printed (the command shows the first and the last lines)")
	f.Int64Var(&o.hits, "hits", 1000, "calls of each function that are measured")
	c.RunE = func(_ *cobra.Command, args []string) error {
		if o.hits < 2 || o.hits > 1_000_000 {
			return fail(exitUsage, fmt.Errorf("--hits %d: want 2 to 1000000", o.hits))
		}
		if len(o.args) > schema.MaxArgs {
			return fail(exitUsage, fmt.Errorf("--args: %d arguments, and a call takes at most %d", len(o.args), schema.MaxArgs))
		}
		return a.tryModule(args[0], &o)
	}
	return c
}

// defaultImage is the kernel of the newest documents that a module is tried in.
const defaultImage = "x86_64-2010"

// defaultBase is the experiment that a new file builds on.
const defaultBase = "overhead-xeon-e5410-x86_64"

// tryModule does all of `module run`.
func (a *app) tryModule(file string, o *moduleOptions) error {
	p, err := a.loader.Trial(o.image, o.machine)
	if err != nil {
		return fail(exitUsage, err)
	}
	object := file
	if strings.HasSuffix(file, ".c") {
		dir, err := os.MkdirTemp("", "kprobesim-module")
		if err != nil {
			return fail(exitFailed, err)
		}
		defer os.RemoveAll(dir) // what stays behind is the system's to clean
		object = filepath.Join(dir, strings.TrimSuffix(filepath.Base(file), ".c")+".o")
		if err := a.compileModule(file, object, dir, o); err != nil {
			return fail(exitUsage, err)
		}
	}
	m, err := a.loader.Module(object, "")
	if err != nil {
		return fail(exitUsage, err)
	}
	interrupted, done := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(interrupted, done) // a second one ends the program at once
	o.limit.Stop, o.limit.Grace = interrupted.Done(), 0
	a.ended = append(a.ended, done)
	p.Halt = a.halt(o.limit)
	if len(o.args) > 0 {
		p.Workload.Args = [schema.MaxArgs]uint64{}
		for i, n := range o.args {
			p.Workload.Args[i] = uint64(n)
		}
	}
	tried, err := kinds.Try(p, kinds.Trial{File: m, Parameters: quoteParams(o.params), Calls: o.calls, Hits: o.hits})
	fmt.Fprintf(a.out, "module %s, kernel %s, machine %s\n", m.Name, o.image, p.Machine.Name)
	a.printConsole(tried.Console)
	if o.console != "" {
		err = errors.Join(err, os.WriteFile(o.console, []byte(tried.Console), 0o644))
	}
	if err != nil {
		return fail(exitFailed, err)
	}
	return fail(exitFailed, a.printRows(p, tried.Rows))
}

// quoteParams joins parameters to the text that a kernel takes. A value with spaces needs quotes.
func quoteParams(params []string) string {
	quoted := make([]string, len(params))
	for i, p := range params {
		if quoted[i] = p; strings.ContainsAny(p, " \t") && !strings.Contains(p, `"`) {
			name, value, _ := strings.Cut(p, "=")
			quoted[i] = name + `="` + value + `"`
		}
	}
	return strings.Join(quoted, " ")
}

// shownLines is how many lines are shown of each end of what the guest printed.
const shownLines = 8

// printConsole prints the ends of what the guest printed, indented.
func (a *app) printConsole(text string) {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		fmt.Fprintln(a.out, "\nthe kernel printed nothing")
		return
	}
	lines := strings.Split(text, "\n")
	if n := len(lines) - 2*shownLines; n > 1 {
		rest := fmt.Sprintf("... %d more lines (--console FILE writes all)", n)
		lines = slices.Concat(lines[:shownLines], []string{rest}, lines[len(lines)-shownLines:])
	}
	fmt.Fprintf(a.out, "\nthe kernel printed:\n  %s\n", strings.Join(lines, "\n  "))
}

// printRows prints the cost of a hit at each function.
func (a *app) printRows(p *schema.Point, rows []kinds.TriedRow) error {
	if len(rows) == 0 {
		fmt.Fprintln(a.out, "\nit has registered no probe: nothing was called (--call FUNCTION calls one)")
		return nil
	}
	fmt.Fprintln(a.out)
	counted := slices.ContainsFunc(rows, func(r kinds.TriedRow) bool { return r.Calls > 1 && !r.Counts.Plain() })
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, rowHead(counted))
	for _, r := range rows {
		fmt.Fprintln(w, rowText(p, &r, counted))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	a.printMissed(rows)
	return nil
}

// rowHead names the columns, of which some are there only if hits are not calls.
func rowHead(counted bool) string {
	if !counted {
		return "function\tprobes\tcalls\tcycles a hit\tns a hit\tfirst call, cycles\t"
	}
	return "function\tprobes\tcalls\thits\tmissed hits\tmissed returns\tcycles a hit\tns a hit\tfirst call, cycles\t"
}

// rowText is the line of a function.
func rowText(p *schema.Point, r *kinds.TriedRow, counted bool) string {
	cells := []string{r.Function, cmp.Or(r.Modes(), "none"), "0"}
	hits, figures, note := []string{"-", "-", "-"}, []string{"-", "-", "-"}, r.Why
	if r.Why == "" {
		cells[2], figures[2] = fmt.Sprint(r.Calls), fmt.Sprint(r.First.Cycles())
		note = fmt.Sprintf("returned %#x", r.Result)
	}
	if r.Why == "" && r.Calls > 1 {
		c := r.Counts
		hits = []string{fmt.Sprint(c.Hits), fmt.Sprint(c.Missed), fmt.Sprint(c.Returns)}
		n := c.Hits
		if note = "beyond a call without the module"; r.Whole {
			n, note = c.Calls, "whole calls: the function is the module's"
		}
		copy(figures, figuresOfRow(p, r.Over, n, c))
	}
	if counted {
		cells = append(cells, hits...)
	}
	return strings.Join(append(append(cells, figures...), note), "\t")
}

// figuresOfRow are the cycles and nanoseconds of one of n hits or calls. They are marked where something was missed.
func figuresOfRow(p *schema.Point, over clock.Ticks, n int64, c kinds.Counts) []string {
	if n == 0 {
		return nil
	}
	mark := ""
	if c.Missed+c.Returns > 0 {
		mark = results.MissedMark
	}
	cycles := big.NewRat(int64(over), n*int64(clock.PerCycle))
	ns := new(big.Rat).Mul(cycles, big.NewRat(1_000_000_000, p.Machine.CPU.Hz))
	return []string{cycles.FloatString(1) + mark, ns.FloatString(1) + mark}
}

// printMissed says what was missed, if anything was.
func (a *app) printMissed(rows []kinds.TriedRow) {
	for _, r := range rows {
		if c := r.Counts; c.Missed+c.Returns > 0 {
			fmt.Fprintf(a.out, "\n%s %s: %s\n", results.MissedMark, r.Function, results.MissedText(fmt.Sprint(c.Hits), fmt.Sprint(c.Missed), fmt.Sprint(c.Returns)))
		}
	}
}

// compileModule compiles a module against the headers of a kernel, which it writes into dir when there are none.
func (a *app) compileModule(file, object, dir string, o *moduleOptions) error {
	headers := o.headers
	if headers == "" {
		headers = filepath.Join(dir, "headers")
		if err := a.writeHeaders(headers, o.image); err != nil {
			return err
		}
	}
	cc, err := compilerOf(headers)
	if err != nil {
		return err
	}
	path, err := exec.LookPath(cc)
	if err != nil {
		return fmt.Errorf("%s is not installed: install it (Debian: %s), or compile %s elsewhere and name the object file", cc, debianPackage(cc), file)
	}
	cmd := exec.Command(path, slices.Concat([]string{"@" + filepath.Join(headers, "flags")}, o.flags, []string{"-c", file, "-o", object})...)
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, text)
	}
	_, err = a.err.Write(harmless(text)) // warnings
	return err
}

// writeHeaders runs the command that writes the headers of a kernel.
func (a *app) writeHeaders(dir, image string) error {
	root := a.root()
	args := []string{"headers", dir, "--image", image}
	if c, _, err := root.Find(args); err != nil || c == root {
		return errors.New("this program writes no headers: name a directory with headers (--headers), or an object file")
	}
	root.SetArgs(args)
	return root.Execute()
}

// compilerOf returns the compiler that the headers in a directory are for. The file for make there names it, in the rule
// that makes object files; without that file it is gcc.
func compilerOf(headers string) (string, error) {
	b, err := os.ReadFile(filepath.Join(headers, "module.mk"))
	if errors.Is(err, fs.ErrNotExist) {
		return "gcc", nil
	}
	for line := range strings.Lines(string(b)) {
		if words := strings.Fields(line); len(words) > 1 && strings.HasSuffix(words[0], "gcc") && strings.HasPrefix(words[1], "@") {
			return words[0], nil
		}
	}
	return "", errors.Join(fmt.Errorf("%s names no compiler: write the headers again", filepath.Join(headers, "module.mk")), err)
}

// debianPackage is the package that has a compiler.
func debianPackage(cc string) string {
	cross, ok := strings.CutSuffix(cc, "-gcc")
	if !ok {
		return "gcc"
	}
	return "gcc-" + cross
}

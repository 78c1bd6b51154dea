// Command mutation makes mistakes in the code on purpose, one at a time, and asks whether a test fails. It prints each verdict
// at once, and a score for each package at the end or when it is interrupted. `make mutants` runs it.
//
// A mistake is a condition that is negated, an operator or a number that is another, a statement or a result that is left
// out. They are drawn from all packages by a seed. It leaves out mistakes of two places at once, declarations, and values beside an error.
// All drawn mutants of a package are compiled into one binary of tests (package mutants), so nothing of the tree is touched. Tests that
// never come to the changed function are not asked.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

// options holds the options of the command line.
type options struct {
	packages string
	n        int
	seed     uint64
	short    bool
	long     bool
	alone    bool
	list     string
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("mutation", flag.ContinueOnError)
	flags.StringVar(&o.packages, "packages", "", "folders to draw from, with commas between them, each with those below it (default: all)")
	flags.IntVar(&o.n, "n", 40, "number of mutants")
	flags.Uint64Var(&o.seed, "seed", 1, "which mutants are drawn")
	flags.BoolVar(&o.short, "short", false, "ask the short tests of the package, and of importers in the same house, alone")
	flags.BoolVar(&o.long, "long", false, "ask also the tests of the package that the gate alone runs, and the baselines")
	flags.BoolVar(&o.alone, "own", false, "ask the tests of the package, and not those of its importers")
	flags.StringVar(&o.list, "equivalent", "internal/mutation/equivalent.mutants", "list of mutants that no test can notice")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	for _, f := range strings.Split(o.packages, ",") { // loading takes long
		if s, err := os.Stat(filepath.Join(root, f)); err != nil || !s.IsDir() {
			return fmt.Errorf("-packages has %q, which is no folder of %s", f, root)
		}
	}
	known, err := readEquivalents(o.list)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	t, err := load(root)
	if err != nil {
		return err
	}
	all, err := t.candidates(o.packages)
	if err != nil {
		return err
	}
	drawn := t.sample(all, o.n, o.seed)
	fmt.Fprintf(out, "%d mutants of %d places, seed %d\n", len(drawn), len(all), o.seed)
	return t.try(ctx, drawn, known, o, folder, out)
}

// candidates returns the mutants of the packages in or below folders, of all packages where there are none.
func (t *tree) candidates(folders string) (all []*mutant, err error) {
	for _, p := range t.own() {
		if !below(t.folder(p), folders) {
			continue
		}
		if err := t.parse(p); err != nil {
			return nil, err
		}
		all = append(all, t.mutantsOf(p)...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no package of the module is in or below %q", folders)
	}
	return all, nil
}

// below tells whether a folder is one of a list, or below one.
func below(folder, list string) bool {
	if list == "" {
		return true
	}
	for _, f := range strings.Split(list, ",") {
		f = strings.Trim(strings.TrimPrefix(f, "./"), "/")
		if folder == f || strings.HasPrefix(folder, f+"/") {
			return true
		}
	}
	return false
}

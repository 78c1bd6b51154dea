package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kprobesim/experiments"
	"kprobesim/internal/doc"
	"kprobesim/results/outdir"
)

func (a *app) initCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "init FILE",
		Short: "Write a commented experiment file to begin with",
		Long: `Write a commented experiment file that runs as it is, or with --machine a machine description that changes a
few numbers of another one. A file that is there already is left alone.

	kprobesim init my.toml && kprobesim run my.toml
	kprobesim init my-machine.toml --machine xeon-e5410`,
	}
	base := c.Flags().String("base", defaultBase, "experiment of this program that it builds on")
	machine := c.Flags().String("machine", "", "write a description that builds on this machine, or on the one of a file, instead")
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 && *machine != "" {
			return fmt.Errorf("init: --machine names the machine to build on; name the file to write, too, such as "+
				"init my-machine.toml --machine %s", experiments.Machines()[0])
		}
		return exactlyOne("file to write")(c, args)
	}
	c.RunE = func(_ *cobra.Command, args []string) error {
		text, err := a.begun(args[0], *base, *machine)
		if err == nil && exists(args[0]) {
			err = fmt.Errorf("%s is there already: choose another name", args[0])
		}
		if err == nil {
			err = outdir.WriteFile(args[0], []byte(text))
		}
		if err != nil {
			return fail(exitUsage, fmt.Errorf("init: %w", err))
		}
		next := "kprobesim run"
		if *machine != "" {
			next = "kprobesim validate"
		}
		fmt.Fprintf(a.out, "%s is written: change it, then %s %s\n", args[0], next, args[0])
		return nil
	}
	c.MarkFlagsMutuallyExclusive("base", "machine")
	for flag, names := range map[string]func() []string{"base": experiments.Names, "machine": experiments.Machines} {
		if err := c.RegisterFlagCompletionFunc(flag, named(names)); err != nil {
			panic(err) // the flag is above
		}
	}
	return c
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

// begun is the text of a new file.
func (a *app) begun(file, base, machine string) (string, error) {
	name, err := nameOf(file)
	if err != nil {
		return "", err
	}
	if machine != "" {
		return a.begunMachine(file, name, machine)
	}
	p, err := a.loader.Plan(base, nil)
	if err != nil {
		return "", err
	}
	if len(p.Collected) > 0 || p.Kind != "overhead" {
		return "", fmt.Errorf("%s is no experiment that measures the overhead of a hit: build on another one by hand (base = %q)", base, base)
	}
	pt := &p.Points[0]
	below, err := baseOf(file, base)
	return fmt.Sprintf(begunExperiment, pt.Machine.Title, below, name, pt.Machine.Name, pt.Kernel.Image, pt.Workload.Loop, pt.Workload.Target,
		pt.Workload.Hits), err
}

// nameOf is the name of the description in a new file.
func nameOf(file string) (string, error) {
	name, ok := strings.CutSuffix(filepath.Base(file), ".toml")
	if !ok {
		return "", fmt.Errorf("%s: give it a name that ends in .toml", file)
	}
	if _, err := doc.Name(&doc.Node{Kind: doc.String, Text: name}); err != nil {
		return "", fmt.Errorf("%s: the name of the file is that of what is in it: %w", file, err)
	}
	return name, nil
}

// begunMachine is the text of a new description that builds on a machine of this program, or on a file. What a file is based
// on is looked for beside it.
func (a *app) begunMachine(file, name, machine string) (string, error) {
	if !doc.IsPath(machine) && !slices.Contains(experiments.Machines(), machine) {
		return "", fmt.Errorf("no machine %q: known are %s, or name a file (./%[1]s.toml)%s", machine, strings.Join(experiments.Machines(), ", "),
			doc.Suggest(machine, experiments.Machines()))
	}
	m, err := a.loader.Machine(machine, "", nil)
	if err != nil {
		return "", err
	}
	below, err := baseOf(file, machine)
	return fmt.Sprintf(begunMachine, m.Title, below, name, m.CPU.Hz, m.TimerHz), err
}

// baseOf is how a file names one that it builds on: names of this program as they are, other files from its own folder.
func baseOf(file, base string) (string, error) {
	if !doc.IsPath(base) || filepath.IsAbs(base) {
		return base, nil
	}
	rel, err := filepath.Rel(filepath.Dir(file), base)
	return "./" + filepath.ToSlash(rel), err
}

// begunExperiment has the keys that are changed first; all of them are in docs/keys.md.
//
//go:embed begun/experiment.toml.in
var begunExperiment string

// begunMachine changes the clock. The rest is an example, as instruction sets have other tables.
//
//go:embed begun/machine.toml.in
var begunMachine string

package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"kprobesim/experiments"
	"kprobesim/internal/doc"
	"kprobesim/judging"
	"kprobesim/judging/describing"
	"kprobesim/results/outdir"
)

func (a *app) characterizeCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "characterize -o FILE",
		Short: "Measure this host's processor and write a machine description of it",
		Long: `Measure this host's processor in user mode, and write a machine description of it. It takes two to three minutes and needs no
rights. Every measured number says so in its source. The others are those of a shipped description of the same
family (--base), and are named priors.

A busy host is no obstacle, but its times must agree: what does not settle stays a prior and is listed, and so is a loop
that no number of the model explains. Run it again when the host is quiet.

	kprobesim characterize -o my.toml && kprobesim judge ./my.toml
	kprobesim characterize --compare epyc-9654`,
		Args: cobra.NoArgs,
	}
	f := c.Flags()
	out := f.StringP("out", "o", "", "file for the description, whose name ends in .toml")
	base := f.String("base", "", "description whose numbers stand in for what is not measured (default: one of the same family)")
	compare := f.String("compare", "", "print another description's numbers beside the host's")
	c.RunE = func(*cobra.Command, []string) error {
		if *out == "" && *compare == "" {
			return fail(exitUsage, errors.New("characterize: name the file to write by -o, or a machine by --compare"))
		}
		return a.characterize(*out, *base, *compare)
	}
	if err := c.RegisterFlagCompletionFunc("compare", named(experiments.Machines)); err != nil {
		panic(err) // the flag is above
	}
	return c
}

// characterize measures the host, writes its description and prints what is open.
func (a *app) characterize(out, base, compare string) error {
	name := "host"
	if out != "" {
		var err error
		if name, err = nameOf(out); err != nil {
			return fail(exitUsage, fmt.Errorf("characterize: %w", err))
		}
	}
	h, err := judging.NewHost(nativeName)
	if err != nil {
		return fail(exitFailed, fmt.Errorf("characterize: %w", err))
	}
	defer h.Close()
	root, err := a.family(h, base, compare)
	if err != nil {
		return fail(exitUsage, fmt.Errorf("characterize: %w", err))
	}
	begun := a.now()
	d := &describing.Describer{Host: h, Root: root, Read: a.loader.ReadMachine, Say: func(format string, args ...any) {
		fmt.Fprintf(a.err, "%4.0f s  %s\n", a.now().Sub(begun).Seconds(), fmt.Sprintf(format, args...))
	}}
	if err := d.Describe(name, time.Now()); err != nil {
		return fail(exitFailed, fmt.Errorf("characterize: %w", err))
	}
	a.printHost(d, compare)
	if out == "" {
		return nil
	}
	if err := outdir.WriteFile(out, doc.Write(d.Root)); err != nil {
		return fail(exitFailed, err)
	}
	fmt.Fprintf(a.out, "%s is written: kprobesim judge ./%[1]s says how well it prices this host\n", filepath.Base(out))
	return nil
}

// family reads the description that stands in for what is not measured.
func (a *app) family(h describing.Host, base, compare string) (*doc.Node, error) {
	if base = cmp.Or(base, compare); base == "" {
		var err error
		if base, err = describing.Family(h); err != nil {
			return nil, err
		}
		if base == "" {
			return nil, errors.New("there is no description of this processor's family: name one whose numbers stand in for what is not measured (--base xeon-e5410)")
		}
	}
	root, err := a.loader.MachineDocument(base)
	if err == nil {
		err = describing.Suits(root)
	}
	return root, err
}

// printHost prints the numbers that differ, and what is open.
func (a *app) printHost(d *describing.Describer, compare string) {
	before := "the family's"
	if compare != "" {
		before = compare
	}
	width := max(12, len(before)) // of a number, or of a list
	for _, r := range d.Rows {
		if r.Now != r.Before {
			width = max(width, len(r.Before), len(r.Now))
		}
	}
	fmt.Fprintf(a.out, "%-34s %*s %*s  %s\n", "", width, before, width, "this host", "")
	same := 0
	for _, r := range d.Rows {
		if r.Now == r.Before {
			same++
			continue
		}
		fmt.Fprintf(a.out, "%-34s %*s %*s  %s\n", r.Key, width, r.Before, width, r.Now, r.How())
	}
	fmt.Fprintf(a.out, "%d numbers differ, %d loops agree\n", len(d.Rows)-same, same)
	for _, o := range d.Open {
		fmt.Fprintf(a.out, "open: %s\n", o)
	}
}

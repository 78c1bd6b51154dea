package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"kprobesim/experiments/reports"
	"kprobesim/results/tables"
)

func (a *app) tableCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "table FILE...|DIR...",
		Short: "Print tables of experiments or results directories as text, LaTeX, Markdown or CSV",
		Long: `Run the experiments of the given files (or names, see list) and print their tables in the form of
--format; nothing is written. latex is a tabular of the package booktabs, with title and notes.
The form text is that of run.

Of results directories (out/NAME) nothing is run. Several that have points of the same names are put side by side, such as a
measurement and a simulation.`,
		Args: atLeastOne("an experiment file"),
	}
	sets, workers, limit := setFlag(c), workersFlag(c), limitFlag(c, pointLimit)
	format := c.Flags().String("format", "text", "form of the tables: "+strings.Join(tables.TableFormats(), ", "))
	c.RunE = func(_ *cobra.Command, args []string) error {
		if _, err := (&tables.Table{}).Format(*format); err != nil {
			return fail(exitUsage, err)
		}
		if dirs := directories(args); len(dirs) > 0 {
			return a.tableKept(args, dirs, *sets, *format)
		}
		plans, err := a.plans(args, *sets)
		if err != nil {
			return err
		}
		for _, p := range plans {
			r := a.measureAll(p, *workers, limit)
			if err := r.Err(); err != nil {
				return fail(exitFailed, err)
			}
			for _, t := range r.Tables() {
				if err := a.format(t, *format); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return c
}

// format prints a table in a form.
func (a *app) format(t *tables.Table, form string) error {
	text, err := t.Format(form)
	if err != nil {
		return fail(exitFailed, fmt.Errorf("table of %s: %w", t.Title, err))
	}
	fmt.Fprintln(a.out, text)
	return nil
}

// directories returns the arguments that are directories.
func directories(args []string) (dirs []string) {
	for _, arg := range args {
		if info, err := os.Stat(arg); err == nil && info.IsDir() {
			dirs = append(dirs, arg)
		}
	}
	return dirs
}

// tableKept prints the tables of results directories, side by side where they have points in common.
func (a *app) tableKept(args, dirs, sets []string, form string) error {
	if len(dirs) < len(args) || len(sets) > 0 {
		return fail(exitUsage, errors.New("table: name experiments or results directories, not both, and directories without --set"))
	}
	var all []*reports.Kept
	for _, dir := range dirs {
		k, err := reports.Load(dir)
		if err != nil {
			return fail(exitUsage, err)
		}
		all = append(all, k)
	}
	if len(all) > 1 {
		if t := reports.Beside(all); t != nil {
			return a.format(t, form)
		}
	}
	for _, k := range all {
		if err := a.format(k.Table(), form); err != nil {
			return err
		}
	}
	return nil
}

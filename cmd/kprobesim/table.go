package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kprobesim/results/tables"
)

func (a *app) tableCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "table FILE...",
		Short: "Run experiments and print their tables as text, LaTeX, Markdown or CSV",
		Long: `Run the experiments of the given files (or names, see list) and print their tables in the form of
--format; nothing is written. latex is a tabular of the package booktabs, with title and notes.
The form text is that of run.`,
		Args: atLeastOne("an experiment file"),
	}
	sets, workers, limit := setFlag(c), workersFlag(c), limitFlag(c, pointLimit)
	format := c.Flags().String("format", "text", "form of the tables: "+strings.Join(tables.TableFormats(), ", "))
	c.RunE = func(_ *cobra.Command, args []string) error {
		if _, err := (&tables.Table{}).Format(*format); err != nil {
			return fail(exitUsage, err)
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
				text, err := t.Format(*format)
				if err != nil {
					return fail(exitFailed, fmt.Errorf("table of %s: %w", p.Name, err))
				}
				fmt.Fprintln(a.out, text)
			}
		}
		return nil
	}
	return c
}

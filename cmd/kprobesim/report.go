package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"kprobesim/experiments/webpage"
	"kprobesim/results/outdir"
)

func (a *app) reportCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "report DIR...",
		Short: "Write results directories as one HTML page",
		Long: `Write results directories as one HTML page that needs no network and no other file: tables that sort,
figures, where each number comes from, the inputs, and what differs between directories of one experiment. Each
is compared with the first one of its experiment.

A directory whose tables, texts or SVGs are not as its run wrote them is refused.`,
		Args: atLeastOne("a results directory, such as out/NAME"),
	}
	output := c.Flags().StringP("output", "o", "report.html", "file to write")
	c.RunE = func(_ *cobra.Command, args []string) error {
		b, err := webpage.Write(args)
		if err != nil {
			return fail(exitUsage, err)
		}
		if err := outdir.WriteFile(*output, b); err != nil {
			return fail(exitFailed, err)
		}
		fmt.Fprintf(a.out, "the report is in %s\n", *output)
		return nil
	}
	return c
}

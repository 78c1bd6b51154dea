package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/reports"
)

func (a *app) plotCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "plot DIR...",
		Short: "Draw the figures of results directories again",
		Args:  atLeastOne("a results directory, such as out/NAME"),
	}
	figures := c.Flags().StringSlice("figures", nil,
		"figures to draw (default: those the directory has): "+strings.Join(kinds.FigureNames(), ", "))
	c.RunE = func(_ *cobra.Command, args []string) error {
		var errs []error
		for _, dir := range args {
			err := reports.Redraw(dir, *figures)
			if err == nil {
				fmt.Fprintf(a.out, "figures are in %s\n", dir)
			}
			errs = append(errs, err)
		}
		return fail(exitUsage, errors.Join(errs...))
	}
	return c
}

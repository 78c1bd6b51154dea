package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"kprobesim/experiments"
)

func (a *app) calibrateCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "calibrate MACHINE",
		Short: "Fit the parameters of a machine that are marked fitted, and print a proposal",
		Long: `Fit the parameters that a machine description marks as fitted on the published figures it names, by
running the experiment that it names. The proposal is printed; no file is changed.`,
		Args: exactlyOne("machine"),
	}
	workers := workersFlag(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		cal, err := experiments.NewCalibration(a.loader, args[0])
		if err != nil {
			return fail(exitUsage, err)
		}
		runner := &experiments.Runner{Measure: a.measure, Workers: *workers}
		cal.Log = func(line string) { fmt.Fprintln(a.err, line) }
		fit, err := cal.Fit(runner)
		if err != nil {
			return fail(exitFailed, err)
		}
		fmt.Fprint(a.out, fit.Proposal())
		return nil
	}
	return c
}

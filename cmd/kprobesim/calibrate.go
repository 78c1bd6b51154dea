package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"kprobesim/experiments/calibration"
	"kprobesim/experiments/running"
)

func (a *app) calibrateCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "calibrate MACHINE",
		Short: "Fit the parameters of a machine that are marked fitted, and print a proposal",
		Long: `Fit the parameters that a machine description marks as fitted on the published figures it names, by
running the experiment that it names. The proposal is printed; no file is changed. When a number would
have to leave its range to meet the figures, the proposal says so and the exit code is 1.`,
		Args: exactlyOne("machine"),
	}
	sets, workers := setFlag(c), workersFlag(c)
	limit := limitFlag(c, pointLimit)
	loop := c.Flags().Float64("benchmark", 0, "hypothesis: cycles of each published figure that its loop spent itself, as call, clock and loop; taken off before the fit")
	c.RunE = func(_ *cobra.Command, args []string) error {
		cal, err := calibration.New(a.loader, args[0], *sets...)
		if err != nil {
			return fail(exitUsage, err)
		}
		if *loop < 0 || math.IsNaN(*loop) || math.IsInf(*loop, 0) {
			return fail(exitUsage, fmt.Errorf("--benchmark %v: want cycles of a hit, 0 or more", *loop))
		}
		cal.Without(*loop)
		runner := &running.Runner{Measure: limit.Measure(a.measure), Workers: *workers}
		cal.Log = func(line string) { fmt.Fprintln(a.err, line) }
		fit, err := cal.Fit(runner)
		if err != nil {
			return fail(exitFailed, err)
		}
		fmt.Fprint(a.out, fit.Proposal())
		var errs []error
		for _, s := range fit.Stopped {
			errs = append(errs, fmt.Errorf("machine %s: %s", fit.Machine.Name, s))
		}
		return fail(exitFailed, errors.Join(errs...))
	}
	return c
}

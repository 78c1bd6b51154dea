package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"kprobesim/experiments/calibration"
	"kprobesim/experiments/running"
	"kprobesim/machines"
	"kprobesim/results"
	"kprobesim/results/measured"
)

func (a *app) calibrateCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "calibrate MACHINE",
		Short: "Fit the parameters of a machine that are marked fitted, and print a proposal",
		Long: `Fit the parameters that a machine description marks as fitted on the published figures it names, by
running the experiment that it names. The proposal is printed; no file is changed. When a number would
have to leave its range to meet the figures, the proposal says so and the exit code is 1.

A description may name measured figures in their place, the folder that ` + "`kprobesim measure --read`" + ` has made. --kernel FILE is then
the kernel that has measured them. It times its probes in the simulator, again and again.`,
		Args: exactlyOne("machine"),
	}
	sets, workers := setFlag(c), workersFlag(c)
	limit := limitFlag(c, pointLimit)
	var o measureOptions
	c.Flags().StringVar(&o.kernel, "kernel", "", "packaged kernel that has measured the figures, for a machine that is fitted on these")
	c.Flags().StringVar(&o.module, "module", "", "the module, built for the kernel (default: built with its headers, if they are found)")
	c.Flags().StringVar(&o.params, "params", "", "parameters of the module (default: "+simulatedParams+")")
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
		if err := a.onKernel(cal, &o, limit); err != nil {
			return fail(exitUsage, fmt.Errorf("calibrate: %w", err))
		}
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

// onKernel prepares a fit on measured figures: the kernel that has measured them times its probes on each machine.
func (a *app) onKernel(cal *calibration.Calibration, o *measureOptions, limit *running.Limit) error {
	switch {
	case cal.Kernel() == "" && o.kernel+o.module+o.params != "":
		return errors.New("the machine is fitted on published figures: leave --kernel, --module and --params out")
	case cal.Kernel() == "":
		return nil
	case o.kernel == "":
		return fmt.Errorf("the machine is fitted on what Linux %s has measured: name that kernel by --kernel FILE", cal.Kernel())
	}
	i, err := o.insertion(simulatedParams)
	if err != nil {
		return err
	}
	if has := i.kernel.Version(); has != cal.Kernel() {
		return fmt.Errorf("%s is Linux %s, and Linux %s has measured the figures: name that kernel", o.kernel, has, cal.Kernel())
	}
	cal.Simulate = func(m *machines.Machine) (*results.Set, error) {
		if err := suits(m, i.kernel); err != nil {
			return nil, err
		}
		console, err := a.simulate(i, m, limit)
		if err != nil {
			return nil, err
		}
		t, err := measured.Read(console)
		if err != nil {
			return nil, err
		}
		return t.Set(m.Name, results.Simulated)
	}
	return nil
}

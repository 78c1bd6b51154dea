package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kprobesim/experiments"
)

func (a *app) listCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the experiments, machines and guest images of this program",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			a.list("experiments", experiments.Experiments())
			a.list("machines", experiments.Machines())
			var images []string
			for _, im := range a.loader.Images {
				images = append(images, fmt.Sprintf("%s (isa %s, era %s)", im.Name, im.ISA, im.Era))
			}
			a.list("images", images)
			return nil
		},
	}
}

func (a *app) list(what string, names []string) {
	fmt.Fprintf(a.out, "%s:\n", what)
	for _, n := range names {
		fmt.Fprintf(a.out, "  %s\n", n)
	}
}

func (a *app) validateCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check experiment files, and what they name, without running them",
		Args:  atLeastOne("an experiment file"),
	}
	sets := setFlag(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		var errs []error
		for _, name := range args {
			p, err := a.loader.Plan(name, *sets)
			errs = append(errs, err)
			if err == nil {
				fmt.Fprintf(a.out, "%s: ok, %d points: %s\n", name, len(p.Points), pointNames(p))
			}
		}
		return fail(exitUsage, errors.Join(errs...))
	}
	return c
}

// pointNames lists the points of a plan, shortened when there are many.
func pointNames(p *experiments.Plan) string {
	var names []string
	for i, pt := range p.Points {
		if i == 12 {
			names = append(names, "...")
			break
		}
		names = append(names, pt.Name)
	}
	return strings.Join(names, ", ")
}

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kprobesim/experiments"
	"kprobesim/experiments/schema"
	"kprobesim/races"
)

func (a *app) listCmd() *cobra.Command {
	architectures := false
	c := &cobra.Command{
		Use:   "list",
		Short: "List the experiments, machines, scenarios and guest images of this program",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if architectures {
				a.listArchitectures()
				return nil
			}
			errs := []error{
				a.listTitled("experiments", experiments.Names(), a.loader.ExperimentTitle),
				a.listTitled("machines", experiments.Machines(), a.loader.MachineTitle),
			}
			errs = append(errs, a.listTitled("scenarios", races.Names(), func(name string) (string, error) {
				s, err := races.Load(name)
				if err != nil {
					return "", err
				}
				return s.Title, nil
			}))
			var images [][2]string
			for _, t := range a.loader.Targets {
				for _, im := range t.Images {
					images = append(images, [2]string{im.Name, fmt.Sprintf("isa %s, era %s", t.Name, im.Era)})
				}
			}
			a.list("images", images)
			return fail(exitInternal, errors.Join(errs...))
		},
	}
	c.Flags().BoolVar(&architectures, "architectures", false, "list the architectures for which the documents of Kprobes promise probes")
	return c
}

// listArchitectures says which architectures of the documents are simulated, and what the documents say of them.
func (a *app) listArchitectures() {
	var rows [][2]string
	for _, arch := range a.loader.Architectures() {
		text := "not simulated"
		if arch.Simulated() {
			text = "simulated"
		}
		if arch.Rule != "" {
			text += "; " + arch.Rule
		}
		rows = append(rows, [2]string{arch.Name, text})
	}
	a.list("architectures", rows)
}

// listTitled lists names with their titles.
func (a *app) listTitled(what string, names []string, title func(string) (string, error)) error {
	var rows [][2]string
	var errs []error
	for _, n := range names {
		t, err := title(n)
		errs = append(errs, err)
		rows = append(rows, [2]string{n, t})
	}
	a.list(what, rows)
	return errors.Join(errs...)
}

// list prints names and what they are, in two columns.
func (a *app) list(what string, rows [][2]string) {
	width := 0
	for _, r := range rows {
		width = max(width, len(r[0]))
	}
	fmt.Fprintf(a.out, "%s:\n", what)
	for _, r := range rows {
		fmt.Fprintf(a.out, "  %-*s  %s\n", width, r[0], r[1])
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
func pointNames(p *schema.Plan) string {
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

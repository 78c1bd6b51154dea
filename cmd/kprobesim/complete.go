package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kprobesim/experiments"
	"kprobesim/experiments/schema"
	"kprobesim/races"
)

// completion returns what a shell offers for an argument.
type completion = func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective)

// complete adds what shells complete to every command: names of experiments, machines, scenarios, points and keys.
func (a *app) complete(root *cobra.Command) {
	first := map[string]completion{
		"trace": a.experiments, "inspect": a.experiments, "timeline": a.experiments, "sensitivity": a.experiments,
		"calibrate": named(experiments.Machines), "judge": named(experiments.Machines),
	}
	every := map[string]completion{
		"run": a.experiments, "check": a.experiments, "races": named(races.Names), "validate": named(validNames), "list": named(listNames),
	}
	for _, c := range root.Commands() {
		if f := every[c.Name()]; f != nil {
			c.ValidArgsFunction = f
		} else if f := first[c.Name()]; f != nil {
			c.ValidArgsFunction = once(f)
		}
		for flag, f := range map[string]completion{"point": a.points, "set": a.settings, "mutant": named(races.Mutants)} {
			if c.Flags().Lookup(flag) != nil {
				if err := c.RegisterFlagCompletionFunc(flag, f); err != nil {
					panic(err) // a flag has two
				}
			}
		}
	}
}

// named offers names beside those that are there already, and files.
func named(names func() []string) completion {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return slices.DeleteFunc(names(), func(n string) bool { return slices.Contains(args, n) }), cobra.ShellCompDirectiveDefault
	}
}

// once offers nothing for a second argument.
func once(f completion) completion {
	return func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f(c, args, begun)
	}
}

// experiments offers experiments with their titles.
func (a *app) experiments(_ *cobra.Command, args []string, _ string) (out []cobra.Completion, d cobra.ShellCompDirective) {
	for _, n := range experiments.Names() {
		title, err := a.loader.ExperimentTitle(n)
		if err == nil && !slices.Contains(args, n) {
			out = append(out, cobra.CompletionWithDesc(n, title))
		}
	}
	return out, cobra.ShellCompDirectiveDefault
}

// planned reads the experiment that the command line names so far.
func (a *app) planned(c *cobra.Command, args []string, settings bool) *schema.Plan {
	if len(args) == 0 {
		return nil
	}
	var sets []string
	if settings {
		sets, _ = c.Flags().GetStringArray("set") // a command without it has no settings
	}
	p, err := a.loader.Plan(args[0], sets)
	if err != nil {
		return nil // there is nothing to offer
	}
	return p
}

// points offers the points of the experiment.
func (a *app) points(c *cobra.Command, args []string, _ string) (out []cobra.Completion, d cobra.ShellCompDirective) {
	if p := a.planned(c, args, true); p != nil {
		for i := range p.Points {
			out = append(out, cobra.CompletionWithDesc(p.Points[i].Name, p.Points[i].Probe.Title))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// settings offers the keys of the experiment and of its machine, with their values.
func (a *app) settings(c *cobra.Command, args []string, _ string) (out []cobra.Completion, d cobra.ShellCompDirective) {
	d = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	p := a.planned(c, args, false)
	if p == nil {
		return nil, d
	}
	seen := map[string]bool{}
	for key, value := range p.Keys {
		what, rest, _ := strings.Cut(key, " ")
		_, path, _ := strings.Cut(rest, " ")
		if path == "" || what != "experiment" && what != "machine" {
			continue
		}
		path = strings.NewReplacer("[", ".", "]", "").Replace(path)
		if what == "machine" {
			path = "machine." + path
		}
		if !seen[path] && !strings.HasPrefix(path, "sweep.") {
			seen[path] = true
			out = append(out, cobra.CompletionWithDesc(path+"=", "now "+value))
		}
	}
	slices.Sort(out)
	return out, d
}

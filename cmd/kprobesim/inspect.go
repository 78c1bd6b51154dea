package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kprobesim/experiments"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/doc"
	"kprobesim/machines"
	"kprobesim/races"
	"kprobesim/workloads"
)

// listNames names the lists, beginning with a plain one.
func listNames() []string {
	return []string{"experiments", "machines", "scenarios", "images", "architectures", "targets", "handlers", "symbols"}
}

// listPlain is how many of listNames a plain list has.
const listPlain = 4

func (a *app) listCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "list [WHAT...]",
		Short: "List the experiments, machines, scenarios and guest images of this program, or functions of an image",
		Long: `List what experiments can name: experiments, machines, scenarios and images if nothing else is asked for;
targets (functions of an image that are made to be probed), handlers, symbols (all functions of an
image), and the architectures of the documents.

--long adds to each machine how many numbers it has, and what share of them is sourced (its source names a work that was
read), measured (on a host), prior (its source says so, or quotes a work from memory) and fitted. A table of numbers has
one source, and all of it is prior when a part is.`,
	}
	image := c.Flags().String("image", defaultImage, "guest kernel whose targets or symbols are listed")
	c.Flags().BoolVar(&a.long, "long", false, "with machines, the origin of their numbers")
	c.RunE = func(_ *cobra.Command, what []string) error {
		if len(what) == 0 {
			what = listNames()[:listPlain]
		}
		var errs []error
		for _, w := range what {
			errs = append(errs, a.listOne(w, *image))
		}
		return errors.Join(errs...)
	}
	return c
}

// listOne prints one list.
func (a *app) listOne(what, image string) error {
	switch what {
	case "experiments":
		return fail(exitInternal, a.listTitled(what, experiments.Names(), a.loader.ExperimentTitle))
	case "machines":
		return fail(exitInternal, a.listTitled(what, experiments.Machines(), a.machineTitle))
	case "scenarios":
		return fail(exitInternal, a.listTitled(what, races.Names(), scenarioTitle))
	case "images":
		a.listImages()
	case "architectures":
		a.listArchitectures()
	case "targets":
		return fail(exitUsage, a.listTargets(image))
	case "handlers":
		a.listHandlers()
	case "symbols":
		return fail(exitUsage, a.listSymbols(image))
	default:
		return fail(exitUsage, fmt.Errorf("list: no list of %q: known are %s%s", what, strings.Join(listNames(), ", "), doc.Suggest(what, listNames())))
	}
	return nil
}

// machineTitle returns the title of a machine, with --long the origins of its numbers as well.
func (a *app) machineTitle(name string) (string, error) {
	title, err := a.loader.MachineTitle(name)
	if err != nil || !a.long {
		return title, err
	}
	m, err := a.loader.Machine(name, "", nil)
	if err != nil {
		return title, err
	}
	title = fmt.Sprintf("%s: %d numbers", title, len(m.Params))
	for o, n := range m.Origins() {
		title += fmt.Sprintf(", %d %% %v", (100*n+len(m.Params)/2)/len(m.Params), machines.Origin(o))
	}
	return title, nil
}

func scenarioTitle(name string) (string, error) {
	s, err := races.Load(name)
	if err != nil {
		return "", err
	}
	return s.Title, nil
}

func (a *app) listImages() {
	var rows [][2]string
	for _, t := range a.loader.Targets {
		for _, im := range t.Images {
			rows = append(rows, [2]string{im.Name, fmt.Sprintf("isa %s, era %s", t.Name, im.Era)})
		}
	}
	a.list("images", rows)
}

func (a *app) listTargets(image string) error {
	all, err := a.loader.Worthwhile(image)
	var rows [][2]string
	for _, f := range all {
		rows = append(rows, [2]string{f.Name, f.Text})
	}
	if err == nil {
		a.list("targets of "+image, rows)
	}
	return err
}

// listHandlers prints the words that experiments have for handlers, with the key and the kind of probe that they are for.
func (a *app) listHandlers() {
	var rows [][2]string
	for _, h := range workloads.Handlers() {
		rows = append(rows, [2]string{h.Short, fmt.Sprintf("%s of a %s: %s (%s)", h.Key, h.Kind, h.Text, h.Name)})
	}
	a.list("handlers", rows)
}

func (a *app) listSymbols(image string) error {
	all, err := a.loader.Functions(image)
	var rows [][2]string
	for _, f := range all {
		rows = append(rows, [2]string{f.Name, fmt.Sprintf("%d bytes in %s", f.Size, f.Section)})
	}
	if err == nil {
		a.list("functions of "+image, rows)
	}
	return err
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
		Short: "Check experiments, machine descriptions and scenarios, and what they name, without running them",
		Long: `Check files, and what they name, without running them: experiments, machine descriptions and scenarios of the
search for races. A file is told by its keys, a name by the list that has it.`,
		Args: atLeastOne("a file"),
	}
	sets := setFlag(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		var errs []error
		for _, name := range args {
			said, err := a.validate(name, *sets)
			errs = append(errs, err)
			if err == nil {
				fmt.Fprintf(a.out, "%s: ok, %s\n", name, said)
			}
		}
		return fail(exitUsage, errors.Join(errs...))
	}
	return c
}

// validNames are the names that validate knows.
func validNames() []string {
	return slices.Concat(experiments.Names(), experiments.Machines(), races.Names())
}

// sortOf says what a name or a file stands for.
func sortOf(name string) planning.Sort {
	switch {
	case doc.IsPath(name):
		b, err := experiments.ReadLimited(name)
		if err != nil {
			return planning.SortExperiment // which says why it cannot be read
		}
		return planning.SortOf(name, b)
	case slices.Contains(experiments.Names(), name):
		return planning.SortExperiment
	case slices.Contains(experiments.Machines(), name):
		return planning.SortMachine
	case slices.Contains(races.Names(), name):
		return planning.SortScenario
	}
	return planning.SortExperiment
}

// validate checks one file and says what is in it.
func (a *app) validate(name string, sets []string) (said string, err error) {
	sort := sortOf(name)
	if sort != planning.SortExperiment && len(sets) > 0 {
		return "", fmt.Errorf("%s is a %s: --set is for experiments", name, sort)
	}
	switch sort {
	case planning.SortMachine:
		m, err := a.loader.Machine(name, ".", nil)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("machine %s of instruction set %s, %d numbers", m.Name, m.ISA, len(m.Params)), nil
	case planning.SortScenario:
		s, err := races.Load(name)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("scenario %s, %s", s.Name, counted(len(s.Variants), "variant")), nil
	}
	p, err := a.loader.Plan(name, sets)
	if err == nil {
		err = lacking(p)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s", counted(len(p.Points), "point"), pointNames(p)), nil
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

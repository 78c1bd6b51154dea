package races

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"kprobesim/internal/doc"
)

// own holds the scenarios of this program, so that they are found by name wherever it runs.
//
//go:embed scenarios/*.toml
var own embed.FS

// Names returns the names of the scenarios of this program, sorted.
func Names() []string {
	entries, err := fs.ReadDir(own, "scenarios")
	if err != nil {
		return nil // the folder is part of the program; without it there is nothing to name
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	return names
}

// Load reads a scenario by name, or by the path of a file: names have no slash and no ".toml".
// Given is set beside an error too, where a scenario could be read.
func Load(name string) (*Scenario, error) {
	s, err := load(name)
	if s != nil {
		s.Given = name
	}
	return s, err
}

func load(name string) (*Scenario, error) {
	if strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".toml") {
		return loadFile(name)
	}
	file := path.Join("scenarios", name+".toml")
	b, err := own.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("unknown scenario %q: known are %s, or give the path of a file (./%s.toml)%s",
			name, strings.Join(Names(), ", "), name, doc.Suggest(name, Names()))
	}
	return Parse(path.Join("races", file), b)
}

// loadFile looks before it reads: a pipe would wait for ever and a device never end.
func loadFile(name string) (*Scenario, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("scenario: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("scenario %s is no regular file: name a file of a scenario", name)
	case info.Size() > doc.MaxSize:
		return nil, fmt.Errorf("scenario %s has %d bytes, more than %d", name, info.Size(), doc.MaxSize)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return Parse(name, b)
}

// Variant returns the variant of a name.
func (s *Scenario) Variant(name string) (*Variant, error) {
	var known []string
	for i := range s.Variants {
		if s.Variants[i].Name == name {
			return &s.Variants[i], nil
		}
		known = append(known, s.Variants[i].Name)
	}
	return nil, fmt.Errorf("%s has no variant %q: known are %s%s", s.File, name, strings.Join(known, ", "),
		doc.Suggest(name, known))
}

// Default returns the options of a search: random, 1000 schedules.
// Depth 3 finds errors that need up to three orderings, and an exhaustive search affords two preemptions.
func Default() Options {
	return Options{Schedules: 1000, Seed: 1, Policy: Random, Depth: 3, Preemptions: 2}
}

// Check reports what is wrong with options.
// It names all mistakes at once, as they come from one command line.
func (o *Options) Check() error {
	var errs []error
	policies := []string{Random, PCT, Exhaustive}
	if !slices.Contains(policies, o.Policy) {
		errs = append(errs, fmt.Errorf("policy %q is unknown: known are %s%s", o.Policy,
			strings.Join(policies, ", "), doc.Suggest(o.Policy, policies)))
	}
	if o.Mutant != "" && !slices.Contains(Mutants(), o.Mutant) {
		errs = append(errs, fmt.Errorf("mutant %q is unknown: known are %s%s", o.Mutant,
			strings.Join(Mutants(), ", "), doc.Suggest(o.Mutant, Mutants())))
	}
	if o.Schedules < 1 || o.Schedules > 1e12 {
		errs = append(errs, fmt.Errorf("%d schedules: run 1 to 1e12", o.Schedules))
	}
	if o.Depth < 1 || o.Depth > 100 {
		errs = append(errs, fmt.Errorf("depth %d of pct: use 1 to 100", o.Depth))
	}
	if o.Preemptions < 0 || o.Preemptions > 2 {
		errs = append(errs, fmt.Errorf("%d preemptions of exhaustive: use 0 to 2, as no scenario is small enough for more", o.Preemptions))
	}
	if o.Workers < 0 || o.Enough < 0 {
		errs = append(errs, errors.New("workers and violations cannot be negative"))
	}
	return errors.Join(errs...)
}

// Search runs schedules of one variant until there were enough of them, or of violations.
// An error is a failure of the search itself. What schedules do wrong is in the Tally.
func Search(s *Scenario, v *Variant, opt Options) (Tally, error) {
	if err := opt.Check(); err != nil {
		return Tally{}, err
	}
	l, err := newLab(s, v, opt.Mutant)
	if err != nil {
		return Tally{}, err
	}
	opt = opt.of(s, v)
	l.opt = opt
	return search(&opt, l.run)
}

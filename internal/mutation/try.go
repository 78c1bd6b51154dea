package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"kprobesim/internal/mutants"
)

// everyTest is the name of all tests of a package, examples and seeds of fuzz targets among them.
const everyTest = `.(Test|Fuzz|Example)\w*`

// A trial asks tests of mutants.
type trial struct {
	bench *mutants.Bench
	takes map[string]time.Duration // what the tests of a package take where nothing is wrong; 0 where they fail
}

// patience is how long the tests of a package may take where nothing is wrong.
const patience = 20 * time.Minute

// result is what became of the mutants of a package.
type result struct{ noticed, survived, equivalent int }

// try asks the tests of each mutant, and prints what survives and a score for each package.
func (t *tree) try(drawn []*mutant, known []equivalent, few bool, folder string, out io.Writer) error {
	var list []mutants.Mutant
	var which []*mutant
	scores := map[string]*result{}
	for _, m := range drawn {
		name := t.folder(m.pkg)
		if scores[name] == nil {
			scores[name] = &result{}
		}
		if slices.ContainsFunc(known, func(e equivalent) bool { return e.of(t, m) }) {
			scores[name].equivalent++
			continue
		}
		if w, ok := m.woven(t); ok {
			list, which = append(list, w), append(which, m)
		}
	}
	bench, err := mutants.NewBench(t.root, folder, list)
	if err != nil {
		return err
	}
	tr := &trial{bench, map[string]time.Duration{}}
	for i, m := range which {
		by, err := tr.noticed(i, t.testers(m.pkg, few))
		if err != nil {
			return fmt.Errorf("%s: %w", m.place(t), err)
		}
		if by != "" {
			scores[t.folder(m.pkg)].noticed++
			continue
		}
		scores[t.folder(m.pkg)].survived++
		fmt.Fprintf(out, "%s: %s survives\n\t- %s\n\t+ %s\n", m.place(t), m.function, m.before, m.after)
	}
	printScores(scores, out)
	return nil
}

// noticed returns the package whose tests fail with a mutant, the first one's before all others and then those that
// take least.
func (tr *trial) noticed(i int, testers []string) (by string, err error) {
	for n := range testers {
		if n == 1 {
			for _, p := range testers[1:] {
				if err := tr.measure(p); err != nil {
					return "", err
				}
			}
			slices.SortStableFunc(testers[1:], func(a, b string) int { return cmp.Compare(tr.takes[a], tr.takes[b]) })
		}
		p := testers[n]
		if err := tr.measure(p); err != nil {
			return "", err
		}
		if tr.takes[p] == 0 {
			continue // tests that fail anyway notice nothing
		}
		by, err := tr.bench.Caught(i, []string{p + everyTest}, 20*time.Second+3*tr.takes[p])
		if by != "" || err != nil {
			return p, err
		}
	}
	return "", nil
}

// measure runs the tests of a package with nothing wrong, once.
func (tr *trial) measure(p string) error {
	if _, known := tr.takes[p]; known {
		return nil
	}
	passed, took, err := tr.bench.Sound(p+everyTest, patience)
	if tr.takes[p] = took; !passed {
		tr.takes[p] = 0
	}
	return err
}

// printScores prints what share of its mutants each package's tests notice, and of all.
func printScores(scores map[string]*result, out io.Writer) {
	var all result
	for _, name := range slices.Sorted(maps.Keys(scores)) {
		r := scores[name]
		fmt.Fprintf(out, "%-28s %s\n", name, r)
		all.noticed, all.survived, all.equivalent = all.noticed+r.noticed, all.survived+r.survived, all.equivalent+r.equivalent
	}
	fmt.Fprintf(out, "%-28s %s\n", "all", &all)
}

// String says how many mutants were noticed of those that can be.
func (r *result) String() string {
	of := r.noticed + r.survived
	text := fmt.Sprintf("%d of %d noticed", r.noticed, of)
	if of > 0 {
		text += fmt.Sprintf(" (%d %%)", 100*r.noticed/of)
	}
	if r.equivalent > 0 {
		text += fmt.Sprintf(", %d equivalent", r.equivalent)
	}
	return text
}

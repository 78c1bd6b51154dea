package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"kprobesim/internal/mutants"
)

// everyTest is the name of all tests of a package, examples and seeds of fuzz targets among them.
const everyTest = `.(Test|Fuzz|Example)\w*`

// firstTests hold the outcomes of a package by sums and golden files. They take seconds and notice most, so they are asked first.
const firstTests = `.(TestEffects|TestEverySetting|TestEveryMove|TestPages|TestTables|TestDamaged\w*|TestPaperTables|TestRegistrations?)`

// A trial asks tests of mutants.
type trial struct {
	bench *mutants.Bench
	takes map[string]time.Duration // what the tests of a package take where nothing is wrong; 0 where they fail
	out   io.Writer
}

// patience is how long the tests of a package may take where nothing is wrong.
const patience = 20 * time.Minute

// result counts how the mutants of a package ended.
type result struct{ noticed, survived, equivalent int }

// try asks the tests of each mutant and prints its verdict at once, and at the end a score for each package. Where ctx ends,
// the scores are of the mutants before.
func (t *tree) try(ctx context.Context, drawn []*mutant, known []equivalent, o options, folder string, out io.Writer) error {
	scores := map[string]*result{}
	list, which := t.tried(drawn, known, scores, out)
	bench, err := mutants.NewBench(t.root, folder, list)
	if err != nil {
		return err
	}
	bench.Short, bench.Long = o.short, o.long
	defer printScores(scores, out)
	tr := &trial{bench, map[string]time.Duration{}, out}
	for i, m := range which {
		begin := time.Now()
		testers := t.testers(m.pkg, o.short)
		if o.alone {
			testers = testers[:min(1, len(testers))]
		}
		by, err := tr.noticed(ctx, i, testers)
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("interrupted, with %d mutants left", len(which)-i)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.place(t), err)
		}
		score := scores[t.folder(m.pkg)]
		if by != "" {
			score.noticed++
			fmt.Fprintf(out, "%s: %s is noticed by %s, %s\n", m.place(t), m.function, by, time.Since(begin).Round(time.Second))
			continue
		}
		score.survived++
		fmt.Fprintf(out, "%s: %s survives, %s\n\t- %s\n\t+ %s\n", m.place(t), m.function, time.Since(begin).Round(time.Second), m.before, m.after)
	}
	return nil
}

// tried returns the mutants of a sample that tests are asked about, as what is compiled and as what people read. The others
// are equivalent.
func (t *tree) tried(drawn []*mutant, known []equivalent, scores map[string]*result, out io.Writer) (list []mutants.Mutant, which []*mutant) {
	for _, m := range drawn {
		name := t.folder(m.pkg)
		if scores[name] == nil {
			scores[name] = &result{}
		}
		if slices.ContainsFunc(known, func(e equivalent) bool { return e.of(t, m) }) {
			scores[name].equivalent++
			fmt.Fprintf(out, "%s: %s is equivalent\n", m.place(t), m.function)
			continue
		}
		if w, ok := m.woven(t); ok {
			list, which = append(list, w), append(which, m)
		}
	}
	return list, which
}

// noticed returns the package whose tests fail with a mutant: tests that are asked first, then all of the mutant's own package,
// then all of other packages, by what they take.
func (tr *trial) noticed(ctx context.Context, i int, testers []string) (by string, err error) {
	for _, p := range testers {
		if by, err := tr.bench.Caught(ctx, i, []string{p + firstTests}, patience); by != "" || err != nil {
			return p, err
		}
	}
	for n := range testers {
		if n == 1 {
			for _, p := range testers[1:] {
				if err := tr.measure(ctx, p); err != nil {
					return "", err
				}
			}
			slices.SortStableFunc(testers[1:], func(a, b string) int { return cmp.Compare(tr.takes[a], tr.takes[b]) })
		}
		p := testers[n]
		if err := tr.measure(ctx, p); err != nil {
			return "", err
		}
		if tr.takes[p] == 0 || !tr.bench.Enters(p+everyTest, i) {
			continue // tests that fail anyway notice nothing, nor do those that never come to the mutant
		}
		by, err := tr.bench.Caught(ctx, i, []string{p + everyTest}, 20*time.Second+3*tr.takes[p])
		if by != "" || err != nil {
			return p, err
		}
	}
	return "", nil
}

// measure runs the tests of a package with nothing wrong, once.
func (tr *trial) measure(ctx context.Context, p string) error {
	if _, known := tr.takes[p]; known {
		return nil
	}
	passed, took, err := tr.bench.Sound(ctx, p+everyTest, patience)
	if tr.takes[p] = took; !passed && err == nil {
		tr.takes[p] = 0
		fmt.Fprintf(tr.out, "%s: its tests fail without a mutant, too, and notice nothing\n", p)
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

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"kprobesim/internal/mutants"
)

// everyTest is the name of all tests of a package, examples and seeds of fuzz targets among them.
const everyTest = `.(Test|Fuzz|Example)\w*`

// firstTests hold the outcomes of a package by sums and golden files. They take seconds and notice most, so they are asked first.
const firstTests = `.(TestEffects|TestEverySetting|TestEveryMove|TestPages|TestFigures|TestTables|TestDamaged\w*|TestPaperTables|TestRegistrations?)`

// withFirst returns the packages that have some of firstTests.
func (t *tree) withFirst() map[string]bool {
	named, with := regexp.MustCompile(`(?m)^func (`+strings.Trim(firstTests, ".()")+`)\(t `), map[string]bool{}
	for _, p := range t.own() {
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			b, err := os.ReadFile(filepath.Join(p.Dir, name))
			with[t.folder(p)] = with[t.folder(p)] || err == nil && named.Match(b)
		}
	}
	return with
}

// A trial asks tests of mutants.
type trial struct {
	bench *mutants.Bench
	takes map[string]time.Duration // what tests take where nothing is wrong; 0 where they fail
	first map[string]bool          // packages that have some of firstTests
	out   io.Writer
}

// patience is how long the tests of a package may take where nothing is wrong.
const patience = 20 * time.Minute

// result counts how the mutants of a package ended.
type result struct{ noticed, survived, equivalent int }

// stage is some of the tests that are asked about mutants.
type stage struct {
	name  string
	whose testers
	long  bool // with tests that the gate alone runs
}

// testers says whose tests a stage asks.
type testers uint8

const (
	own       testers = iota // the mutant's package
	baselines                // the committed results
	importers
)

// baselinesTest is a test that all committed results are as they were, where the variable asks for it.
const (
	baselinesTest        = "cmd/kprobesim.TestBaselines"
	baselinesEnvironment = "KPROBESIM_BASELINES"
)

// stages lists whose tests are asked, one behind the other: each about the mutants that nobody before has noticed.
func (o *options) stages() []stage {
	all := []stage{{name: "its package"}}
	if o.long {
		all = append(all, stage{name: "the gate's tests of its package", long: true}, stage{name: "the gate's baselines", whose: baselines})
	}
	if !o.alone {
		all = append(all, stage{name: "importers", whose: importers})
	}
	return all
}

// try asks the tests of each mutant and prints its verdict at once, and at the end a score for each package. All mutants are asked of their
// own packages before the few that are left are asked of importers. Where ctx ends, the scores are of the mutants before.
func (t *tree) try(ctx context.Context, drawn []*mutant, known []equivalent, o options, folder string, out io.Writer) error {
	scores := map[string]*result{}
	list, which := t.tried(drawn, known, scores, out)
	bench, err := mutants.NewBench(t.root, folder, list)
	if err != nil {
		return err
	}
	bench.Short = o.short
	defer printScores(scores, out)
	tr := &trial{bench, map[string]time.Duration{}, t.withFirst(), out}
	took, judged := make([]time.Duration, len(which)), make([]bool, len(which))
	stages := o.stages()
	for n, s := range stages {
		bench.Long = s.long
		clear(tr.takes)
		for i, m := range which {
			if judged[i] {
				continue
			}
			begin := time.Now()
			by, err := tr.stage(ctx, i, s, t.testers(m.pkg, o.short))
			if errors.Is(err, context.Canceled) {
				return errors.New("interrupted, with mutants left whose importers were not asked")
			}
			if err != nil {
				return fmt.Errorf("%s: %w", m.place(t), err)
			}
			took[i] += time.Since(begin)
			if judged[i] = by != "" || n == len(stages)-1; judged[i] {
				scores[t.folder(m.pkg)].count(out, t, m, by, took[i].Round(time.Second))
			} else {
				fmt.Fprintf(out, "%s: %s is left to %s\n\t- %s\n\t+ %s\n", m.place(t), m.function, stages[n+1].name, m.before, m.after)
			}
		}
	}
	return nil
}

// stage asks the testers of a mutant that a stage is about. The first of them is the mutant's own package.
func (tr *trial) stage(ctx context.Context, i int, s stage, testers []string) (by string, err error) {
	first := min(1, len(testers))
	switch s.whose {
	case baselines:
		if err := os.Setenv(baselinesEnvironment, "1"); err != nil {
			return "", err
		}
		defer os.Unsetenv(baselinesEnvironment)
		return tr.ask(ctx, i, baselinesTest)
	case importers:
		return tr.noticed(ctx, i, testers[first:])
	}
	return tr.noticed(ctx, i, testers[:first])
}

// count prints and counts a verdict.
func (r *result) count(out io.Writer, t *tree, m *mutant, by string, took time.Duration) {
	if by != "" {
		r.noticed++
		fmt.Fprintf(out, "%s: %s is noticed by %s, %s\n", m.place(t), m.function, by, took)
		return
	}
	r.survived++
	fmt.Fprintf(out, "%s: %s survives, %s\n\t- %s\n\t+ %s\n", m.place(t), m.function, took, m.before, m.after)
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

// longest are the packages whose tests take longest. They are asked last.
var longest = []string{"kprobes", "races", "cmd/kprobesim"}

// noticed returns the test of packages that fails with a mutant. Tests that are asked first come before all others.
func (tr *trial) noticed(ctx context.Context, i int, testers []string) (by string, err error) {
	slices.SortStableFunc(testers, func(a, b string) int { return cmp.Compare(slices.Index(longest, a), slices.Index(longest, b)) })
	for _, tests := range []string{firstTests, everyTest} {
		for _, p := range testers {
			if tests == firstTests && !tr.first[p] {
				continue
			}
			if by, err := tr.ask(ctx, i, p+tests); by != "" || err != nil {
				return by, err
			}
		}
	}
	return "", nil
}

// ask runs the tests of a package that come to a mutant. Tests that fail anyway notice nothing.
func (tr *trial) ask(ctx context.Context, i int, tests string) (by string, err error) {
	if err := tr.measure(ctx, tests); err != nil {
		return "", err
	}
	some, take := tr.bench.Entering(tests, i)
	if tr.takes[tests] == 0 || some == "" {
		return "", nil
	}
	return tr.bench.Caught(ctx, i, []string{some}, 20*time.Second+3*take)
}

// measure runs tests of a package with nothing wrong, once.
func (tr *trial) measure(ctx context.Context, tests string) error {
	if _, known := tr.takes[tests]; known {
		return nil
	}
	passed, took, err := tr.bench.Sound(ctx, tests, patience)
	if tr.takes[tests] = took; !passed && err == nil {
		tr.takes[tests] = 0
		fmt.Fprintf(tr.out, "%s: these tests fail without a mutant, too, and notice nothing\n", tests)
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

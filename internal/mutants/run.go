package mutants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"kprobesim/internal/hosttools"
)

// Bench runs tests with mutants.
type Bench struct {
	root, folder, overlay string
	list                  []Mutant
	built                 map[string]error // binaries of tests, by package
	sound                 map[string]soundRun
	Short                 bool // leave out tests that take long
}

// NewBench prepares runs with the mutants of a list. Whatever it writes is in the folder.
func NewBench(root, folder string, list []Mutant) (*Bench, error) {
	overlay, err := Weave(root, folder, list)
	return &Bench{root: root, folder: folder, overlay: overlay, list: list, built: map[string]error{}, sound: map[string]soundRun{}}, err
}

// Caught runs tests, named PACKAGE.TEST, until one fails with a mutant that passes without. It returns that one, or "".
// Those that measure or search come last, since they take longest. One that is stopped by the limit has failed if
// without the mutant it takes less than a third of that.
func (b *Bench) Caught(ctx context.Context, i int, tests []string, limit time.Duration) (string, error) {
	env := []string{Environment + "=" + Name(i)}
	if m := &b.list[i]; m.Guest() {
		images, err := b.images(i)
		if err != nil {
			return "", err
		}
		env = []string{imagesEnvironment + "=" + images}
	}
	tests = slices.SortedStableFunc(slices.Values(tests), func(x, y string) int { return slow(x) - slow(y) })
	for _, test := range tests {
		end, err := b.run(ctx, test, env, limit)
		if err != nil {
			return "", err
		}
		if end == passes {
			continue
		}
		passed, took, err := b.Sound(ctx, test, limit)
		if err != nil {
			return "", err
		}
		if passed && (end == fails || took < limit/3) {
			return test, nil
		}
	}
	return "", nil
}

// slow is 1 for tests of packages whose tests measure or search.
func slow(test string) int {
	for _, pkg := range []string{"races.", "experiments.", "cmd/"} {
		if strings.HasPrefix(test, pkg) {
			return 1
		}
	}
	return 0
}

// ending is how the run of a test ends.
type ending int

const (
	passes ending = iota
	fails
	stopped // by the limit
)

// run runs one test.
func (b *Bench) run(ctx context.Context, test string, env []string, limit time.Duration) (ending, error) {
	dot := strings.LastIndex(test, ".")
	pkg, name := test[:dot], test[dot+1:]
	binary := filepath.Join(b.folder, strings.ReplaceAll(pkg, "/", "__")+".test")
	if _, done := b.built[pkg]; !done {
		b.built[pkg] = command(b.root, nil, "go", "test", "-c", "-vet=off", "-overlay", b.overlay, "-o", binary, "./"+pkg)
	}
	if err := b.built[pkg]; err != nil {
		return fails, fmt.Errorf("%s with mutants: %w", pkg, err)
	}
	short, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := exec.CommandContext(short, binary, "-test.run=^"+name+"$", "-test.failfast", "-test.short="+strconv.FormatBool(b.Short))
	c.Dir, c.Env = filepath.Join(b.root, pkg), append(os.Environ(), env...)
	if !b.Short {
		c.Env = append(c.Env, hosttools.LongRuns+"=1")
	}
	c.WaitDelay = time.Second
	err := c.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return passes, nil
	case ctx.Err() != nil:
		return stopped, ctx.Err()
	case short.Err() != nil:
		return stopped, nil
	case errors.As(err, &exit):
		return fails, nil
	}
	return fails, err
}

// images builds the guest kernels of a mutant and returns their folder.
func (b *Bench) images(i int) (string, error) {
	m := &b.list[i]
	folder := filepath.Join(b.folder, Name(i))
	sources := filepath.Join(folder, "kernel")
	if err := os.CopyFS(sources, os.DirFS(filepath.Join(b.root, guestSources))); err != nil {
		return "", err
	}
	changed := filepath.Join(sources, strings.TrimPrefix(m.File, guestSources))
	text, err := os.ReadFile(changed)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(changed, bytes.Replace(text, []byte(m.Old), []byte(m.New), 1), 0o666); err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(slices.Values(m.Images)) {
		isa, variant, _ := strings.Cut(name, "-")
		if err := command(sources, nil, "sh", "build.sh", filepath.Join(folder, name+".elf"), variant, isa); err != nil {
			return "", fmt.Errorf("row %d: image %s: %w", m.Row, name, err)
		}
	}
	return folder, nil
}

// command runs a command whose output is part of its error.
func command(folder string, env []string, name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Dir, c.Env = folder, append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

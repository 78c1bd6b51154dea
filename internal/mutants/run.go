package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"kprobesim/internal/hosttools"
)

// Bench runs tests with mutants.
type Bench struct {
	root, folder string
	list         []Mutant
	replace      map[string]string // woven files, by files of the tree
	built        map[string]error  // binaries of tests by package, and guest kernels by folder
	sound        map[string]soundRun
	Short        bool // leave out tests that take long
	Long         bool // run also those that the gate alone runs
}

// NewBench prepares runs with the mutants of a list. Whatever it writes is in the folder.
func NewBench(root, folder string, list []Mutant) (*Bench, error) {
	replace, err := Weave(root, folder, list)
	return &Bench{root: root, folder: folder, replace: replace, list: list, built: map[string]error{}, sound: map[string]soundRun{}}, err
}

// Caught runs tests, named PACKAGE.TEST or PACKAGE.PATTERN, until one fails with a mutant that passes without. It returns that one, or "".
// Those that measure or search come last, since they take longest. One that is stopped by the limit has failed if
// without the mutant it takes less than a third of that.
func (b *Bench) Caught(ctx context.Context, i int, tests []string, limit time.Duration) (string, error) {
	env, err := b.env(i)
	if err != nil {
		return "", err
	}
	tests = slices.SortedStableFunc(slices.Values(tests), func(x, y string) int { return slow(x) - slow(y) })
	for _, test := range tests {
		var out bytes.Buffer
		end, err := b.run(ctx, &out, test, env, limit)
		if err != nil {
			return "", err
		}
		if end == passes {
			continue
		}
		if began := begun.FindAllStringSubmatch(out.String(), -1); len(began) > 0 {
			pkg, _ := split(test)
			test = pkg + "." + began[len(began)-1][1]
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

// begun matches the line of a test that begins. The last one is the test that failed, because the first failure ends a run.
var begun = regexp.MustCompile(`(?m)^=== RUN +(\w+)$`)

// split returns the package and the name of a test.
func split(test string) (pkg, name string) {
	dot := strings.LastIndex(test, ".")
	return test[:dot], test[dot+1:]
}

// env returns the variables by which a binary of tests makes the mistake.
func (b *Bench) env(i int) ([]string, error) {
	if m := &b.list[i]; !m.Guest() {
		return []string{Environment + "=" + Name(i)}, nil
	}
	images, err := b.images(i)
	return []string{imagesEnvironment + "=" + images}, err
}

// Output runs a test with a mutant, and with more of an environment, and returns what it prints. One that is stopped by the limit
// is an error.
func (b *Bench) Output(ctx context.Context, i int, test string, limit time.Duration, more ...string) (string, error) {
	env, err := b.env(i)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	end, err := b.run(ctx, &out, test, append(env, more...), limit)
	if err == nil && end == stopped {
		err = fmt.Errorf("%s: %s does not end within %s", &b.list[i], test, limit)
	}
	return out.String(), err
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

// run runs one test. What it prints goes to out, or nowhere. The limit is of the time of processors, all of which it may use, so that
// a busy host does not stop it. One that waits for ever is stopped behind four limits.
func (b *Bench) run(ctx context.Context, out io.Writer, test string, env []string, limit time.Duration) (ending, error) {
	pkg, name := split(test)
	binary := filepath.Join(b.folder, strings.ReplaceAll(pkg, "/", "__")+".test")
	if _, done := b.built[pkg]; !done {
		b.built[pkg] = b.build(pkg, binary)
	}
	if err := b.built[pkg]; err != nil {
		return fails, fmt.Errorf("%s with mutants: %w", pkg, err)
	}
	short, cancel := context.WithTimeout(ctx, 4*limit)
	defer cancel()
	seconds := strconv.Itoa(int(math.Ceil(limit.Seconds())) * runtime.NumCPU())
	c := exec.CommandContext(short, "sh", "-c", `ulimit -t "$0"; exec "$@"`, seconds,
		binary, "-test.run=^"+name+"$", "-test.v", "-test.failfast", "-test.short="+strconv.FormatBool(b.Short))
	c.Dir, c.Env = filepath.Join(b.root, pkg), append(os.Environ(), env...)
	if b.Long {
		c.Env = append(c.Env, hosttools.LongRuns+"=1")
	}
	c.WaitDelay, c.Stdout = time.Second, out
	err := c.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return passes, nil
	case ctx.Err() != nil:
		return stopped, ctx.Err()
	case short.Err() != nil, errors.As(err, &exit) && exit.ExitCode() == -1: // by a signal: Go ends its own failures with a code
		return stopped, nil
	case exit != nil:
		return fails, nil
	}
	return fails, err
}

// build makes the binary of a package's tests.
func (b *Bench) build(pkg, binary string) error {
	replace := maps.Clone(b.replace)
	if err := weaveTests(b.root, b.folder, pkg, replace); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	overlay := binary + ".json"
	if err := os.WriteFile(overlay, text, 0o666); err != nil {
		return err
	}
	return command(b.root, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "./"+pkg)
}

// images builds the guest kernels of a mutant, once, and returns their folder.
func (b *Bench) images(i int) (string, error) {
	folder := filepath.Join(b.folder, Name(i))
	if _, done := b.built[folder]; !done {
		b.built[folder] = b.buildImages(&b.list[i], folder)
	}
	return folder, b.built[folder]
}

func (b *Bench) buildImages(m *Mutant, folder string) error {
	sources := filepath.Join(folder, "kernel")
	if err := os.CopyFS(sources, os.DirFS(filepath.Join(b.root, guestSources))); err != nil {
		return err
	}
	changed := filepath.Join(sources, strings.TrimPrefix(m.File, guestSources))
	text, err := os.ReadFile(changed)
	if err != nil {
		return err
	}
	if err := os.WriteFile(changed, bytes.Replace(text, []byte(m.Old), []byte(m.New), 1), 0o666); err != nil {
		return err
	}
	for _, name := range slices.Sorted(slices.Values(m.Images)) {
		isa, variant, _ := strings.Cut(name, "-")
		if err := command(sources, "sh", "build.sh", filepath.Join(folder, name+".elf"), variant, isa); err != nil {
			return fmt.Errorf("%s: image %s: %w", m, name, err)
		}
	}
	return nil
}

// command runs a command whose output is part of its error.
func command(folder, name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Dir = folder
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

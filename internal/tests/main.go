// Command tests runs `go test` on all packages and says at the end what the tests left out: `go test` itself hides what
// tests that pass say. It prints what `go test` prints, and ends with its exit code. Its arguments are passed to `go test`;
// without a package it tests all.
//
// It leaves out verbose output, which -v would add, and vet, which `make check` runs by itself. Packages that test the
// source text alone are left out, too, unless long tests are asked for: `make quick` and `make check` run them.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"kprobesim/internal/hosttools"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout)) }

// run starts `go test`, and reports what it says.
func run(args []string, out io.Writer) int {
	r := newReport(out)
	args, err := r.arguments(args)
	c := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	c.Env, c.Stderr = environment(os.Environ()), os.Stderr
	pipe, piped := c.StdoutPipe()
	if err = errors.Join(err, piped); err == nil {
		err = c.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tests:", err)
		return 1
	}
	err = errors.Join(r.read(bufio.NewReader(pipe)), c.Wait())
	r.summary()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		fmt.Fprintln(os.Stderr, "tests:", err)
	}
	return 1
}

// environment lets the garbage of tests grow to four times of what they use, or to two gigabytes: machines live for milliseconds, and
// marking the rest takes a tenth of the time. What the user sets is said last, so that it holds (go doc os/exec.Cmd, Env).
func environment(of []string) []string {
	return append([]string{"GOGC=400", "GOMEMLIMIT=2GiB"}, of...)
}

// longest are the packages whose tests take longest. `go test` begins packages in the order of its arguments, so that no
// processor waits for one of these in the end.
var longest = []string{
	"./cmd/kprobesim", "./experiments/kinds", "./distro", "./races", "./workloads", "./kprobes", "./distro/measuring",
}

// fast leaves out of `go test` what says nothing of a test: vet, and what debuggers read. The user's own flags come later, and hold.
var fast = []string{"-vet=off", "-ldflags=-w"}

// ofTheText are packages whose tests hold the source text, and nothing that the program does on a host.
var ofTheText = []string{"kprobesim/internal/mutation", "kprobesim/internal/rules"}

// arguments returns the arguments of `go test`: all packages and their time come before flags that name no package.
func (r *report) arguments(args []string) ([]string, error) {
	for i, a := range args {
		if a == "-args" {
			break
		}
		if !strings.HasPrefix(a, "-") && (i == 0 || !takesValue(args[i-1])) {
			return slices.Concat(fast, args), nil
		}
	}
	all, err := r.packages()
	atOnce := strconv.Itoa(runtime.GOMAXPROCS(0) + 1) // some tests wait for a clock or another program
	return slices.Concat(fast, []string{"-timeout", "40m", "-p", atOnce}, longest, all, args), err
}

// packages are all whose tests are run where none is named.
func (r *report) packages() ([]string, error) {
	if hosttools.Longer() {
		return []string{"./..."}, nil
	}
	r.leave(hosttools.IsLong, "tests of the source text; make quick runs them")
	all, err := exec.Command("go", "list", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list ./...: %w", err)
	}
	return slices.DeleteFunc(strings.Fields(string(all)), func(p string) bool { return slices.Contains(ofTheText, p) }), nil
}

// takesValue tells whether the argument behind one is its value.
func takesValue(flag string) bool {
	return strings.HasPrefix(flag, "-") && !strings.Contains(flag, "=") && !slices.Contains(switches, strings.TrimLeft(flag, "-"))
}

// switches are flags of `go test` without a value (go help testflag, go help build).
var switches = []string{
	"a", "asan", "benchmem", "c", "cover", "failfast", "fullpath", "json", "linkshared", "modcacherw", "msan", "n", "race", "short", "trimpath",
	"v", "work", "x",
}

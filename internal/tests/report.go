package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"kprobesim/internal/hosttools"
)

// An event is a line of `go test -json` (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// A report prints a run as `go test` does without -v, and collects what was left out.
type report struct {
	out  io.Writer
	said map[[2]string][]string // what each test that runs has printed, by package and test
	left map[string]map[string]int
	long []event // ends of tests that took longTest or more
}

// longTest is how many seconds make a test one of those that a summary names.
const longTest = 10

func newReport(out io.Writer) *report {
	return &report{out: out, said: map[[2]string][]string{}, left: map[string]map[string]int{}}
}

// read goes through all lines. One that is no event, such as a mistake of the compiler, is printed as it is.
func (r *report) read(in *bufio.Reader) error {
	for {
		line, err := in.ReadString('\n')
		var e event
		if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
			r.event(e)
		} else {
			_, _ = io.WriteString(r.out, line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// event keeps what a test prints until it has failed, and prints at once what its package says.
func (r *report) event(e event) {
	of := [2]string{e.Package, e.Test}
	if e.Elapsed >= longTest && e.Test != "" && !strings.Contains(e.Test, "/") {
		r.long = append(r.long, e)
	}
	switch e.Action {
	case "build-output":
		_, _ = io.WriteString(r.out, e.Output)
	case "output":
		r.note(e.Output)
		if !strings.HasPrefix(e.Output, "=== ") {
			r.said[of] = append(r.said[of], e.Output)
		}
	case "pass", "skip":
		r.end(of, func(line string) bool { return e.Test == "" && closing(line) })
	case "fail":
		if e.Test == "" {
			r.unended(e.Package)
		}
		r.end(of, all)
	}
}

// end forgets what a test or a package has printed, and prints what is to be shown of it.
func (r *report) end(of [2]string, show func(line string) bool) {
	for _, line := range r.said[of] {
		if show(line) {
			_, _ = io.WriteString(r.out, line)
		}
	}
	delete(r.said, of)
}

func all(string) bool { return true }

// closing tells the line that `go test` shows of a package that passed or has no tests.
func closing(line string) bool {
	return strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "?   \t")
}

// unended prints what tests of a package had to say that never ended: those that panicked or took too long.
func (r *report) unended(pkg string) {
	for _, of := range slices.SortedFunc(maps.Keys(r.said), func(a, b [2]string) int { return strings.Compare(a[1], b[1]) }) {
		if of[0] == pkg && of[1] != "" {
			r.end(of, all)
		}
	}
}

// logged is a line of a test's log, with where it was logged.
var logged = regexp.MustCompile(`^\s+\S+\.go:\d+: (` + hosttools.LeftOut + `|` + hosttools.NotHere + `|` + hosttools.IsLong + `|` + hosttools.AtNight + `)(.*)\n`)

// note counts what a line says was left out.
func (r *report) note(line string) {
	if m := logged.FindStringSubmatch(line); m != nil {
		r.leave(m[1], m[2])
	}
}

// leave counts what is left out, by the word that says why.
func (r *report) leave(why, what string) {
	if r.left[why] == nil {
		r.left[why] = map[string]int{}
	}
	r.left[why][what]++
}

// headings say of each word that it was found by what it means.
var headings = []struct{ word, text string }{
	{hosttools.LeftOut, "left out, because something is not installed:"},
	{hosttools.NotHere, "left out, because this host cannot do it:"},
	{hosttools.IsLong, "left out, because it takes long; " + hosttools.LongRuns + "=1 runs it:"},
	{hosttools.AtNight, "left to the night; " + hosttools.LongRuns + "=2 runs it:"},
}

// summary prints the longest tests, what was left out, and how often where that is more than once.
func (r *report) summary() {
	slices.SortStableFunc(r.long, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	for i, e := range r.long[:min(len(r.long), 12)] {
		if i == 0 {
			fmt.Fprintln(r.out, "the longest tests, in seconds:")
		}
		fmt.Fprintf(r.out, "  %4.0f %s of %s\n", e.Elapsed, e.Test, e.Package)
	}
	for _, h := range headings {
		if len(r.left[h.word]) > 0 {
			fmt.Fprintln(r.out, h.text)
		}
		for _, what := range slices.Sorted(maps.Keys(r.left[h.word])) {
			times := ""
			if n := r.left[h.word][what]; n > 1 {
				times = fmt.Sprintf(" (%d times)", n)
			}
			fmt.Fprintf(r.out, "  %s%s\n", what, times)
		}
	}
	if len(r.left) == 0 {
		fmt.Fprintln(r.out, "nothing was left out")
	}
}

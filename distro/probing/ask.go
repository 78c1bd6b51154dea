package probing

import (
	"bufio"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"kprobesim/kprobes"
)

// Answer is the answer of a kernel that was asked for a trace event at a place.
type Answer struct {
	Errno     int  `json:"errno"` // as a positive number; 0 where it took the probe
	Ftrace    bool `json:"ftrace"`
	Optimized bool `json:"optimized"`
}

// String says it in words.
func (a Answer) String() string {
	switch {
	case a.Errno != 0:
		return fmt.Sprintf("error %d", a.Errno)
	case a.Ftrace:
		return "a probe that rests on ftrace"
	case a.Optimized:
		return "a probe that it replaced by a jump"
	}
	return "a probe by a breakpoint"
}

// Agrees reports whether the kernel did what the verdict says. It refuses trace events in functions that ftrace
// does not know with EINVAL, before it looks at the instruction.
func (a Answer) Agrees(v Verdict) bool {
	switch {
	case !v.Probe:
		return a.Errno == v.Errno || a.Errno == int(kprobes.EINVAL) && !v.traced
	case !v.Event:
		return a.Errno == int(kprobes.EINVAL)
	}
	return a == Answer{Ftrace: v.Kind == "ftrace", Optimized: v.Optimized}
}

// The lines that the program for questions prints: one for each place with the error, and lines of the kernel's
// list of probes. What it could not do comes before.
const (
	askPlace = "ask: place "
	askList  = "ask: list "
	askFail  = "ask: failed "
	// AskDone is its last line.
	AskDone = "ask: done"
)

// Orders is the file from which the program reads the places, one in a line.
func Orders(sites []uint64) []byte {
	var b strings.Builder
	for _, at := range sites {
		fmt.Fprintf(&b, "%#x\n", at)
	}
	return []byte(b.String())
}

// kernelMessage is a line of the kernel's own. It may stand within a line of the program, which the console takes byte by byte.
var kernelMessage = regexp.MustCompile(`\[ *[0-9]+\.[0-9]{6}\] [^\n]*\n`)

// Answers reads from a console what the kernel said of the places.
func Answers(console string, sites []uint64) ([]Answer, error) {
	whole := kernelMessage.ReplaceAllString(console, "")
	out, said := make([]Answer, len(sites)), 0
	index := map[uint64]int{}
	for i, at := range sites {
		index[at] = i
	}
	lines, done, failed := bufio.NewScanner(strings.NewReader(whole)), false, []string{}
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), "\r")
		if rest, ok := strings.CutPrefix(line, askPlace); ok {
			place, number, _ := strings.Cut(rest, " ")
			at, err := strconv.ParseUint(place, 0, 64)
			errno, err2 := strconv.Atoi(number)
			if i, known := index[at]; known && err == nil && err2 == nil {
				out[i].Errno = errno
				said++
			}
		}
		if rest, ok := strings.CutPrefix(line, askList); ok {
			listed(rest, index, out)
		}
		if rest, ok := strings.CutPrefix(line, askFail); ok {
			failed = append(failed, rest)
		}
		done = done || strings.HasPrefix(line, AskDone)
	}
	if len(failed) > 0 {
		return nil, fmt.Errorf("the program that asks the kernel for probes failed %s", strings.Join(failed, ", "))
	}
	if !done || said != len(sites) {
		return nil, fmt.Errorf("the kernel answered for %d of %d places; the end of its console: %q",
			said, len(sites), console[max(0, len(console)-400):])
	}
	return out, nil
}

// listed reads a line of the kernel's list of probes: an address, a kind, a place, and marks.
func listed(line string, index map[uint64]int, out []Answer) {
	f := strings.Fields(line)
	if len(f) < 3 {
		return
	}
	at, err := strconv.ParseUint(f[0], 16, 64)
	if i, ok := index[at]; ok && err == nil {
		out[i].Ftrace = strings.Contains(line, "[FTRACE]")
		out[i].Optimized = strings.Contains(line, "[OPTIMIZED]")
	}
}

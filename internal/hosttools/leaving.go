package hosttools

import (
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"testing"
)

// What a run of the tests leaves out stands in their log behind one of these words. internal/tests lists it at the end
// of a run.
const (
	LeftOut = "left out: "     // something can be installed
	NotHere = "not possible: " // this host cannot do it
	IsLong  = "long: "         // it proves little more than what is run
	AtNight = "at night: "     // the same, and the gate has no time for it
)

// All is the variable of the environment whose value 1 makes a failure of what is left out for want of something that
// can be installed. CI sets it.
const All = "KPROBESIM_ALL"

// LongRuns is the variable of the environment whose value 1 asks for long tests, as `make check` does, and 2 for tests of the night.
const LongRuns = "KPROBESIM_LONG"

// Missing leaves out a test because something is not installed, or not unpacked where the test looks for it.
func Missing(tb testing.TB, what, why string) {
	tb.Helper()
	Without(tb, what, why)
	tb.SkipNow()
}

// Without says that a test goes on without a part, for the same reason.
func Without(tb testing.TB, what, why string) {
	tb.Helper()
	if os.Getenv(All) == "1" {
		tb.Fatalf("%s; %s (%s=1 wants all of it)", what, why, All)
	}
	tb.Log(LeftOut + oneLine(what+"; "+why))
}

// Unable leaves out a test that needs a host of another kind.
func Unable(tb testing.TB, what, why string) {
	tb.Helper()
	tb.Skip(NotHere + oneLine(what+"; "+why))
}

// Partly says that a test goes on without a part that needs a host of another kind.
func Partly(tb testing.TB, what, why string) {
	tb.Helper()
	tb.Log(NotHere + oneLine(what+"; "+why))
}

// Long leaves out a test that takes long, unless long tests are asked for. It says where the same is shown in less time.
func Long(tb testing.TB, what, instead string) {
	tb.Helper()
	if !Whole(tb, what, instead) {
		tb.SkipNow()
	}
}

// Whole reports whether a test runs in whole, because long tests are asked for. Where it does not, it says what the
// test leaves out, and what it runs instead.
func Whole(tb testing.TB, what, instead string) bool {
	tb.Helper()
	if Longer() && !testing.Short() {
		return true
	}
	tb.Log(IsLong + oneLine(what+"; "+instead))
	return false
}

// Longer reports whether long tests are asked for, or tests of the night, which are long too.
func Longer() bool {
	n := os.Getenv(LongRuns)
	return n == "1" || n == "2"
}

// Night reports whether a long test runs all of its cases, because tests of the night are asked for. Where it does not, it says
// what the test leaves out, and what it runs instead.
func Night(tb testing.TB, what, instead string) bool {
	tb.Helper()
	if os.Getenv(LongRuns) == "2" && !testing.Short() {
		return true
	}
	tb.Log(AtNight + oneLine(what+"; "+instead))
	return false
}

// Part returns how many of alike cases a test runs: all of them where long tests are asked for, and else a part.
func Part(tb testing.TB, what string, all, part int) int {
	tb.Helper()
	if Whole(tb, fmt.Sprint(all, " ", what), fmt.Sprintf("%d of them", part)) {
		return all
	}
	return part
}

// Share returns which of many alike cases a test runs: all of them where long tests are asked for, and else one of so many. Which
// ones these are depends on the name of the test, so that every case has its turn in some test of a package.
func Share[T any](tb testing.TB, what string, of int, all []T) []T {
	tb.Helper()
	if Whole(tb, "all "+what, fmt.Sprintf("one of %d of them", of)) {
		return all
	}
	n := int(crc32.ChecksumIEEE([]byte(tb.Name()))>>1) % of
	return slices.DeleteFunc(slices.Clone(all), func(T) bool {
		n++
		return n%of != 0
	})
}

// oneLine keeps a message on the line that it is found by.
func oneLine(text string) string { return strings.ReplaceAll(text, "\n", " ") }

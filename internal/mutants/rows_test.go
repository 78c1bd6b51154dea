package mutants

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kprobesim/internal/require"
)

// The page of rows, and the list of their mutants.
const (
	page = "docs/coverage.md"
	list = "internal/mutants/coverage.mutants"
)

var rowsFlag = flag.String("rows", "", "rows of "+page+" whose mutants are tried: 1-20,57, or all")

// row is one of the page that says that a behaviour is there.
type row struct {
	number int
	tests  []string
}

var (
	rowLine   = regexp.MustCompile(`(?m)^\| (\d+) \| .* \| (?:yes|part) \| (.*) \|$`)
	namedTest = regexp.MustCompile("`([a-z0-9_/]+\\.Test\\w+)`")
)

func rows(t *testing.T) (all []row) {
	t.Helper()
	text := require.Must(os.ReadFile(filepath.Join(root(t), page)))(t)
	for _, m := range rowLine.FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.Atoi(m[1])
		r := row{number: n}
		for _, name := range namedTest.FindAllStringSubmatch(m[2], -1) {
			r.tests = append(r.tests, name[1])
		}
		all = append(all, r)
	}
	return all
}

// root is the top of the repository.
func root(t *testing.T) string {
	t.Helper()
	dir := require.Must(filepath.Abs("../.."))(t)
	return dir
}

func mutants(t *testing.T) []Mutant {
	t.Helper()
	all := require.Must(Read(filepath.Join(root(t), list)))(t)
	return all
}

// TestEveryRowHasAMutant wants one for each row that says yes or part, or a reason why there is none, and what it changes
// to be in the tree.
func TestEveryRowHasAMutant(t *testing.T) {
	have := map[int]int{}
	for _, m := range mutants(t) {
		have[m.Row]++
		if err := m.Check(root(t)); err != nil {
			t.Error(err)
		}
	}
	for _, r := range rows(t) {
		require.That(t, have[r.number] != 0, "row %d of %s has no mutant in %s", r.number, page, list)
		delete(have, r.number)
	}
	for n := range have {
		t.Errorf("%s has a mutant of row %d, which %s does not have", list, n, page)
	}
	if _, err := Weave(root(t), t.TempDir(), mutants(t)); err != nil {
		t.Error(err)
	}
}

// TestRowsNotice puts each mutant into the program and wants one of the tests of its row to fail. It takes hours: make rows.
func TestRowsNotice(t *testing.T) {
	if *rowsFlag == "" {
		t.Skip("on demand: make rows tries the mutants of all rows, for hours")
	}
	b := require.Must(NewBench(root(t), t.TempDir(), mutants(t)))(t)
	b.Long = true
	all := rows(t)
	for i, m := range mutants(t) {
		if m.None != "" || !wanted(m.Row) {
			continue
		}
		t.Run(fmt.Sprint(m.Row), func(t *testing.T) {
			at := slices.IndexFunc(all, func(r row) bool { return r.number == m.Row })
			begin := time.Now()
			switch by, err := b.Caught(t.Context(), i, all[at].tests, 5*time.Minute); {
			case err != nil:
				t.Error(err)
			case by == "":
				t.Errorf("row %d: no test notices that %s is changed from\n%s\nto\n%s", m.Row, m.File, m.Old, m.New)
			default:
				t.Logf("row %d: %s notices, %s", m.Row, by, time.Since(begin).Round(time.Second))
			}
		})
	}
}

// wanted reports whether the flag names a row.
func wanted(n int) bool {
	if *rowsFlag == "all" {
		return true
	}
	return slices.ContainsFunc(strings.Split(*rowsFlag, ","), func(s string) bool {
		from, to, isRange := strings.Cut(s, "-")
		if !isRange {
			to = from
		}
		a, err := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		return err == nil && err2 == nil && a <= n && n <= b
	})
}

// TestEnters wants a test to enter the functions that it calls, and no others.
func TestEnters(t *testing.T) {
	list := []Mutant{
		{File: "internal/clock/clock.go", New: "\npanic(0)"},
		{File: "internal/clock/calendar.go", New: "\npanic(0)"},
	}
	for i, f := range []string{"func (t Ticks) Cycles() int64 {", "func Day(year, month, dayOfMonth int) int64 {"} {
		b := string(require.Must(os.ReadFile(filepath.Join(root(t), list[i].File)))(t))
		_, body, ok := strings.Cut(b, f)
		require.Need(t, ok, "%s has no %s", list[i].File, f)
		body, _, _ = strings.Cut(body, "\n}")
		list[i].Old = body
	}
	b := require.Must(NewBench(root(t), t.TempDir(), list))(t)
	const test = "internal/clock.TestCyclesRoundDown"
	passed, _, err := b.Sound(t.Context(), test, time.Minute)
	first, _ := b.Entering(test, 0)
	other, _ := b.Entering(test, 1)
	require.That(t, err == nil && passed && first == "internal/clock.(TestCyclesRoundDown)" && other == "", "passed %v, %v; it enters %q and %q, want the first", passed, err, first, other)
	by := require.Must(b.Caught(t.Context(), 0, []string{first}, time.Minute))(t)
	require.Equal(t, by, test, "it is caught by")
	const plain = "internal/mutants.TestWithoutNotes"
	passed, _, err = b.Sound(t.Context(), plain, time.Minute)
	other, _ = b.Entering(plain, 1)
	require.That(t, err == nil && passed && other == plain, "a test that fails with notes alone: passed %v, %v; it may enter every function", passed, err)
}

// TestWithoutNotes fails where it is noted which functions a test enters, as one does that counts allocations. TestEnters runs it so.
func TestWithoutNotes(t *testing.T) {
	require.Equal(t, os.Getenv(enteredEnvironment), "", "functions are noted in")
}

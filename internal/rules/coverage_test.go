package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// coverage is the list of what the documents describe.
const coverage = "docs/coverage.md"

var (
	coverageRow = regexp.MustCompile(`^\| (\d+) \| (.+?) \| ([0-9a-z ]+) \| (\w+) \| (.+?) \|$`)
	numbered    = regexp.MustCompile(`^\| \d`)
	namedTest   = regexp.MustCompile("`([a-z0-9_/]+)\\.(Test\\w+)`")
)

// TestCoverage holds the list against the tests: a row that says yes names tests that exist, one that says part names
// tests and what is missing, and one that says no has a reason.
func TestCoverage(t *testing.T) {
	tests := map[string]bool{}
	for _, s := range sources(t) {
		if s.test() {
			for _, f := range found(`(?m)^func (Test\w+)\(t \*testing\.T\)`, read(t, s.name)) {
				tests[s.dir()+"."+f] = true
			}
		}
	}
	n := 0
	for line := range strings.Lines(read(t, coverage)) {
		line = strings.TrimSpace(line)
		if !numbered.MatchString(line) || strings.Count(line, "|") < 4 {
			continue
		}
		n++
		m := coverageRow.FindStringSubmatch(line)
		if m == nil || m[1] != fmt.Sprint(n) {
			t.Errorf("row %d is %q, want | %d | behaviour | documents | state | proof or reason |", n, line, n)
			continue
		}
		require.Equal(t, coverageProblem(m[3], m[4], m[5], tests), "", "row %d", n)
	}
	require.That(t, n >= 100, "%d rows", n)
}

// coverageProblem says what is wrong with a row.
func coverageProblem(documents, state, text string, tests map[string]bool) string {
	for _, d := range strings.Fields(documents) {
		if !slices.Contains([]string{"04", "09", "18", "19", "now"}, d) {
			return "no document " + d
		}
	}
	named := namedTest.FindAllStringSubmatch(text, -1)
	for _, m := range named {
		if !tests[m[1]+"."+m[2]] {
			return fmt.Sprintf("no test %s in %s", m[2], m[1])
		}
	}
	reason := strings.Trim(namedTest.ReplaceAllString(text, ""), " :;")
	switch {
	case !slices.Contains([]string{"yes", "part", "no"}, state):
		return "the state is " + state
	case state != "no" && len(named) == 0:
		return "no test is named"
	case state == "yes" && reason != "":
		return "a proof is names of tests alone, not " + reason
	case state != "yes" && reason == "":
		return "no reason"
	}
	return ""
}

// TestCoverageNoticesMistakes shows each kind of mistake to the check.
func TestCoverageNoticesMistakes(t *testing.T) {
	tests := map[string]bool{"kprobes.TestA": true}
	for _, row := range [][3]string{
		{"09 10", "yes", "`kprobes.TestA`"},
		{"09", "yes", "`kprobes.TestB`"},
		{"09", "yes", "works"},
		{"09", "yes", "`kprobes.TestA`: but for one thing"},
		{"09", "part", "`kprobes.TestA`"},
		{"09", "no", ""},
		{"09", "perhaps", "`kprobes.TestA`"},
	} {
		require.That(t, coverageProblem(row[0], row[1], row[2], tests) != "", "%q is no mistake", row)
	}
	if p := coverageProblem("09 now", "yes", "`kprobes.TestA`", tests); p != "" {
		t.Error(p)
	}
}

package races

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// TestRecorderWrites holds the file of a schedule: the last lines in their order, behind how many there were, and how it ended.
func TestRecorderWrites(t *testing.T) {
	for _, x := range []struct {
		lines     int
		violation *Violation
		want      string
	}{
		{0, nil, "a\nb\nc\nd\ne\n# 9 steps, no violation\n"},
		{5, nil, "a\nb\nc\nd\ne\n# 9 steps, no violation\n"},
		{3, &Violation{CPU: -1, Text: "stuck"}, "# the last 3 of 5 lines\nc\nd\ne\n# "},
	} {
		r := &recorder{l: &lab{s: &Scenario{Name: "s"}, v: &Variant{Name: "v"}}, lines: x.lines}
		for _, line := range strings.Split("abcde", "") {
			r.line(line)
		}
		var b strings.Builder
		require.NoError(t, r.write(&b, &Outcome{N: 7, Steps: 9, Violation: x.violation}))
		want := x.want
		if x.violation != nil {
			want += x.violation.String() + "\n"
		}
		head, rest, _ := strings.Cut(b.String(), "\n")
		require.That(t, strings.HasPrefix(head, "# schedule 7 of s/v: ") && rest == want, "%d lines kept: %s\n%swant\n%s", x.lines, head, rest, want)
	}
}

// smallDisk is one with room for so many bytes.
type smallDisk struct {
	text []byte
	room int
}

func (f *smallDisk) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, io.ErrShortWrite
	}
	f.text = append(f.text, b...)
	return len(b), nil
}

// TestReport counts violations that are not shown, says whether a search is complete, and fails wherever its text has no room.
func TestReport(t *testing.T) {
	found := []Outcome{{N: 3, Violation: &Violation{CPU: -1, Text: "stuck"}}, {N: 8, Violation: &Violation{CPU: 1, Text: "lost"}}}
	for complete, want := range map[bool]string{true: "these are all", false: "run more schedules"} {
		rows := []Row{{
			Scenario: &Scenario{Name: "s", Given: "s.txt"}, Variant: &Variant{Name: "v"},
			Tally: Tally{Schedules: 9, Violations: 5, Found: found, Complete: complete},
		}}
		opt := Options{Seed: 4, Policy: Exhaustive, Preemptions: 2}
		whole := &smallDisk{room: 1 << 20}
		require.NoError(t, Report(whole, opt, rows))
		text := string(whole.text)
		for _, part := range []string{
			"9  0  0  0  5  3\n", "s/v, schedule 8 of seed 4: ", "kprobesim races s.txt --variant v --seed 4 --policy exhaustive --preemptions 2 --replay 8\n",
			"and 3 more\n", "9 plans of at most 2 preemptions, each of them in hot code; ", want,
		} {
			if !strings.Contains(spaced(text), part) {
				t.Errorf("no %q in\n%s", part, text)
			}
		}
		for room := range len(text) {
			if err := Report(&smallDisk{room: room}, opt, rows); err == nil {
				t.Fatalf("%d of %d bytes are a report", room, len(text))
			}
		}
	}
}

// spaced has two spaces between columns.
func spaced(text string) string { return regexp.MustCompile(` {2,}`).ReplaceAllString(text, "  ") }

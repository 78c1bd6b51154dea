package races

import (
	"strings"
	"testing"
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
		if err := r.write(&b, &Outcome{N: 7, Steps: 9, Violation: x.violation}); err != nil {
			t.Fatal(err)
		}
		want := x.want
		if x.violation != nil {
			want += x.violation.String() + "\n"
		}
		head, rest, _ := strings.Cut(b.String(), "\n")
		if !strings.HasPrefix(head, "# schedule 7 of s/v: ") || rest != want {
			t.Errorf("%d lines kept: %s\n%swant\n%s", x.lines, head, rest, want)
		}
	}
}

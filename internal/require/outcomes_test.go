package require

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutcomes has every second byte of a text damaged in four ways, and wants the sum of what comes of it.
func TestOutcomes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "outcomes")
	t.Setenv("KPROBESIM_OUTCOMES", name)
	const want = "0 0: 01 2d 7f 2d 81\n0 1: 80 2d 7f 2d 81\n0 2: 01 2d 7f 2d 81\n0 3: ff 2d 7f 2d 81\n" +
		"2 0: 00 2d 7e 2d 81\n2 1: 00 2d ff 2d 81\n2 2: 00 2d 80 2d 81\n2 3: 00 2d 80 2d 81\n" +
		"4 0: 00 2d 7f 2d 80\n4 1: 00 2d 7f 2d 01\n4 2: 00 2d 7f 2d 82\n4 3: 00 2d 7f 2d 7e\n"
	sum := fmt.Sprintf("%.6x", sha256.Sum256([]byte(want)))
	for had, said := range map[string]string{sum: "", "SUM": "have the sum " + sum + ", and had SUM:"} {
		n := &noted{TB: t}
		Outcomes(n, []byte("\x00-\x7f-\x81"), 2, had, func(b []byte) string { return fmt.Sprintf("% x", b) })
		That(t, n.helped && strings.Contains(n.said, said) && (n.said == "") == (said == ""), "it says %q, want %q", n.said, said)
		Equal(t, string(Must(os.ReadFile(name))(t)), want, "the outcomes")
	}
}

// TestFiles compares texts with a file: what each comparison says, and what is written.
func TestFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	NoError(t, os.Mkdir("testdata", 0o700))
	file := filepath.Join("testdata", "x")
	for _, x := range []struct{ want, has, got, said string }{
		{"lines", "a\nb\n", "a\nb\n", ""},
		{"lines", "a\nb\n", "a\nc\n", file + `:2: "c", was "b"`},
		{"lines", "a\nb", "a", file + `:2: "a", was "b"`},
		{"lines", "a", "a\na", file + `:2: "a", was "a"`},
		{"lines, update", "a", "b", ""},
		{"among", "a\nb\n", "b\n", ""},
		{"among", "a\nb\n", "b\nc\n", file + ` has no line "c"`},
		{"golden", "a", "a", ""},
		{"golden", "a", "b", file + " differs from " + file + ".got"},
		{"golden, update", "a", "b", ""},
	} {
		NoError(t, os.WriteFile(file, []byte(x.has), 0o600))
		name, _, update := strings.Cut(x.want, ",")
		n := &noted{TB: t}
		switch name {
		case "lines":
			Lines(n, file, x.got, update)
		case "among":
			Among(n, file, x.got)
		case "golden":
			Golden(n, update, "x", []byte(x.got))
		}
		That(t, strings.Contains(n.said, x.said) && (n.said == "") == (x.said == "") && n.helped, "%s says of %q in the place of %q: %q", x.want, x.got, x.has, n.said)
		now := x.has
		if update {
			now = x.got
		}
		Equal(t, string(Must(os.ReadFile(file))(t)), now, "the file behind %s of %q", x.want, x.got)
	}
	got := Must(os.ReadFile(file + ".got"))(t)
	Equal(t, string(got), "b", "the text that differs")
}

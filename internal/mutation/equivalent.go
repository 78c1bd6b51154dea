package main

import (
	"fmt"
	"os"
	"strings"
)

// An equivalent is a mutant that no test can notice, with the reason. It is known by its package, its function and the
// text of its lines, which stay the same when lines above it come and go.
type equivalent struct{ pkg, function, before, after, reason string }

// readEquivalents reads a list: paragraphs of five lines, which begin with a word. Lines with # are comments.
func readEquivalents(file string) (all []equivalent, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var lines []string
	for n, line := range strings.Split(string(b), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		want := []string{"in ", "of ", "- ", "+ ", "because "}[len(lines)]
		text, ok := strings.CutPrefix(line+" ", want)
		if !ok {
			return nil, fmt.Errorf("%s:%d: a line that begins with %q is wanted: in FOLDER, of FUNCTION, - LINE, + LINE, because REASON", file, n+1, want)
		}
		if lines = append(lines, strings.TrimSpace(text)); len(lines) == 5 {
			all, lines = append(all, equivalent{lines[0], lines[1], lines[2], lines[3], lines[4]}), nil
		}
	}
	if lines != nil {
		return nil, fmt.Errorf("%s: the last paragraph has %d lines of five", file, len(lines))
	}
	return all, nil
}

// of tells whether the entry is that of a mutant.
func (e equivalent) of(t *tree, m *mutant) bool {
	return e.pkg == t.folder(m.pkg) && e.function == m.function && e.before == m.before && e.after == m.after
}

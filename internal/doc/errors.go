package doc

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Error is one mistake in a document.
type Error struct {
	Pos Pos
	Msg string
}

// Error returns place and message.
func (e Error) Error() string { return e.Pos.String() + ": " + e.Msg }

// Errors is every mistake found in one or more documents.
// A person who corrects a file wants all of them at once, so readers go on behind a mistake.
type Errors []Error

// Add records a mistake at pos.
func (es *Errors) Add(pos Pos, format string, args ...any) {
	*es = append(*es, Error{pos, fmt.Sprintf(format, args...)})
}

// Join records err, taking its parts when it is an Errors and the place pos when it has none.
func (es *Errors) Join(pos Pos, err error) {
	var many Errors
	switch {
	case err == nil:
	case errors.As(err, &many):
		*es = append(*es, many...)
	default:
		es.Add(pos, "%v", err)
	}
}

// Err returns nil when there is no mistake; otherwise the mistakes ordered by place, each once.
// Equal mistakes come up when a document is read more than once, for several points of an
// experiment.
func (es Errors) Err() error {
	if len(es) == 0 {
		return nil
	}
	sorted := slices.Clone(es)
	slices.SortStableFunc(sorted, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return slices.CompactFunc(sorted, func(a, b Error) bool { return a == b })
}

// Error returns one line a mistake.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// One returns an Errors of a single mistake.
func One(pos Pos, format string, args ...any) error {
	return Errors{{pos, fmt.Sprintf(format, args...)}}
}

// Suggest returns `; did you mean "x"?` for the known name nearest to name, or "" when none is
// near.
// Near is a third of the letters and one, and one of names up to three letters: enough for a slip, too little for
// another word.
func Suggest(name string, known []string) string {
	best, dist := "", 1+len(name)/3
	if len(name) <= 3 {
		dist = 1
	}
	for _, k := range known {
		d := distance(strings.ToLower(name), strings.ToLower(k))
		if d <= dist && (best == "" || d < dist) {
			best, dist = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is the Levenshtein distance of a and b. Names longer than 100 bytes are far from
// everything, which bounds the work.
func distance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return math.MaxInt
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diag
			if a[i] != b[j] {
				change++
			}
			diag = row[j+1]
			row[j+1] = min(change, diag+1, row[j]+1)
		}
	}
	return row[len(b)]
}

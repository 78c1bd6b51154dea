package rules

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// vague finds words that stand in the place of a noun or a verb that a reader knows.
var vague = regexp.MustCompile(`(?i)\b(?:(?:is|are|was|were) what|those of|nobody's|who meets|whoever|has for it|is none of)\b`)

// TestCommentsSayWhatIsMeant refuses vague words in comments and names of Go files.
func TestCommentsSayWhatIsMeant(t *testing.T) {
	for _, s := range sources(t) {
		for _, x := range s.vague() {
			t.Errorf("%s: %q: begin with the name and a verb, and use the field's noun", s.name, x)
		}
	}
}

// vague returns the vague words of a file.
func (s *source) vague() (all []string) {
	for _, c := range s.file.Comments {
		all = append(all, vague.FindAllString(strings.Join(strings.Fields(c.Text()), " "), -1)...)
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			all = append(all, vague.FindAllString(apart(id.Name), -1)...)
		}
		return true
	})
	return all
}

// inside finds where a word of a name begins.
var inside = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// apart returns the words of a name.
func apart(name string) string { return inside.ReplaceAllString(name, "$1 $2") }

// TestVagueWordsAreFound tries the search.
func TestVagueWordsAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"x is what y has": 1, "thoseOf": 1, "WhoMeetsIt": 1, "Those of the last row": 1, "this what": 0, "nobody's time": 1, "what it is": 0, "those off": 0,
	} {
		require.Equal(t, len(vague.FindAllString(apart(text), -1)), want, "%q", text)
	}
}

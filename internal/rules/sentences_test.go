package rules

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// maxMedian is the median of words in a sentence that no document reaches.
const maxMedian = 18

// documents returns the paths of all documents, slash-separated.
func documents(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		files := require.Must(filepath.Glob(filepath.Join(root(t), filepath.FromSlash(pattern))))(t)
		for _, f := range files {
			rel := require.Must(filepath.Rel(root(t), f))(t)
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out
}

var (
	sentenceEnd = regexp.MustCompile(`[.!?][*)"]*(\s|$)`)
	listItem    = regexp.MustCompile(`^\s*([-*]|\d+\.)\s`)
)

// paragraphs returns the running text of a document: one string for each paragraph and list item. Blocks of
// code, tables, headings, figures and comments are left out.
func paragraphs(text string) []string {
	var out []string
	var now strings.Builder
	flush := func() {
		if now.Len() > 0 {
			out = append(out, now.String())
		}
		now.Reset()
	}
	code := false
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
			flush()
			continue
		}
		if code {
			continue
		}
		bare := strings.TrimSpace(line)
		if bare == "" || strings.HasPrefix(bare, "|") || strings.HasPrefix(bare, "#") ||
			strings.HasPrefix(bare, "<!--") || strings.HasPrefix(bare, "![") {
			flush()
			continue
		}
		if mark := listItem.FindString(line); mark != "" {
			flush()
			bare = strings.TrimSpace(line[len(mark):])
		}
		now.WriteString(bare + " ")
	}
	flush()
	return out
}

// sentences returns the sentences of a document.
func sentences(text string) []string {
	var out []string
	for _, p := range paragraphs(text) {
		p = quoted.ReplaceAllString(p, "code") // a command is one word, whatever stands in it
		for p != "" {
			end := sentenceEnd.FindStringIndex(p)
			if end == nil {
				end = []int{0, len(p)}
			}
			if s := strings.TrimSpace(p[:end[1]]); s != "" {
				out = append(out, s)
			}
			p = p[end[1]:]
		}
	}
	return out
}

// TestSentencesAreShort holds the median length of the sentences of each document.
func TestSentencesAreShort(t *testing.T) {
	for _, doc := range documents(t) {
		var lengths []int
		for _, s := range sentences(read(t, doc)) {
			lengths = append(lengths, len(strings.Fields(s)))
		}
		slices.Sort(lengths)
		if len(lengths) == 0 {
			continue
		}
		median := lengths[len(lengths)/2]
		t.Logf("%s: %d sentences, median of %d words, longest of %d", doc, len(lengths), median, lengths[len(lengths)-1])
		require.That(t, median < maxMedian, "%s: the median sentence has %d words: write sentences of one thought, below %d words", doc, median, maxMedian)
	}
}

// TestSentencesAreCounted tries the counting.
func TestSentencesAreCounted(t *testing.T) {
	text := "# A heading is none.\n\nOne two three. Four `a b. c` six\nseven 1.5 nine.\n\n```\nno sentence.\n```\n" +
		"- an item of five words\n- (two words.) three\n\n| no | table. |\n"
	var lengths []int
	for _, s := range sentences(text) {
		lengths = append(lengths, len(strings.Fields(s)))
	}
	if want := []int{3, 6, 5, 2, 1}; !slices.Equal(lengths, want) {
		t.Errorf("%d words, want %d: %q", lengths, want, sentences(text))
	}
}

// maxLines bounds the documents that are read first.
var maxLines = map[string]int{"README.md": 129, "DESIGN.md": 370}

// TestDocumentsAreShort holds the length of the documents that are read first.
func TestDocumentsAreShort(t *testing.T) {
	for doc, most := range maxLines {
		n := strings.Count(read(t, doc), "\n")
		require.That(t, n <= most, "%s has %d lines, at most %d: say it in docs/ and link it", doc, n, most)
	}
}

// maxDocs bounds all documents below docs/ together.
const maxDocs = 4000

// TestDocumentsSayThingsOnce holds the length of the documents below docs/.
func TestDocumentsSayThingsOnce(t *testing.T) {
	n := 0
	for _, doc := range documents(t) {
		if strings.HasPrefix(doc, "docs/") {
			n += strings.Count(read(t, doc), "\n")
		}
	}
	require.That(t, n > 0 && n <= maxDocs, "docs/*.md have %d lines, at most %d: say it once, where a reader looks for it, and link it", n, maxDocs)
}

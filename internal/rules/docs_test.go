package rules

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// quoted finds what a document sets in backticks on one line.
var quoted = regexp.MustCompile("`([^`\n]+)`")

// pathLike accepts what can be a path of this repository and nothing else.
var pathLike = regexp.MustCompile(`^\.?[A-Za-z0-9_*-][A-Za-z0-9_.*/-]*$`)

// TestDocumentsNameWhatExists checks every path of the repository that a
// document sets in backticks.
func TestDocumentsNameWhatExists(t *testing.T) {
	for _, doc := range documents(t) {
		for _, m := range quoted.FindAllStringSubmatch(read(t, doc), -1) {
			require.That(t, !isPath(m[1]) || exists(filepath.Join(root(t), m[1])), "%s names `%s`, which does not exist", doc, m[1])
		}
	}
}

// linked finds what a document links by a path.
var linked = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)

// TestDocumentsLinkWhatExists follows the links between documents and to figures.
func TestDocumentsLinkWhatExists(t *testing.T) {
	for _, doc := range documents(t) {
		for _, m := range linked.FindAllStringSubmatch(read(t, doc), -1) {
			require.That(t, exists(filepath.Join(root(t), filepath.Dir(doc), m[1])), "%s links %s, which does not exist", doc, m[1])
		}
	}
}

// TestDocumentsNameTests wants each test that a document names to be there; go test -run takes the begin of
// a name, too.
func TestDocumentsNameTests(t *testing.T) {
	var names []string
	for _, s := range sources(t) {
		if s.test() {
			names = append(names, found(`(?m)^func ((?:Test|Fuzz|Example)\w+)`, read(t, s.name))...)
		}
	}
	for _, doc := range documents(t) {
		for _, want := range found(`\b((?:Test|Fuzz|Example)[A-Z]\w+)`, read(t, doc)) {
			require.That(t, slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, want) }), "%s names %s, which no test begins with", doc, want)
		}
	}
}

// isPath tells whether s means a file or folder of the repository: it starts
// with a room, or has an extension that only files at the root have. A test behind its folder is none.
func isPath(s string) bool {
	if !pathLike.MatchString(s) || namedTest.MatchString("`"+s+"`") {
		return false
	}
	first := room(s)
	_, known := rooms[first]
	return known && strings.Contains(s, "/") || first == ".ci" || first == "Makefile" ||
		first == s && slices.Contains([]string{".md", ".mod", ".sum"}, filepath.Ext(s))
}

// exists tells whether a file matches the pattern.
func exists(pattern string) bool {
	found, err := filepath.Glob(filepath.FromSlash(strings.TrimSuffix(pattern, "/")))
	return err == nil && len(found) > 0
}

// TestPackagesShowHowTheyAreUsed wants an example in the packages that other programs would begin with.
func TestPackagesShowHowTheyAreUsed(t *testing.T) {
	for _, dir := range []string{"results", "experiments", "kprobes", "sim"} {
		require.That(t, strings.Contains(read(t, dir+"/example_test.go"), "\nfunc Example() {"), "%s has no example", dir)
	}
}

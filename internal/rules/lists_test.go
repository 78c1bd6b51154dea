package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	b := require.Must(os.ReadFile(filepath.Join(root(t), filepath.FromSlash(name))))(t)
	return string(b)
}

// found returns the first group of every match, sorted, each once.
func found(pattern, text string) []string {
	var out []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// readKey matches where the readers of files ask for a key.
const readKey = `\b(?:Need|Opt|Sub|Has|List|count|cycles|hertz|into|list)\((?:\w+, )?"([a-z_0-9]+)"`

// readers returns the code that reads experiments, machine descriptions and scenarios, and the list of handlers,
// which has the keys of theirs. Package reports reads a file of the program's own, and exptest is for tests.
func readers(t *testing.T) string {
	t.Helper()
	other := []string{"experiments/exptest", "experiments/reports"}
	var code strings.Builder
	code.WriteString(read(t, "workloads/handlers.go"))
	for _, s := range sources(t) {
		if h := house(s.dir()); !s.test() && slices.Contains([]string{"experiments", "machines", "races"}, h) && !slices.Contains(other, s.dir()) {
			code.WriteString(read(t, s.name))
		}
	}
	return code.String()
}

// keys is the document with the tables of keys.
const keys = "docs/keys.md"

// TestKeysAreListed compares the tables of keys with the code that reads them.
func TestKeysAreListed(t *testing.T) {
	code := readers(t)
	var tables strings.Builder
	for _, line := range strings.Split(read(t, keys), "\n") {
		if strings.HasPrefix(line, "| `") {
			tables.WriteString(line + "\n")
		}
	}
	listed := found("`([a-z_0-9]+)`", tables.String())
	known := found(readKey, code)
	require.Need(t, len(known) >= 20, "the code reads only %q: has it changed its way of asking for keys?", known)
	for _, key := range known {
		require.That(t, slices.Contains(listed, key), "%s does not list the key %s", keys, key)
	}
	words := found(`"([a-z_0-9]+)"`, code) // values that may be written are quoted there too
	for _, key := range listed {
		require.That(t, slices.Contains(words, key), "%s lists %s, which nothing reads", keys, key)
	}
}

// spans returns what a document sets as code, in the text or in blocks, one piece a line.
func spans(text string) string {
	var out strings.Builder
	for i, part := range strings.Split(text, "```") {
		if i%2 == 1 {
			out.WriteString(part)
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(part, -1) {
			out.WriteString(m[1] + "\n")
		}
	}
	return out.String()
}

// TestDocumentsNameCommands compares what documents write behind the program's name and behind make
// with what there is.
func TestDocumentsNameCommands(t *testing.T) {
	files := require.Must(filepath.Glob(filepath.Join(root(t), "cmd", "kprobesim", "*.go")))(t)
	var code strings.Builder
	for _, f := range files {
		code.WriteString(read(t, "cmd/kprobesim/"+filepath.Base(f)))
	}
	commands := append(found(`Use:\s+"([a-z]+)`, code.String()), "completion") // which the library adds
	targets := found(`(?m)^([a-z-]+):`, read(t, "Makefile"))
	for _, doc := range documents(t) {
		text := spans(read(t, doc))
		for _, c := range found(`(?m)(?:^|/)kprobesim ([a-z]+)`, text) {
			require.That(t, slices.Contains(commands, c), "%s names the command %q; there are %q", doc, c, commands)
		}
		for _, m := range found(`(?m)^make ([a-z-]+)`, text) {
			require.That(t, slices.Contains(targets, m), "%s names the target %q of make; there are %q", doc, m, targets)
		}
	}
	rows := strings.Join(found("(?m)^\\| (`kprobesim [^|]*)\\|", read(t, "README.md")), "\n")
	explained := append(found("`kprobesim ([a-z]+)", rows), "kprobesim")
	for _, c := range commands {
		if c != "man" && c != "completion" && !slices.Contains(explained, c) { // those are for packages
			t.Errorf("README.md does not say what the command %s does", c)
		}
	}
}

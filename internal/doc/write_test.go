package doc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// same compares two documents, but for where things stand.
func same(a, b *Node) bool {
	if a.Kind != b.Kind || a.Text != b.Text || len(a.Fields) != len(b.Fields) || len(a.Items) != len(b.Items) {
		return false
	}
	for _, f := range a.Fields {
		if other := b.Get(f.Key); other == nil || !same(f.Value, other) {
			return false
		}
	}
	for i := range a.Items {
		if !same(a.Items[i], b.Items[i]) {
			return false
		}
	}
	return true
}

// What Write has written reads as the same document: every machine description, and what is rare.
func TestWriteReads(t *testing.T) {
	files := require.Must(filepath.Glob("../../experiments/machines/*.toml"))(t)
	texts := map[string]string{"rare": "a = \"x\\n\\\"y\"\n\"b c\" = [1, \"2\", { d = true }]\n[e.f]\ng = 1.5\n[e.\"h i\"]\nj = -1\n[empty]\n"}
	for _, f := range files {
		b := require.Must(os.ReadFile(f))(t)
		texts[f] = string(b)
	}
	require.Need(t, len(texts) >= 8, "%d documents", len(texts))
	for name, text := range texts {
		want := require.Must(Parse(name, []byte(text)))(t)
		wrote := Write(want)
		got, err := Parse(name, wrote)
		require.That(t, err == nil && same(got, want), "%s: %v\n%s", name, err, wrote)
	}
}

// TestWrites holds how documents are written: tables that lie flat in one line each, deep ones below their own heads.
func TestWrites(t *testing.T) {
	var out strings.Builder
	for _, text := range []string{
		"a = 1\n", "a = {b = 1}\n", "a = {b = {c = 1}}\n", "a = {b = {c = 1}, d = 2}\n", "a = {b = {c = {d = 1}}}\n", "\"a b\" = {\"\" = 1, c-d_e = {x = true}}\n", "a = {}\n", "a = {b = {}}\n",
		"a = {b = {c = 1, d = 2, e = 3, f = 4, g = 5, h = 6, i = 7, j = 8}}\n", "a = {b = {c = 1, d = 2, e = 3, f = 4, g = 5, h = 6, i = 7, j = 8, k = 9}}\n",
		"l = [1, [2, \"x\"], {y = 0x3}]\nt = {u = 1}\nv = 1.50\n",
	} {
		fmt.Fprintf(&out, "## %s%s", text, Write(require.Must(Parse("f.toml", []byte(text)))(t)))
	}
	require.Golden(t, *update, "written.txt", []byte(out.String()))
}

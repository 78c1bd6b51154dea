package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestContributingExample tries the example of CONTRIBUTING.md: its files are the TOML blocks whose first
// line is a comment with a file name.
func TestContributingExample(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var last string
	for _, block := range strings.Split(string(text), "```toml\n# ")[1:] {
		name, rest, _ := strings.Cut(block, "\n")
		body, _, _ := strings.Cut(rest, "```")
		last = filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(last, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if last == "" {
		t.Fatal("CONTRIBUTING.md has no TOML block that starts with a comment of a file name")
	}
	for _, args := range [][]string{
		{"validate", last},
		{"run", last, "--out", filepath.Join(dir, "out"), "--set", "workload.hits=20"},
	} {
		if code, stdout, stderr := command(nil, args...); code != exitOK {
			t.Errorf("%s: exit code %d\n%s%s", args[0], code, stdout, stderr)
		}
	}
}

package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/mutants"
	"kprobesim/internal/require"
	"kprobesim/races"
)

// TestDocumentsOfMistakes holds the tables of what searches for races have made of mistakes in protocols.
func TestDocumentsOfMistakes(t *testing.T) {
	folder := filepath.Join("..", "..", "races")
	all := require.Must(mutants.Read(filepath.Join(folder, "protocol.mutants")))(t)
	holdBlock(t, "docs/races.md", "protocols", mutants.Table(all, require.Must(mutants.ReadFound(filepath.Join(folder, "protocol.found")))(t)))
	for _, m := range races.Mistakes() {
		all = append(all, mutants.Mutant{Title: m.Name, Class: m.Class, Effect: m.Effect})
	}
	holdBlock(t, "docs/races.md", "eras", mutants.EraTable(mutants.OfEras(all), require.Must(mutants.ReadFound(filepath.Join(folder, "eras.found")))(t)))
}

// coverageTable returns what the command of docs/races.md prints, without most of its rows and pairs.
func coverageTable(t *testing.T) string {
	t.Helper()
	var out, said bytes.Buffer
	code := run([]string{"races", "optimize", "--variant", "breakpoint", "--schedules", "200", "--coverage"}, &out, &said)
	require.Need(t, code == exitOK, "exit %d, %s", code, &said)
	lines := strings.SplitAfter(out.String(), "\n")
	at := func(part string) int {
		i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, part) })
		require.Need(t, i >= 0, "no line with %q:\n%s", part, &out)
		return i
	}
	pairs := at("pairs of accesses")
	return "```\n" + strings.Join(lines[:at("a CPU synchronized")], "") + "  ...\n" + strings.Join(lines[pairs:pairs+4], "") + "  ...\n```\n"
}

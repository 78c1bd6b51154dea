package main

import (
	"bytes"
	"path/filepath"
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
	holdBlock(t, "docs/races.md", "eras", mutants.EraTables(mutants.OfEras(all), require.Must(mutants.ReadFound(filepath.Join(folder, "eras.found")))(t)))
}

// coverageTable returns what the command of docs/races.md prints.
func coverageTable(t *testing.T) string {
	t.Helper()
	var out, said bytes.Buffer
	code := run([]string{"races", "optimize", "--variant", "breakpoint", "--schedules", "200", "--coverage"}, &out, &said)
	require.Need(t, code == exitOK, "exit %d, %s", code, &said)
	return "```\n" + out.String() + "```\n"
}

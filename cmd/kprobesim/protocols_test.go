package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"kprobesim/internal/mutants"
	"kprobesim/internal/require"
)

// protocolsTable sums up what searches for races have made of mistakes in protocols.
func protocolsTable(t *testing.T) string {
	t.Helper()
	folder := filepath.Join("..", "..", "races")
	all := require.Must(mutants.Read(filepath.Join(folder, "protocol.mutants")))(t)
	return mutants.Table(all, require.Must(mutants.ReadFound(filepath.Join(folder, "protocol.found")))(t))
}

// coverageTable returns what the command of docs/races.md prints.
func coverageTable(t *testing.T) string {
	t.Helper()
	var out, said bytes.Buffer
	code := run([]string{"races", "optimize", "--variant", "breakpoint", "--schedules", "200", "--coverage"}, &out, &said)
	require.Need(t, code == exitOK, "exit %d, %s", code, &said)
	return "```\n" + out.String() + "```\n"
}

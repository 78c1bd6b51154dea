package main

import (
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

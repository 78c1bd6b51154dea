package main

import (
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results/history"
)

// TestRevisionIsNoOption takes a manifest whose revision is an option of git: nothing may be written.
func TestRevisionIsNoOption(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, hash := range []string{"--output=written", "HEAD", ""} {
		if got := byCommit([]*dated{{history.Revision{Name: "a"}, hash}}); len(got) != 1 || got[0].Date != "" {
			t.Errorf("revision %q: %+v", hash, got[0])
		}
	}
	require.That(t, !exists("written"), "git took a revision for an option")
}

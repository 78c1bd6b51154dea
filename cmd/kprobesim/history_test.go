package main

import (
	"fmt"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
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

// TestByCommit sorts revisions as git does, and leaves them as they are where git does not know one.
func TestByCommit(t *testing.T) {
	hosttools.Need(t, "git", "git", "a repository with revisions")
	t.Chdir(t.TempDir())
	require.NoError(t, require.Err(git(".", "init", "-q", "-b", "main")))
	var hashes []string
	for _, subject := range []string{"first", "second"} {
		require.NoError(t, require.Err(git(".", "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", subject)))
		hashes = append(hashes, strings.TrimSpace(string(require.Must(git(".", "rev-parse", "HEAD"))(t))))
	}
	names := func(all []*dated) string {
		var said []string
		for _, d := range all {
			said = append(said, fmt.Sprintf("%s/%s/%d", d.Name, d.Subject, len(d.Date)))
		}
		return strings.Join(said, " ")
	}
	of := func(hashes ...string) (all []*dated) {
		for i, h := range hashes {
			all = append(all, &dated{history.Revision{Name: fmt.Sprint(i)}, h})
		}
		return all
	}
	require.Equal(t, names(byCommit(of(hashes[1], hashes[0], hashes[1]))), "1/first/10 0/second/10 2/second/10", "revisions")
	require.Equal(t, names(byCommit(of(hashes[1], strings.Repeat("1", 40), hashes[0]))), "0//0 1//0 2//0", "with an unknown one")
}

// A commit is named by ten digits, its day and its subject.
func TestNamesOfCommits(t *testing.T) {
	for hash, want := range map[string]string{"0123456789abcdef": "0123456789 (2026-01-02) text", "0123": "0123 (2026-01-02) text"} {
		require.Equal(t, commit{hash, "2026-01-02", "text"}.String(), want, "a commit")
	}
}

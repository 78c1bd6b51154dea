package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"kprobesim/results"
	"kprobesim/results/formats"
)

// commit is a revision of the git repository that holds results.
type commit struct{ Hash, Date, Subject string }

// short is the hash as people write it.
func (c commit) short() string { return c.Hash[:min(len(c.Hash), 10)] }

func (c commit) String() string { return c.short() + " (" + c.Date + ") " + c.Subject }

// git runs git in a directory. What it says goes into the error.
func git(dir string, args ...string) ([]byte, error) {
	c := exec.Command("git", append([]string{"-C", dir}, args...)...)
	var said bytes.Buffer
	c.Stderr = &said
	b, err := c.Output()
	switch text := strings.TrimSpace(said.String()); {
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("this needs git, which is not installed")
	case err != nil && text != "":
		return nil, errors.New(text)
	}
	return b, err
}

// checkRevision refuses what git does not know as a revision. The option is named in the error.
func checkRevision(option, dir, revision string) error {
	if strings.HasPrefix(revision, "-") {
		return fmt.Errorf("%s %s: name a revision of git", option, revision)
	}
	if _, err := git(dir, "rev-parse", "--verify", "--quiet", revision+"^{commit}"); err != nil {
		return fmt.Errorf("%s %s: git knows no such revision here: %w", option, revision, err)
	}
	return nil
}

// commits lists what `git log` finds, the oldest first.
func commits(dir string, args ...string) (all []commit, err error) {
	b, err := git(dir, append([]string{"log", "--reverse", "--format=%H%x09%cs%x09%s"}, args...)...)
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		all = append(all, commit{f[0], f[1], f[2]})
	}
	return all, err
}

// revisionSide reads a baseline and what it was made from as they were in a revision.
func revisionSide(revision, file string) (*results.Set, formats.Keys, error) {
	set, err := revisionSet(revision, file)
	if err != nil {
		return nil, nil, err
	}
	b, err := atRevision(revision, keysFile(file))
	if errors.Is(err, fs.ErrNotExist) {
		return set, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	keys, err := formats.ReadKeys(revision+":"+file, b)
	return set, keys, err
}

// revisionSet reads the records of a baseline in a revision.
func revisionSet(revision, file string) (*results.Set, error) {
	b, err := atRevision(revision, file)
	if err != nil {
		return nil, err
	}
	return formats.ReadCSV(revision+":"+file, bytes.NewReader(b))
}

// atRevision returns the bytes of a file in a revision.
func atRevision(revision, file string) ([]byte, error) {
	b, err := git(filepath.Dir(file), "show", revision+":./"+filepath.Base(file))
	if err != nil {
		return nil, fmt.Errorf("%s:%s: %w", revision, file, fs.ErrNotExist)
	}
	return b, nil
}

package paper

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"kprobesim/results/formats"
	"kprobesim/results/outdir"
	"kprobesim/results/tables"
)

// Artifact is the appendix on trying the results again: measured once on a machine, which it names, and
// kept in a file.
type Artifact struct {
	Host     string    // processor, number of cores, Go
	Commands []Command // in the order in which a reader runs them
}

// Command is one that was run, with what it took.
type Command struct {
	Command string  // as typed
	Shows   string  // what the reader sees of it
	Seconds float64 // of the host
	MiB     int64   // most memory at a time
}

// ReadArtifact reads what Bytes wrote.
func ReadArtifact(name string, b []byte) (*Artifact, error) {
	a := &Artifact{}
	read := json.NewDecoder(bytes.NewReader(b))
	read.DisallowUnknownFields()
	if err := read.Decode(a); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if a.Host == "" || len(a.Commands) == 0 {
		return nil, fmt.Errorf("%s says no host or no commands: write it again by kprobesim paper --measure", name)
	}
	return a, nil
}

// Bytes is the file of an artifact.
func (a *Artifact) Bytes() ([]byte, error) {
	b, err := json.MarshalIndent(a, "", "  ")
	return append(b, '\n'), err
}

// Steps are the commands of the appendix.
func Steps() []Command {
	return []Command{
		{Command: "go build ./cmd/kprobesim", Shows: "the program"},
		{Command: "./kprobesim run overhead-xeon-e5410-x86_64", Shows: "one row of published figures, with two figures"},
		{Command: "./kprobesim run overhead-published", Shows: "all published rows"},
		{Command: "./kprobesim run overhead-isas", Shows: "the same probes on every instruction set"},
		{Command: "./kprobesim races optimize --schedules 200", Shows: "a search for races without a violation"},
		{Command: "./kprobesim check", Shows: "every result of this paper, to the last digit"},
	}
}

// artifactTable has the commands with what they took.
func (p *Paper) artifactTable() (string, error) {
	if p.Artifact == nil {
		return "", fmt.Errorf("no measurements of the artifact's commands: write them by kprobesim paper --measure")
	}
	t := &tables.Table{
		Title:   "Commands of the artifact, with the time and the memory that they took on " + p.Artifact.Host,
		Columns: tables.Columns("command, and what it shows", ">s", ">MiB"),
	}
	for _, c := range p.Artifact.Commands {
		t.Rows = append(t.Rows, []string{c.Command}, []string{"– " + c.Shows, fmt.Sprintf("%.1f", c.Seconds), fmt.Sprint(c.MiB)})
	}
	return float(t, "artifact", ""), nil
}

func (p *Paper) host() (string, error) {
	if p.Artifact == nil {
		return "", fmt.Errorf("no measurements of the artifact's commands: write them by kprobesim paper --measure")
	}
	return tables.TeXEscape(p.Artifact.Host), nil
}

// sums lists experiments with the size of their results and the first digits of its SHA-256.
func (p *Paper) sums(experiments ...string) (string, error) {
	t := &tables.Table{
		Title:   "Results of this paper: records, bytes, and the first digits of the SHA-256 of results.csv",
		Columns: tables.Columns("experiment", ">records", ">bytes", "SHA-256"),
	}
	for _, e := range experiments {
		s, err := p.Set(e)
		if err != nil {
			return "", err
		}
		csv := formats.CSV(s)
		digest := strings.TrimPrefix(outdir.Hash(csv), "sha256:")
		t.Rows = append(t.Rows, []string{e, fmt.Sprint(s.Len()), fmt.Sprint(len(csv)), digest[:16]})
	}
	return float(t, "sums", ""), nil
}

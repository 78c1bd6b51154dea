package outdir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ManifestName is the file that marks a directory as one of ours.
const ManifestName = "manifest.json"

// manifestFormat grows when a reader of the old form would misunderstand the new one.
const manifestFormat = 1

// States of a point in a manifest.
const (
	StatusOK     = "ok"
	StatusFailed = "failed"
)

// Input is something a result depends on: its kind ("experiment", "machine", "image"), the name it
// goes by (never a path, so that a result does not tell where it was made) and the Hash of its bytes.
type Input struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Hash string `json:"hash"`
}

// PointStatus says how one point of the plan ended; Error is empty unless Status is StatusFailed.
type PointStatus struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

// Manifest says what a directory of results was made from. It has no clock and no host in it.
// Overrides are "key=value" in the order in which they applied.
type Manifest struct {
	Program   Program       `json:"program,omitzero"`
	Inputs    []Input       `json:"inputs"`
	Overrides []string      `json:"overrides"`
	Seed      uint64        `json:"seed,string"` // JSON numbers lose digits in many readers
	Points    []PointStatus `json:"points"`
	Sources   []string      `json:"sources"`
}

// manifestFile is the form on disk.
type manifestFile struct {
	Format int `json:"format"`
	Manifest
}

// Hash names bytes by their SHA-256: "sha256:" and 64 hex digits.
func Hash(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// JSON returns manifest.json, indented, with a newline at its end.
func (m *Manifest) JSON() ([]byte, error) {
	if err := m.validate(); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	file := manifestFile{manifestFormat, *m}
	file.Inputs, file.Overrides = nonNil(m.Inputs), nonNil(m.Overrides)
	file.Points, file.Sources = nonNil(m.Points), nonNil(m.Sources)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(file); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return b.Bytes(), nil
}

// nonNil writes an empty list as [] and not as null.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// ReadManifest reads what JSON wrote and refuses unknown keys and other formats. The name stands in
// errors.
func ReadManifest(name string, b []byte) (*Manifest, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var file manifestFile
	if err := dec.Decode(&file); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: something follows the manifest", name)
	}
	if file.Format != manifestFormat {
		return nil, fmt.Errorf("%s: format %d, this program reads %d; run the experiment again",
			name, file.Format, manifestFormat)
	}
	if err := file.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &file.Manifest, nil
}

func (m *Manifest) validate() error {
	for _, in := range m.Inputs {
		if err := in.validate(); err != nil {
			return err
		}
	}
	for _, p := range m.Points {
		if err := p.validate(); err != nil {
			return err
		}
	}
	return nil
}

func (in Input) validate() error {
	switch {
	case in.Kind == "" || in.Name == "":
		return fmt.Errorf("input %q %q has no kind or no name", in.Kind, in.Name)
	case strings.ContainsAny(in.Name, `/\`):
		return fmt.Errorf("%s %q is a path; give the name alone", in.Kind, in.Name)
	case !strings.HasPrefix(in.Hash, "sha256:"):
		return fmt.Errorf("%s %q has no sha256 hash", in.Kind, in.Name)
	}
	return nil
}

func (p PointStatus) validate() error {
	switch {
	case p.Name == "":
		return errors.New("a point has no name")
	case p.Status == StatusOK && p.Error != "":
		return fmt.Errorf("point %q is ok and has an error", p.Name)
	case p.Status == StatusFailed && p.Error == "":
		return fmt.Errorf("point %q failed and does not say why", p.Name)
	case p.Status != StatusOK && p.Status != StatusFailed:
		return fmt.Errorf("point %q has status %q, want ok or failed", p.Name, p.Status)
	}
	return nil
}

package reports

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/experiments"
	"kprobesim/results"
	"kprobesim/results/formats"
	"kprobesim/results/outdir"
)

// Look is how figures are drawn: their sides in millimetres, 0 for what they have by themselves, and whether title and
// caption are left out of the picture, for a document that sets them in its own type. They then stand in NAME.txt.
type Look struct {
	Width, Height float64
	Bare          bool
}

// Redraw reads a results directory and draws its figures again, the named ones or, when none is
// named, all that it has.
func Redraw(dir string, figures []string, look Look) error {
	files, err := readDir(dir)
	if err != nil {
		return err
	}
	m, set, err := records(dir, files)
	if err != nil {
		return err
	}
	if len(figures) == 0 {
		figures = drawnFigures(files, results.Means(set))
	}
	if err := asWritten(dir, files); err != nil {
		return err
	}
	if set, err = withSources(set, m.Sources); err != nil {
		return err
	}
	set = results.Means(set)
	if err := Draw(files, set, figures, look); err != nil {
		return err
	}
	return outdir.WriteDir(dir, files)
}

// asWritten holds the files of a directory against its list of hashes, because what is written again is listed with new
// ones. Results that somebody changed are an error; a figure that somebody changed is left out, so that it stays theirs.
func asWritten(dir string, files map[string][]byte) error {
	sums, err := listed(dir)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		b, there := files[name]
		switch same := there && outdir.Hash(b) == "sha256:"+sums[name]; {
		case same || name == outdir.SumsName:
		case slices.Contains(FigureNames(), strings.TrimSuffix(name, filepath.Ext(name))):
			delete(files, name)
		default:
			return notAsWritten(dir, name, there)
		}
	}
	return nil
}

// records reads the manifest and the records of a results directory.
func records(dir string, files map[string][]byte) (*outdir.Manifest, *results.Set, error) {
	m, err := outdir.ReadManifest(filepath.Join(dir, outdir.ManifestName), files[outdir.ManifestName])
	if err != nil {
		return nil, nil, err
	}
	set, err := formats.ReadCSV(filepath.Join(dir, ResultsName), bytes.NewReader(files[ResultsName]))
	return m, set, err
}

// withSources gives the published records of a set the sources that the manifest kept for all of
// them; which record had which is not kept, but captions only list them. Replicates have that of the
// first one.
func withSources(s *results.Set, sources []string) (*results.Set, error) {
	out := &results.Set{Overrides: s.Overrides}
	i, first := 0, firstReplicate(s)
	for _, r := range s.Records() {
		if r.Role == results.Measured && r.Replicate == first && len(sources) > 0 {
			r.Source = sources[min(i, len(sources)-1)]
			i++
		}
		if err := out.Add(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// drawnFigures returns the figures that a directory holds; those that can be drawn when it holds none.
func drawnFigures(files map[string][]byte, s *results.Set) []string {
	var have, can []string
	for _, f := range allFigures() {
		if files[f.name+".svg"] != nil {
			have = append(have, f.name)
		}
		if len(s.Points()) == 0 {
			continue
		}
		if _, err := f.draw(s); err == nil {
			can = append(can, f.name)
		}
	}
	if len(have) == 0 {
		return can
	}
	return have
}

// readDir reads the files of a results directory that a run wrote there.
func readDir(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	written, listed, err := outdir.Written(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if _, ours := written[e.Name()]; listed && !ours || e.Name() == outdir.SumsName {
			continue
		}
		if !e.Type().IsRegular() {
			return nil, fmt.Errorf("%s is no results directory: it holds %s", dir, e.Name())
		}
		if files[e.Name()], err = experiments.ReadLimited(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	for _, need := range []string{outdir.ManifestName, ResultsName} {
		if files[need] == nil {
			return nil, fmt.Errorf("%s is no results directory: it has no %s: %w", dir, need,
				fs.ErrNotExist)
		}
	}
	return files, nil
}

// firstReplicate is the number of the first replicate in a set: 0, or that of the only one.
func firstReplicate(s *results.Set) int {
	first := math.MaxInt
	for _, r := range s.Records() {
		first = min(first, r.Replicate)
	}
	return first
}

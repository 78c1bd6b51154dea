package reports

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/experiments"
	"kprobesim/experiments/schema"
	"kprobesim/internal/distinct"
	"kprobesim/results"
	"kprobesim/results/compare"
	"kprobesim/results/formats"
	"kprobesim/results/outdir"
	"kprobesim/results/tables"
)

// Kept is a results directory, read without the files of its experiment.
type Kept struct {
	Dir      string
	About    formats.About // no title and no kind where the directory has no results.json
	Set      *results.Set  // every observation
	Means    *results.Set  // of the replicates of each point; Set itself if there are none
	Manifest *outdir.Manifest
	Keys     formats.Keys      // nil where the directory has no inputs.txt
	Files    map[string][]byte // by name
}

// notAsWritten is the error of a file that a run wrote and that is another one now, or gone.
func notAsWritten(dir, name string, there bool) error {
	if !there {
		return fmt.Errorf("%s is not there, and %s lists it; run the experiment again: %w", filepath.Join(dir, name), outdir.SumsName, fs.ErrNotExist)
	}
	return fmt.Errorf("%s is not as it was written (%s); run the experiment again", filepath.Join(dir, name), outdir.SumsName)
}

// Experiments lists the experiments of the points, in their order; a collection has several.
func (k *Kept) Experiments() (names []string) {
	return k.distinct(func(p results.Point) string { return p.Experiment })
}

// Machines lists the machines of the points, in their order.
func (k *Kept) Machines() (names []string) {
	return k.distinct(func(p results.Point) string { return p.Machine })
}

func (k *Kept) distinct(of func(results.Point) string) (names []string) {
	for _, p := range k.Set.Points() {
		names = distinct.Append(names, of(p))
	}
	return names
}

// Table is the table that the run printed, less the notes that follow from the file of the experiment.
func (k *Kept) Table() *tables.Table {
	t := k.tabulate()
	t.Title = Placed(cmp.Or(k.About.Title, k.About.Name), k.Set.Points()) + k.Set.OverridesText()
	if note := predictions(k.Means); note != "" {
		t.Notes = append(t.Notes, note)
	}
	t.Notes = append(t.Notes, results.ExplainProbes(k.Means.Points())...)
	for _, s := range k.Set.Sources() {
		t.Notes = append(t.Notes, "published: "+s)
	}
	return t
}

// tabulate chooses the columns by what was measured. What no kind knows, such as an analysis of sensitivity, has a
// column for each metric.
func (k *Kept) tabulate() *tables.Table {
	kind, known := presentationOf(k.About.Kind)
	switch {
	case k.About.Kind == schema.KindCollected:
		return sweepTable(k.Means, presentation{columns: everyMetric(k.Means)})
	case len(k.Experiments()) > 1 && (k.About.Kind == schema.KindOverhead || !known):
		return tables.Tabulate(k.Means, tables.PublishedColumns(k.Files[figurePhases+".svg"] != nil))
	case !known:
		return tables.Tabulate(k.Means, append(tables.SweepColumns(k.Means), everyMetric(k.Means)...))
	case k.About.Kind == schema.KindOverhead:
		return tables.Tabulate(k.Means, tables.OverheadColumns(k.Means, phasesOf(k.Means)))
	}
	return sweepTable(k.Means, kind)
}

// everyMetric declares a column for each metric of a set, in the order of their first records.
func everyMetric(s *results.Set) (columns []tables.ColumnSpec) {
	for r := range s.All() {
		if !slices.ContainsFunc(columns, func(c tables.ColumnSpec) bool { return c.Metric == r.Metric }) {
			title := strings.ReplaceAll(r.Metric, "_", " ") + "\n" + r.Unit
			columns = append(columns, tables.ColumnSpec{Title: title, Metric: r.Metric, Decimals: -1})
		}
	}
	return columns
}

// Pictures returns the SVGs of the figures by name: the directory's or, where it has none, all that can be
// drawn of its records.
func (k *Kept) Pictures() (map[string][]byte, error) {
	files := k.Files
	have := func(name string) bool { return files[name+".svg"] != nil }
	if !slices.ContainsFunc(FigureNames(), have) {
		files = map[string][]byte{}
		if err := Draw(files, k.Means, drawnFigures(nil, k.Means), Look{}); err != nil {
			return nil, fmt.Errorf("figures of %s: %w", k.Dir, err)
		}
	}
	pictures := map[string][]byte{}
	for _, name := range FigureNames() {
		if have(name) {
			pictures[name] = files[name+".svg"]
		}
	}
	return pictures, nil
}

// Load reads a results directory. One whose tables, texts or SVGs are not as they were written is refused, and the error
// names the file.
func Load(dir string) (*Kept, error) {
	return load(filepath.Clean(dir), func(name string) bool {
		return slices.Contains([]string{".csv", ".json", ".txt", ".svg"}, filepath.Ext(name))
	})
}

// load reads a results directory, of which some files must be as they were written.
func load(dir string, must func(name string) bool) (k *Kept, err error) {
	k = &Kept{Dir: dir}
	if k.Files, err = readDir(dir, must); err != nil {
		return nil, err
	}
	if k.Manifest, err = outdir.ReadManifest(filepath.Join(dir, outdir.ManifestName), k.Files[outdir.ManifestName]); err != nil {
		return nil, err
	}
	if k.Set, err = formats.ReadCSV(filepath.Join(dir, ResultsName), bytes.NewReader(k.Files[ResultsName])); err != nil {
		return nil, err
	}
	if err := k.addSources(); err != nil {
		return nil, err
	}
	if b, ok := k.Files[InputsName]; ok {
		if k.Keys, err = formats.ReadKeys(filepath.Join(dir, InputsName), b); err != nil {
			return nil, err
		}
	}
	k.Means = results.Means(k.Set)
	return k, nil
}

// Unchanged reads a results directory whose records, inputs and manifest are as the run wrote them. Other files may be not.
func Unchanged(dir string) (*Kept, error) {
	names := []string{ResultsName, InputsName, outdir.ManifestName}
	return load(dir, func(name string) bool { return slices.Contains(names, name) })
}

// readDir reads the files of a results directory that a run wrote there, and holds them against its list of hashes. A changed
// file is an error if it must be as it was written, and left out otherwise. A directory without the list is refused: nobody
// can tell whether a run wrote its numbers.
func readDir(dir string, must func(name string) bool) (map[string][]byte, error) {
	sums, there, err := outdir.Written(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, outdir.ManifestName)); err != nil && !there {
		return nil, noResults(dir, outdir.ManifestName)
	}
	if !there {
		return nil, fmt.Errorf("%s has no %s, by which what a run wrote is told from what was changed since: run the experiment again", dir, outdir.SumsName)
	}
	delete(sums, outdir.SumsName)
	files := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		b, err := experiments.ReadLimited(filepath.Join(dir, name))
		switch gone := errors.Is(err, fs.ErrNotExist); {
		case err != nil && !gone:
			return nil, err
		case !gone && outdir.Hash(b) == "sha256:"+sums[name]:
			files[name] = b
		case must(name):
			return nil, notAsWritten(dir, name, !gone)
		}
	}
	for _, need := range []string{outdir.ManifestName, ResultsName} {
		if files[need] == nil {
			return nil, noResults(dir, need)
		}
	}
	return files, nil
}

// noResults is the error of a directory without a file that every run writes.
func noResults(dir, need string) error {
	return fmt.Errorf("%s is no results directory: it has no %s: %w", dir, need, fs.ErrNotExist)
}

// addSources gives the published records the sources of results.json, which must agree with results.csv. An analysis has no
// such file.
func (k *Kept) addSources() error {
	b, ok := k.Files[JSONName]
	if !ok {
		k.About.Name = filepath.Base(k.Dir)
		if points := k.Set.Points(); len(points) > 0 {
			k.About.Name = points[0].Experiment
		}
		return nil
	}
	name := filepath.Join(k.Dir, JSONName)
	about, set, err := formats.ReadJSON(name, b)
	if err != nil {
		return err
	}
	if !compare.Exact(k.Set, set).Empty() || !slices.Equal(k.Set.Overrides, set.Overrides) {
		return fmt.Errorf("%s has other records than %s; run the experiment again", name, ResultsName)
	}
	k.About, k.Set = about, set
	return nil
}

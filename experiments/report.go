package experiments

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/internal/defect"
	"kprobesim/results"
)

// Files of a results directory.
const (
	ResultsName = "results.csv"
	BenchName   = "bench.txt"
	ProfileName = "profile.pb.gz"
)

// Report is what an experiment gave: the records of the points that ended well, and how every point
// ended.
type Report struct {
	Plan     *Plan
	Set      *results.Set
	Outcomes []Outcome
}

// NewReport makes the records of the outcomes, in the order of the plan, and of a collection's
// differences behind them. A point whose numbers make no record counts as failed.
func NewReport(p *Plan, outcomes []Outcome) *Report {
	r := &Report{Plan: p, Set: &results.Set{}, Outcomes: slices.Clone(outcomes)}
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		if o.Err != nil {
			continue
		}
		records, err := Records(o.Point, o.Measurement)
		if err == nil {
			err = r.Set.Add(records...)
		}
		if err != nil {
			o.Err = fmt.Errorf("numbers of the point: %w", err)
		}
	}
	r.addDifferences()
	return r
}

// Err returns the error of every failed point, each named, or nil.
func (r *Report) Err() error {
	var errs []error
	for _, o := range r.Outcomes {
		var internal *defect.Error
		switch {
		case o.Err == nil:
		case errors.As(o.Err, &internal):
			errs = append(errs, o.Err) // names its point itself
		default:
			errs = append(errs, fmt.Errorf("point %s: %w", o.Point.Name, o.Err))
		}
	}
	return errors.Join(errs...)
}

func prefix(p string, lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = p + l
	}
	return out
}

// phasesOf returns the phases that the records of a set tell of, in the order of the records.
func phasesOf(s *results.Set) []string {
	head := results.PhaseMetric("")
	var out []string
	for _, r := range s.Records() {
		if name, ok := strings.CutPrefix(r.Metric, head); ok && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// Files returns the contents of the results directory.
func (r *Report) Files() (map[string][]byte, error) {
	manifest, err := r.manifest().JSON()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{ResultsName: r.Set.CSV(), results.ManifestName: manifest}
	if r.Plan.Kind == KindOverhead {
		if files[BenchName], err = results.BenchText(r.Set, results.OverheadBench()); err != nil {
			return nil, err
		}
	}
	profile, err := mergeProfiles(r.Outcomes)
	if err != nil {
		return nil, err
	}
	if profile != nil {
		files[ProfileName] = profile
	}
	accounts, err := accountsCSV(r.Outcomes)
	if err != nil {
		return nil, err
	}
	if accounts != nil {
		files[AccountsName] = accounts
	}
	figures, _ := r.drawable()
	return files, Draw(files, r.Set, figures)
}

// drawable parts the figures of the plan into those that can be drawn and those whose sweep a setting has
// taken away.
func (r *Report) drawable() (can, not []string) {
	for _, name := range r.Plan.Figures {
		if len(r.Set.Points()) > 0 {
			if _, err := figure(name, r.Set); errors.Is(err, results.ErrNotSwept) {
				not = append(not, fmt.Sprintf("figure %s is not drawn: %v", name, err))
				continue
			}
		}
		can = append(can, name)
	}
	return can, not
}

func (r *Report) manifest() *results.Manifest {
	return &results.Manifest{
		Inputs: r.Plan.Inputs, Overrides: r.Plan.Overrides, Seed: r.Plan.Seed,
		Points: Statuses(r.Outcomes), Sources: r.Set.Sources(),
	}
}

// Draw adds the files of the named figures of a set. A set without any point draws nothing.
func Draw(files map[string][]byte, s *results.Set, figures []string) error {
	if len(s.Points()) == 0 {
		return nil
	}
	for _, name := range figures {
		f, err := figure(name, s)
		if err != nil {
			return fmt.Errorf("figure %s: %w", name, err)
		}
		drawn, err := results.Render(f, name)
		if err != nil {
			return fmt.Errorf("figure %s: %w", name, err)
		}
		for file, b := range drawn {
			files[file] = b
		}
	}
	return nil
}

// figure makes one figure; what it says follows from the records and their sources alone, so that a
// results directory is enough to draw it again.
func figure(name string, s *results.Set) (results.Figure, error) {
	for _, f := range allFigures() {
		if f.name == name {
			return f.draw(s)
		}
	}
	return nil, fmt.Errorf("unknown; known are %s", strings.Join(FigureNames(), ", "))
}

func drawOverhead(s *results.Set) (results.Figure, error) {
	if several(s) {
		return results.OverheadPanels(s, results.Frame{
			Title: "Overhead of a probe hit, published and simulated", YLabel: "microseconds per hit",
			Width: 165, Height: 150,
		}, panelTitle(s))
	}
	return results.OverheadBars(s, results.Frame{
		Title: "Overhead of a probe hit: " + place(s.Points()[0]), YLabel: "microseconds per hit",
	}, false)
}

func drawPhases(s *results.Set) (results.Figure, error) {
	if several(s) {
		return nil, errors.New("a collection has none: draw it for one of its experiments")
	}
	phases, caption := stackable(s)
	return results.PhaseStack(s, phases, results.Frame{
		Title:  "Where the cycles of a probe hit go: " + place(s.Points()[0]),
		YLabel: "cycles per hit", Caption: caption,
	})
}

// place says where the figures of an experiment are from.
func place(p results.Point) string { return fmt.Sprintf("%s, %s, %s", p.Machine, p.ISA, p.Era) }

// panelTitle returns what names the panel of an experiment: where its figures are from, or its own name
// when another experiment of the set is from there too.
func panelTitle(s *results.Set) func(results.Point) string {
	from := map[string]string{}
	for _, p := range s.Points() {
		if e, ok := from[place(p)]; ok && e != p.Experiment {
			return func(p results.Point) string { return p.Experiment }
		}
		from[place(p)] = p.Experiment
	}
	return place
}

// several reports whether a set holds more than one experiment, as that of a collection does.
func several(s *results.Set) bool {
	p := s.Points()
	return slices.ContainsFunc(p, func(q results.Point) bool { return q.Experiment != p[0].Experiment })
}

// stackable returns the phases that can be stacked, and what the caption says of the others: code
// that runs with and without the probe, the workload's own, may take a few cycles less when a
// probe's work overlaps it. Less than a cycle below zero is drawn as zero.
func stackable(s *results.Set) (phases, caption []string) {
	for _, name := range phasesOf(s) {
		var least results.Value
		for _, p := range s.Points() {
			if r, ok := s.Get(p, results.PhaseMetric(name)); ok && r.Value.Cmp(least) < 0 {
				least = r.Value
			}
		}
		if least.Float() >= -1 {
			phases = append(phases, name)
			continue
		}
		caption = append(caption,
			fmt.Sprintf("not drawn: %s, which overlaps the probe's work (down to %s cycles)", name,
				least.Round(1)))
	}
	return phases, caption
}

// Redraw reads a results directory and draws its figures again, those of figures or, when that is
// empty, those it has.
func Redraw(dir string, figures []string) error {
	files, err := readDir(dir)
	if err != nil {
		return err
	}
	m, err := results.ReadManifest(filepath.Join(dir, results.ManifestName),
		files[results.ManifestName])
	if err != nil {
		return err
	}
	set, err := results.ReadCSV(filepath.Join(dir, ResultsName),
		strings.NewReader(string(files[ResultsName])))
	if err != nil {
		return err
	}
	if len(figures) == 0 {
		figures = drawnFigures(files, set)
	}
	if set, err = withSources(set, m.Sources); err != nil {
		return err
	}
	if err := Draw(files, set, figures); err != nil {
		return err
	}
	return results.WriteDir(dir, files)
}

// withSources gives the published records of a set the sources that the manifest kept for all of
// them; which record had which is not kept, but captions only list them.
func withSources(s *results.Set, sources []string) (*results.Set, error) {
	out := &results.Set{}
	i := 0
	for _, r := range s.Records() {
		if r.Role == results.Measured && len(sources) > 0 {
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

// readDir reads the files of a results directory.
func readDir(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			return nil, fmt.Errorf("%s is no results directory: it holds %s", dir, e.Name())
		}
		if files[e.Name()], err = readLimited(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	for _, need := range []string{results.ManifestName, ResultsName} {
		if files[need] == nil {
			return nil, fmt.Errorf("%s is no results directory: it has no %s: %w", dir, need,
				fs.ErrNotExist)
		}
	}
	return files, nil
}
